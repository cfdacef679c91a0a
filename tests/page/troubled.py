"""A cluster with some trouble: what the tests look at, and what is in the picture of the README."""

import random
from collections.abc import Sequence

from tests.fakes.processes import free_port
from tests.page.scene import Object, Pods, endpoints, ingress, secret, service

TARGETS = (
    ("shop.example.com", "/", 24.0),
    ("shop.example.com", "/cart/1", 9.0),
    ("login.example.com", "/", 6.0),
    ("search.example.com", "/?q=hat", 5.0),
    ("mail.example.com", "/", 1.0),
    ("blog.example.com", "/", 3.0),
    ("old.example.com", "/", 1.5),
    ("static.example.com", "/logo.svg", 14.0),
    ("both.example.com", "/", 4.0),
    ("unknown.example.com", "/wp-login.php", 0.4),
)


def troubled(pods: Pods) -> Sequence[Object]:
    """Return the objects, with a pod of *pods* for each endpoint that there is."""

    def answering(seconds: float, status: int = 200, failing: float = 0.0) -> int:
        return pods.start(
            lambda: (
                random.uniform(0.3, 1.7) * seconds,
                500 if random.random() < failing else status,
            )
        )

    dead = free_port()
    well = [answering(0.004) for _ in range(3)]
    objects: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in ("store", "core", "media")
    ]
    objects.append(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "nginx"},
            "spec": {"controller": "k8s.io/ingress-nginx"},
        }
    )
    for namespace, name, ports in (
        ("store", "shop", well),
        ("store", "cart", [answering(0.012)]),
        ("store", "both", [answering(0.003), dead]),
        ("core", "login", [answering(0.03), answering(0.03)]),
        ("core", "search", [answering(0.09, failing=0.04)]),
        ("core", "mail", [free_port()]),
        ("media", "blog", [answering(0.02)]),
        ("media", "static", [answering(0.001), answering(0.001)]),
    ):
        objects.append(service(namespace, name))
        objects += [endpoints(namespace, name, port) for port in ports]
    objects += [
        service("media", "old"),
        secret("store", "shop-tls", "shop.example.com", 61),
        secret("core", "login-tls", "login.example.com", 4.4),
        secret("media", "static-tls", "static.example.com", 203),
        ingress("store", "shop", "shop.example.com", tls="shop-tls"),
        ingress("store", "cart", "shop.example.com", "/cart"),
        ingress("store", "both", "both.example.com"),
        ingress("core", "login", "login.example.com", tls="login-tls"),
        ingress("core", "search", "search.example.com"),
        ingress("core", "mail", "mail.example.com"),
        ingress("media", "blog", "blog.example.com", modsecurity_snippet="SecRuleEngine On"),
        ingress("media", "static", "static.example.com", tls="static-tls"),
        ingress("media", "old", "old.example.com"),
        ingress("media", "gone", "gone.example.com"),
    ]
    return objects
