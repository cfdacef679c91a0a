"""Services, classes, default backends, aliases, and values that cannot be read."""

from conformance.cluster import Object
from conformance.ingress_nginx.case import CLASS, Ask, Case, also, external, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate, secret_of


def of_class(name: str, field: str | None, annotation: str | None) -> Object:
    """An Ingress of a host of its own that says its class so."""
    made = ingress(host=f"{name}.HOST", name=name)
    made["spec"].pop("ingressClassName")
    if field is not None:
        made["spec"]["ingressClassName"] = field
    if annotation is not None:
        made["metadata"]["annotations"]["kubernetes.io/ingress.class"] = annotation
    return made


def cluster_service(name: str, address: str, **fields: object) -> Object:
    """A Service whose own address is known; it is of those, the first 256, that the API server gives to nobody by itself."""
    spec = {"clusterIP": address, "ports": [{"name": "http", "port": 8080, "targetPort": 8080}], **fields}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def endpoint_slice(name: str, address: str, ready: bool = True) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": ready, "serving": ready}}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def external_ports(name: str, target: str, ports: list[Object]) -> Object:
    made = external(name, target)
    made["spec"]["ports"] = ports
    if not ports:
        made["spec"].pop("ports")
    return made


RESOURCE = {"resource": {"apiGroup": "k8s.example.com", "kind": "Bucket", "name": "static"}}


def with_resource() -> Object:
    made = ingress({"/": "web"})
    made["spec"]["rules"][0]["http"]["paths"].append(
        {"path": "/static", "pathType": "Prefix", "backend": RESOURCE}
    )
    return made


CLASSES = (
    Case(
        "classes",
        (
            of_class("field", CLASS, None),
            of_class("word", None, "nginx"),
            of_class("other", None, "traefik"),
            of_class("elsewhere", "other", None),
            of_class("nothing", None, None),
            of_class("empty", None, ""),
        ),
        tuple(
            Ask(host=f"{name}.HOST") for name in ("field", "word", "other", "elsewhere", "nothing", "empty")
        ),
    ),
)

