#!/bin/sh
# Makes the demo's certificate anew: ca.crt and tls-secret.yaml in this directory.
# Needs openssl 1.1.1 or later.  The key of the authority is thrown away at the
# end, so that nobody can sign anything else with it; the key in tls-secret.yaml
# is public by design and must protect nothing.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
days=10957  # 30 years

# 1. An authority of our own: a key, and a certificate that it signs for itself.
openssl ecparam -name prime256v1 -genkey -noout -out "$work/ca.key"
openssl req -x509 -new -key "$work/ca.key" -days "$days" -subj '/CN=Ingress demo authority' \
    -addext 'keyUsage=critical,keyCertSign,cRLSign' -out ca.crt

# 2. A key for the demo's hosts, and a request for a certificate.
openssl ecparam -name prime256v1 -genkey -noout -out "$work/ec.key"
openssl pkcs8 -topk8 -nocrypt -in "$work/ec.key" -out "$work/tls.key"
openssl req -new -key "$work/tls.key" -subj '/CN=secure.demo.localhost' -out "$work/tls.csr"

# 3. The authority signs it, for the names that clients will compare.
cat > "$work/extensions" <<'END'
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:secure.demo.localhost, DNS:*.demo.localhost
END
openssl x509 -req -in "$work/tls.csr" -CA ca.crt -CAkey "$work/ca.key" -set_serial "0x$(openssl rand -hex 16)" \
    -days "$days" -extfile "$work/extensions" -out "$work/tls.crt"

# 4. Both as the Secret that an Ingress names.  With a cluster at hand:
#    kubectl create secret tls demo-tls --cert tls.crt --key tls.key
cat > tls-secret.yaml <<END
# Written by make-certificates.sh.  The key is public: for this demo only.
apiVersion: v1
kind: Secret
metadata:
  name: demo-tls
  namespace: shop
type: kubernetes.io/tls
data:
  tls.crt: $(base64 < "$work/tls.crt" | tr -d '\n')
  tls.key: $(base64 < "$work/tls.key" | tr -d '\n')
END
