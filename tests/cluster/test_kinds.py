"""Tests for ``ingress.cluster.kinds``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.model.cluster.objects import Kind, ObjectKey


class KindsTests(SynchronousTestCase):
    """The table of what is read."""

    def test_every_cluster_kind(self) -> None:
        """Every kind but manifest files is read from the API server, some of them where their definitions are."""
        defined = {kind for kind, read in KINDS.items() if read.definition}
        self.assertEqual(
            defined,
            {
                "GatewayClass",
                "Gateway",
                "ListenerSet",
                "HTTPRoute",
                "GRPCRoute",
                "TLSRoute",
                "TCPRoute",
                "UDPRoute",
                "ReferenceGrant",
                "BackendTLSPolicy",
                "Namespace",
            },
        )
        self.assertEqual(
            set(KINDS) - defined,
            {
                "CustomResourceDefinition",
                Kind.INGRESS,
                Kind.INGRESS_CLASS,
                Kind.SERVICE,
                Kind.ENDPOINT_SLICE,
                Kind.SECRET,
                Kind.CONFIG_MAP,
            },
        )

    def test_paths(self) -> None:
        """A kind is asked for in the whole cluster or in one namespace, in its API group."""
        self.assertEqual(KINDS[Kind.INGRESS].path(), "/apis/networking.k8s.io/v1/ingresses")
        self.assertEqual(KINDS[Kind.SECRET].path("shop"), "/api/v1/namespaces/shop/secrets")
        key = ObjectKey("shop", "tls")
        self.assertEqual(KINDS[Kind.SECRET].object_path(key), "/api/v1/namespaces/shop/secrets/tls")

    def test_scopes(self) -> None:
        """Namespaces narrow what has a namespace; the rest is read from the cluster once."""
        self.assertEqual(KINDS[Kind.SERVICE].scopes(()), ("",))
        self.assertEqual(KINDS[Kind.SERVICE].scopes(("a", "b")), ("a", "b"))
        self.assertEqual(KINDS[Kind.INGRESS_CLASS].scopes(("a", "b")), ("",))

    def test_no_right_to_write(self) -> None:
        """No other right is needed than to list and to watch, and to get single Secrets and ConfigMaps."""
        verbs = {kind: set(read.verbs) for kind, read in KINDS.items()}
        self.assertEqual(verbs.pop(Kind.SECRET), {"get", "list", "watch"})
        self.assertEqual(verbs.pop(Kind.CONFIG_MAP), {"get"})
        for kind, others in verbs.items():
            self.assertEqual(others, {"list", "watch"}, kind)

    def test_secrets_are_narrowed(self) -> None:
        """Only Secrets of the TLS type are asked for, and no other kind is narrowed."""
        selectors = {kind: read.field_selector for kind, read in KINDS.items() if read.field_selector}
        self.assertEqual(selectors, {Kind.SECRET: "type=kubernetes.io/tls"})

    def test_optional(self) -> None:
        """Routes without certificates or classes are better than none, and so are Ingresses without the Gateway API."""
        self.assertEqual({k for k, r in KINDS.items() if r.definition and not r.optional}, set())
        self.assertEqual(
            {k for k, r in KINDS.items() if r.optional and not r.definition},
            {Kind.INGRESS_CLASS, Kind.SECRET, Kind.CONFIG_MAP, "CustomResourceDefinition"},
        )