SERVICES = (
    Case(
        "external-without-port",
        (ingress({"/": "outside:8080"}), external_ports("outside", "backend.HOST", [])),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-named-port",
        (
            ingress({"/": "outside:http"}),
            external_ports("outside", "backend.HOST", [{"name": "http", "port": 8080, "targetPort": 8080}]),
        ),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-dot",
        (ingress({"/": "outside:8080"}), external("outside", "backend.HOST.", 8080)),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-incomplete",
        (ingress({"/": "outside:8080"}), external("outside", "backend", 8080)),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-other-port",
        (
            ingress({"/": "outside:80"}),
            external_ports("outside", "backend.HOST", [{"name": "http", "port": 80, "targetPort": 8080}]),
        ),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-localhost",
        (ingress({"/": "outside:8080"}), external("outside", "localhost", 8080)),
        gets("/a"),
    ),
    Case(
        "external-vhost",
        (
            ingress({"/": "outside:8080"}, upstream_vhost="backend.inside"),
            external("outside", "backend.HOST", 8080),
        ),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-tls",
        (
            ingress(
                {"/": "outside:8443"},
                backend_protocol="HTTPS",
                proxy_ssl_server_name="on",
                proxy_ssl_name="in.test",
            ),
            external("outside", "backend.HOST", 8443),
        ),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "upstream-of-service",
        (
            ingress({"/": "own:8080"}, service_upstream="true"),
            cluster_service("own", "10.96.0.101"),
            endpoint_slice("own", "10.30.200.1"),
        ),
        gets("/a", "/b"),
    ),
    Case(
        "upstream-of-service-off",
        (
            ingress({"/": "own:8080"}, service_upstream="false"),
            cluster_service("own", "10.96.0.102"),
            endpoint_slice("own", "10.30.200.2"),
        ),
        gets("/a"),
        config={"service-upstream": "true"},
    ),
    Case(
        "upstream-of-service-for-all",
        (
            ingress({"/": "own:8080"}),
            cluster_service("own", "10.96.0.103"),
            endpoint_slice("own", "10.30.200.3"),
        ),
        gets("/a"),
        config={"service-upstream": "true"},
    ),
    Case(
        "upstream-of-service-empty",
        (ingress({"/": "own:8080"}, service_upstream="true"), cluster_service("own", "10.96.0.104")),
        gets("/a"),
    ),
    Case(
        "not-ready",
        (
            ingress({"/": "own:8080"}),
            cluster_service("own", "10.96.0.105"),
            endpoint_slice("own", "10.30.200.5", False),
        ),
        gets("/a"),
    ),
    Case(
        "headless",
        (ingress({"/": "own:8080"}), cluster_service("own", "None"), endpoint_slice("own", "10.30.200.6")),
        gets("/a"),
    ),
    Case(
        "other-port-number",
        (
            ingress({"/": "own:9999"}),
            cluster_service("own", "10.96.0.107"),
            endpoint_slice("own", "10.30.200.7"),
        ),
        gets("/a"),
    ),
    Case(
        "target-port-number",
        (
            ingress({"/": "own:8080", "/t": "own:8081"}),
            cluster_service("own", "10.96.0.108", ports=[{"name": "http", "port": 8081, "targetPort": 8080}]),
            endpoint_slice("own", "10.30.200.8"),
        ),
        gets("/a", "/t"),
    ),
    Case("resource", (with_resource(),), gets("/a", "/static", "/static/a")),
    Case("long-name", (ingress({"/": "a" * 63}),), gets("/a")),
    Case(
        "same-path-twice",
        (
            ingress({"/a": "one"}, name="b-second"),
            ingress({"/a": "two"}, name="a-first"),
            ingress({"/": "root"}, name="root"),
        ),
        gets("/a"),
    ),
    Case(
        "same-path-types",
        (ingress({"Exact:/a": "exact", "/a": "prefix"}),),
        gets("/a", "/a/", "/a/b", "/ab"),
    ),
    Case(
        "several-hosts",
        (ingress(name="one"), ingress({"/": "two"}, host="b.HOST", name="two", enable_cors="true")),
        (Ask(host="b.HOST"), Ask()),
    ),
    Case(
        "variables-of-rules",
        (
            ingress(
                {"/a": "one", "/b": "two:8080", "Exact:/c": "three"},
                configuration_snippet='more_set_headers "X-Is: $namespace $ingress_name $service_name $service_port $location_path";',
            ),
        ),
        gets("/a", "/b/x", "/c"),
    ),
    Case(
        "variables-no-host",
        (
            ingress(
                {"/vars": "one"},
                host="",
                configuration_snippet='more_set_headers "X-Is: $namespace $ingress_name $service_name $service_port $location_path";',
            ),
        ),
        (Ask("/vars", host="nobody.test"),),
        alone=True,
    ),
    Case(
        "variables-default",
        (
            also(
                ingress(
                    None,
                    default="all",
                    configuration_snippet='more_set_headers "X-Is: $namespace $ingress_name $service_name $service_port";',
                ),
                rules=[{"host": "HOST"}],
            ),
        ),
        (Ask(), Ask("/a")),
    ),
    Case(
        "default-with-errors",
        (ingress(None, default="all", custom_http_errors="404", default_backend="errors"),),
        (Ask("/x", host="nobody.test"),),
        answers={"all": {"": answer(404)}, "errors": {"": answer(404, "page")}},
        alone=True,
    ),
    Case(
        "default-not-there",
        (ingress(None, default="nothing"),),
        (Ask(host="nobody.test"),),
        replicas={"nothing": 0},
        alone=True,
    ),
    Case(
        "rule-without-paths",
        (also(ingress(None, default="all"), rules=[{"host": "HOST"}]),),
        (Ask(), Ask("/x")),
        alone=True,
    ),
    Case(
        "default-backend-of-error",
        (ingress({"/": "web"}, default_backend="rest", custom_http_errors="502"),),
        gets("/a"),
        answers={"web": {"": answer(502)}, "rest": {"": answer(200, "rest")}},
    ),
)

