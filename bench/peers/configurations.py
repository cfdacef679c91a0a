"""The configurations of the proxies, as they are written to their files; that of Envoy is in ``envoy``.

All of them pass the client's Host on, add ``X-Forwarded-*`` fields, keep connections to
the backend open, and resume TLS sessions by tickets, as they all do by default.  All offer HTTP/2 with TLS.  Everything else is a default unless a comment says why not.
"""

# The forwarding fields are those of Debian's /etc/nginx/proxy_params.
NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
user root;
pid {folder}/{name}.pid;
error_log stderr error;
events {{ worker_connections 8192; }}
http {{
    {access_log}
    client_body_temp_path {folder}/{name}-body;
    proxy_temp_path {folder}/{name}-proxy;
    fastcgi_temp_path {folder}/{name}-fastcgi;
    uwsgi_temp_path {folder}/{name}-uwsgi;
    scgi_temp_path {folder}/{name}-scgi;
    upstream backend {{ server 127.0.0.1:{backend}; keepalive 320; keepalive_requests 100000000; }}
    upstream h2c {{ server 127.0.0.1:{h2c}; keepalive 320; keepalive_requests 100000000; }}
    upstream grpc {{ server 127.0.0.1:{grpc}; keepalive 320; keepalive_requests 100000000; }}
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    server {{
        listen 127.0.0.1:{http} backlog=4096 default_server;
        listen 127.0.0.1:{https} ssl http2 backlog=4096 default_server;
        location / {{ proxy_pass http://backend; }}
        # By default nginx moves 4 KiB at a time here and spills into files: 64 KiB buffers are the
        # harder reference.
        location /download/ {{
            proxy_buffer_size 64k;
            proxy_buffers 8 64k;
            proxy_busy_buffers_size 128k;
            proxy_pass http://backend;
        }}
    }}
    server {{
        listen 127.0.0.1:{http};
        listen 127.0.0.1:{https} ssl http2;
        server_name {upload_host} {secure_upload_host};
        client_max_body_size 20m;
        client_body_buffer_size 64k;
        proxy_request_buffering off;
        location / {{ proxy_pass http://backend; }}
    }}
    server {{
        listen 127.0.0.1:{https} ssl http2;
        server_name {rsa_host};
        ssl_certificate {rsa_certificate};
        ssl_certificate_key {rsa_key};
        location / {{ proxy_pass http://backend; }}
    }}
    server {{
        listen 127.0.0.1:{https} ssl http2;
        server_name {h2c_host};
        location / {{ grpc_pass grpc://h2c; }}
    }}
    server {{
        listen 127.0.0.1:{https} ssl http2;
        server_name {grpc_host};
        location / {{ grpc_pass grpc://grpc; }}
    }}
}}
"""

# Debian's configuration logs in this format, to the system's logger; a file stands in for it.
HAPROXY = """
global
    nbthread 1
    maxconn 8192
    log stdout format raw local0
defaults
    mode http
    log global
    option httplog
    option forwardfor
    timeout connect 5s
    timeout client 75s
    timeout server 60s
frontend all
    bind 127.0.0.1:{http} backlog 4096
    bind 127.0.0.1:{https} backlog 4096 ssl crt {pem} crt {rsa_pem} alpn h2,http/1.1
    http-request set-header X-Forwarded-Proto http if !{{ ssl_fc }}
    http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
    use_backend h2c if {{ hdr(host) -i {h2c_host} }}
    use_backend grpc if {{ hdr(host) -i {grpc_host} }}
    default_backend only
backend only
    server one 127.0.0.1:{backend}
backend h2c
    server one 127.0.0.1:{h2c} proto h2
backend grpc
    server one 127.0.0.1:{grpc} proto h2
"""

CADDY = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2
    }}
}}
http://:{http} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{backend}
}}
https://:{https} {{
    bind 127.0.0.1
    tls {certificate} {key}
    reverse_proxy 127.0.0.1:{backend}
}}
https://{rsa_host}:{https} {{
    bind 127.0.0.1
    tls {rsa_certificate} {rsa_key}
    reverse_proxy 127.0.0.1:{backend}
}}
https://{h2c_host}:{https} {{
    bind 127.0.0.1
    tls {certificate} {key}
    reverse_proxy h2c://127.0.0.1:{h2c}
}}
https://{grpc_host}:{https} {{
    bind 127.0.0.1
    tls {certificate} {key}
    reverse_proxy h2c://127.0.0.1:{grpc}
}}
"""

# Hosts with a certificate are redirected to it, so the plain loads have hosts of their own.
MANIFESTS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: plain, namespace: bench}}
spec:
  ingressClassName: nginx
  rules:
  - host: {plain_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: backend, port: {{number: 80}}}}}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: upload
  namespace: bench
  annotations: {{nginx.ingress.kubernetes.io/proxy-body-size: 20m}}
spec:
  ingressClassName: nginx
  rules:
  - host: {upload_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: backend, port: {{number: 80}}}}}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: secure, namespace: bench}}
spec:
  ingressClassName: nginx
  tls:
  - {{hosts: [{secure_host}], secretName: certificate}}
  rules:
  - host: {secure_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: backend, port: {{number: 80}}}}}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: rsa, namespace: bench}}
spec:
  ingressClassName: nginx
  tls:
  - {{hosts: [{rsa_host}], secretName: rsa}}
  rules:
  - host: {rsa_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: backend, port: {{number: 80}}}}}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: secure-upload
  namespace: bench
  annotations: {{nginx.ingress.kubernetes.io/proxy-body-size: 20m}}
spec:
  ingressClassName: nginx
  tls:
  - {{hosts: [{secure_upload_host}], secretName: certificate}}
  rules:
  - host: {secure_upload_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: backend, port: {{number: 80}}}}}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: grpc
  namespace: bench
  annotations: {{nginx.ingress.kubernetes.io/backend-protocol: GRPC}}
spec:
  ingressClassName: nginx
  tls:
  - {{hosts: [{h2c_host}, {grpc_host}], secretName: certificate}}
  rules:
  - host: {h2c_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: h2c, port: {{number: 80}}}}}}}}]}}
  - host: {grpc_host}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: grpc, port: {{number: 80}}}}}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: backend, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: h2c, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: grpc, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: Secret
metadata: {{name: certificate, namespace: bench}}
type: kubernetes.io/tls
data: {{tls.crt: {certificate}, tls.key: {key}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: rsa, namespace: bench}}
type: kubernetes.io/tls
data: {{tls.crt: {rsa_certificate}, tls.key: {rsa_key}}}
"""
