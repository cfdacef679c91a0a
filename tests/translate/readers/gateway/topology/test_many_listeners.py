"""What many listeners cost, and which Secrets and ConfigMaps Gateways and policies have read."""

from typing import Any
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.manifests.manifest_files import read_manifest_text
from ingress.cluster.secrets.secret_references import ObjectReferences
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.translate.options import ANNOTATIONS_PREFIX, TranslateOptions
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.tls.certificates import find
from tests.translate.readers.gateway.following import Following
from tests.translate.readers.gateway.gateway_values import ANY, gateway, listener, listener_set
from tests.translate.readers.gateway.topology.test_listener_handshakes import naming, secret

_OBJECTS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: txingress.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: infra}
spec:
  gatewayClassName: CLASS
  tls:
    backend: {clientCertificateRef: {name: mine, namespace: web}}
    frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: people}]}}}
  listeners:
  - {name: s, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shown}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: policy, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: app}]
  validation:
    hostname: app.test
    caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}, {group: "", kind: Secret, name: more}]
"""


class ManyListenersTests(SynchronousTestCase):
    """Listeners by the thousand."""

    def test_one_certificate(self) -> None:
        """A certificate that more than a thousand listeners show is read once, and a change of it reads it once more."""
        following = Following(self)
        sets = [
            listener_set(
                f"set{number}",
                "main",
                *(
                    listener(f"l{at}", 443, "HTTPS", f"a{at}.b{number}.test", tls=naming("own"))
                    for at in range(64)
                ),
            )
            for number in range(20)
        ]
        main = gateway(
            "main", listener("tls", 443, "HTTPS", "main.test", tls=naming("own")), listener_sets=ANY
        )
        read: list[ObjectKey] = []

        def counted(key: ObjectKey, *more: Any) -> Any:
            read.append(key)
            return find(key, *more)

        with patch("ingress.translate.caches.loaded_certificates.find", counted):
            found = following.put(main, *sets, secret("own"))
            self.assertEqual(len(read), 1)
            self.assertEqual(len(found.others["gateway *:443"].certificates.exact), 1 + 20 * 64)
            following.put(secret("own"))
            self.assertEqual(len(read), 2)


class NeedsTests(SynchronousTestCase):
    """What is read, be it by a watch or by name."""

    def needed(self, kind: Kind, class_name: str) -> dict[str, list[str]]:
        """The objects of *kind* that are needed, with their keys, by a Gateway of a class and by a policy."""
        references = ObjectReferences(TranslateOptions(), ROUTE_KINDS, kind)
        text = _OBJECTS.replace("CLASS", class_name)
        content = read_manifest_text(text, "all", ANNOTATIONS_PREFIX, ObjectKinds(ROUTE_KINDS))
        references.changed({one.id: one.projection for one in content.objects})
        return {str(key): sorted(keys) for key, keys in references.begin().needed.items()}

    def test_named(self) -> None:
        """All that Gateways of ours and policies name is read, with just the keys that are needed."""
        pair = ["tls.crt", "tls.key"]
        self.assertEqual(
            self.needed(Kind.SECRET, "ours"),
            {"infra/shown": pair, "web/mine": pair, "shop/more": ["ca.crt"]},
        )
        self.assertEqual(
            self.needed(Kind.CONFIG_MAP, "ours"), {"infra/people": ["ca.crt"], "shop/ca": ["ca.crt"]}
        )

    def test_others(self) -> None:
        """What a Gateway of another class names is not read."""
        self.assertEqual(self.needed(Kind.SECRET, "theirs"), {"shop/more": ["ca.crt"]})
        self.assertEqual(self.needed(Kind.CONFIG_MAP, "theirs"), {"shop/ca": ["ca.crt"]})