ALIASES = (
    Case(
        "alias-two",
        (ingress({"/a": "a"}, name="a", server_alias="alias.HOST"), ingress({"/b": "b"}, name="b")),
        (Ask("/a", host="alias.HOST"), Ask("/b", host="alias.HOST"), Ask("/b")),
    ),
    Case(
        "alias-twice",
        (
            ingress({"/a": "a"}, name="a", server_alias="alias.HOST"),
            ingress({"/": "b"}, host="b.HOST", name="b", server_alias="alias.HOST"),
        ),
        (Ask("/a", host="alias.HOST"), Ask("/", host="alias.HOST")),
    ),
    Case(
        "alias-wild",
        (ingress(server_alias="*.alias.HOST"),),
        (Ask(host="x.alias.HOST"), Ask(host="alias.HOST")),
    ),
    Case(
        "alias-tls",
        (
            ingress(tls="own", server_alias="alias.HOST"),
            certificate("own", "alias-tls.test", "alias.alias-tls.test"),
        ),
        (Ask(host="alias.HOST"), Ask(host="alias.HOST", server_name="alias.HOST", secure=True)),
    ),
    Case(
        "alias-tls-other",
        (ingress(tls="own", server_alias="alias.HOST"), certificate("own", "alias-tls-other.test")),
        (Ask(host="alias.HOST"), Ask(host="alias.HOST", server_name="alias.HOST", secure=True)),
    ),
    Case("alias-empty", (ingress(server_alias=" , alias.HOST,"),), (Ask(host="alias.HOST"), Ask())),
    Case(
        "www-both",
        (
            ingress(name="bare", from_to_www_redirect="true"),
            ingress(host="www.HOST", name="www", from_to_www_redirect="true"),
        ),
        (Ask(host="www.HOST"), Ask()),
    ),
    Case(
        "www-exists",
        (
            ingress(name="bare", from_to_www_redirect="true"),
            ingress({"/": "www"}, host="www.HOST", name="www"),
        ),
        (Ask(host="www.HOST"), Ask()),
    ),
    Case(
        "www-redirect-code",
        (ingress(from_to_www_redirect="true"),),
        (Ask("/a", host="www.HOST"),),
        config={"http-redirect-code": "301"},
    ),
    Case(
        "www-tls-from",
        (
            also(
                ingress(
                    from_to_www_redirect="true",
                ),
                tls=[{"hosts": ["HOST", "www.HOST"], "secretName": "own"}],
            ),
            certificate("own", "www-tls-from.test", "www.www-tls-from.test"),
        ),
        (Ask("/a", host="www.HOST"), Ask("/a", host="www.HOST", server_name="www.HOST", secure=True)),
    ),
    Case(
        "tls-dot",
        (ingress(tls="own"), certificate("own", "tls-dot.test")),
        (Ask("/a", secure=True, host="HOST.", server_name="HOST"),),
    ),
    Case(
        "tls-invalid",
        (ingress(tls="own"), secret_of("own", "kubernetes.io/tls", {"tls.crt": b"no", "tls.key": b"no"})),
        (Ask("/a", secure=True), Ask("/a")),
    ),
    Case(
        "tls-other-host",
        (
            also(ingress(), tls=[{"hosts": ["other.HOST"], "secretName": "own"}]),
            certificate("own", "other.tls-other-host.test"),
        ),
        (Ask("/a", secure=True), Ask("/a")),
    ),
    Case(
        "tls-no-hosts",
        (also(ingress(), tls=[{"secretName": "own"}]), certificate("own", "tls-no-hosts.test")),
        (Ask("/a", secure=True), Ask("/a")),
    ),
)

CASES = (*CLASSES, *SERVICES, *ALIASES)
