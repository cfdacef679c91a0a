"""Tests of the projection of GatewayClasses, Gateways and ListenerSets."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.objects.gateways import (
    AllowedNamespaces,
    FrontendValidation,
    Gateway,
    GatewayAddress,
    GatewayClass,
    GatewayListener,
    ListenerSet,
    ListenerTls,
    RouteKindName,
)
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    LISTENER_SET,
    UNREADABLE,
    ObjectReference,
)
from ingress.translate.readers.gateway.projection.parts import NO_LABELS
from tests.translate.readers.gateway.projection.raw_gateway_objects import told_of, value_of

KEY = ObjectKey("shop", "web")
AT = "spec.listeners[0]"
NONE = AllowedNamespaces("None")
PLAIN = {"name": "http", "port": 80, "protocol": "HTTP"}
LOST = GatewayListener("", 0, "", namespaces=NONE, field=AT)


def gateway_of(**fields: Any) -> tuple[list[str], Gateway | None]:
    """What is told of a Gateway with *fields*, and what is kept."""
    told, value = told_of(GATEWAY, {"gatewayClassName": "c", **fields})
    assert value is None or isinstance(value, Gateway)
    return told, value


def listener_of(raw: object) -> tuple[list[str], GatewayListener]:
    """What is told of the listener of a Gateway, and the listener."""
    told, value = gateway_of(listeners=[raw, PLAIN])
    assert value is not None
    found, other = value.listeners
    assert other.field == "spec.listeners[1]"
    return [field.removeprefix(AT) for field in told], found


class GatewayClassTests(SynchronousTestCase):
    """GatewayClasses."""

    def test_kept(self) -> None:
        """Its controller and its parameters are kept."""
        parameters = {"group": "g", "kind": "K", "name": "n", "namespace": "s"}
        self.assertEqual(
            value_of(GATEWAY_CLASS, {"controllerName": "a/b", "parametersRef": parameters}),
            GatewayClass(ObjectKey("", "web"), "", "a/b", ObjectReference("g", "K", "s", "n")),
        )

    def test_malformed(self) -> None:
        """One whose controller cannot be read is nobody's; parameters that cannot be read are parameters."""
        for spec in (None, 7, {"controllerName": 7}):
            _, value = told_of(GATEWAY_CLASS, spec)
            assert isinstance(value, GatewayClass)
            self.assertEqual(value.controller, "")
        _, value = told_of(GATEWAY_CLASS, {"controllerName": "a/b", "parametersRef": 7})
        assert isinstance(value, GatewayClass)
        self.assertEqual(value.parameters, UNREADABLE)


class GatewayTests(SynchronousTestCase):
    """Gateways."""

    def test_defaults(self) -> None:
        """A listener takes routes of its own namespace, and a Gateway no ListenerSets, unless it says so."""
        listener = GatewayListener("http", 80, "HTTP", field=AT)
        self.assertEqual(listener.namespaces, AllowedNamespaces("Same"))
        self.assertEqual(
            value_of(GATEWAY, {"gatewayClassName": "c", "listeners": [PLAIN]}),
            Gateway(KEY, "", "c", (listener,), listener_sets=NONE),
        )

    def test_everything(self) -> None:
        """All that is honored anywhere is kept."""
        secret = ObjectReference("", "Secret", "", "tls")
        spec = {
            "gatewayClassName": "c",
            "listeners": [
                {
                    "name": "https",
                    "port": 443,
                    "protocol": "HTTPS",
                    "hostname": "*.Example.com",
                    "tls": {"certificateRefs": [{"name": "tls"}], "options": {"b": "2", "a": "1"}},
                    "allowedRoutes": {
                        "namespaces": {
                            "from": "Selector",
                            "selector": {
                                "matchLabels": {"team": "a"},
                                "matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["v"]}],
                            },
                        },
                        "kinds": [{"kind": "HTTPRoute"}, {"group": "g", "kind": "K"}],
                    },
                }
            ],
            "addresses": [{"value": "10.0.0.1"}, {"type": "Hostname", "value": "h"}, {"type": "IPAddress"}],
            "infrastructure": {
                "labels": {"l": "1"},
                "annotations": {"n": "2"},
                "parametersRef": {"group": "", "kind": "ConfigMap", "name": "p"},
            },
            "allowedListeners": {"namespaces": {"from": "All"}},
            "tls": {
                "backend": {"clientCertificateRef": {"name": "tls"}},
                "frontend": {
                    "default": {
                        "validation": {
                            "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]
                        }
                    },
                    "perPort": [
                        {"port": 8443, "tls": {}},
                        {
                            "port": 9443,
                            "tls": {
                                "validation": {
                                    "mode": "AllowInsecureFallback",
                                    "caCertificateRefs": [
                                        {"group": "", "kind": "ConfigMap", "name": "ca", "namespace": "n"}
                                    ],
                                }
                            },
                        },
                    ],
                },
            },
        }
        labels = LabelSelector(
            (LabelRequirement("team", "In", ("a",)), LabelRequirement("k", "NotIn", ("v",)))
        )
        listener = GatewayListener(
            "https",
            443,
            "HTTPS",
            "*.Example.com",
            ListenerTls("Terminate", (secret,), (("a", "1"), ("b", "2"))),
            AllowedNamespaces("Selector", labels),
            (RouteKindName(GROUP, "HTTPRoute"), RouteKindName("g", "K")),
            AT,
        )
        authority = ObjectReference("", "ConfigMap", "", "ca")
        frontend = "spec.tls.frontend"
        other = FrontendValidation(
            (authority._replace(namespace="n"),),
            "AllowInsecureFallback",
            f"{frontend}.perPort[1].tls.validation",
        )
        expected = Gateway(
            KEY,
            "",
            "c",
            (listener,),
            (
                GatewayAddress("IPAddress", "10.0.0.1"),
                GatewayAddress("Hostname", "h"),
                GatewayAddress("IPAddress", ""),
            ),
            ("10.0.0.9", "::1"),
            ObjectReference("", "ConfigMap", "", "p"),
            (("l", "1"),),
            (("n", "2"),),
            AllowedNamespaces("All"),
            secret,
            FrontendValidation((authority,), "AllowValidOnly", f"{frontend}.default.validation"),
            ((8443, None), (9443, other)),
        )
        given: list[object] = [{"value": "10.0.0.9"}, {"value": "name"}, 7, {"value": 7}, {"value": "0::1"}]
        self.assertEqual(value_of(GATEWAY, spec, status={"addresses": given}), expected)

    def test_listeners_that_are_lost(self) -> None:
        """A listener of which a part cannot be read that narrows it has no protocol, and so nobody is served by it."""
        cases: tuple[tuple[object, str], ...] = (
            (7, ""),
            ({**PLAIN, "hostname": 7}, ".hostname"),
            ({**PLAIN, "hostname": "a\nb"}, ".hostname"),
            ({**PLAIN, "port": "80"}, ".port"),
            ({**PLAIN, "protocol": 7}, ".protocol"),
            ({**PLAIN, "name": 7}, ".name"),
            ({**PLAIN, "tls": 7}, ".tls"),
            ({**PLAIN, "tls": {"mode": 7}}, ".tls.mode"),
            ({**PLAIN, "tls": {"options": 7}}, ".tls.options"),
            ({**PLAIN, "filters": {"requests": []}}, ".filters"),
        )
        for raw, field in cases:
            told, found = listener_of(raw)
            self.assertEqual(
                (told, found.protocol, found.namespaces, found.field), ([field], "", NONE, AT), raw
            )
        self.assertEqual(listener_of(7)[1], LOST)

    def test_certificates_keep_their_places(self) -> None:
        """A certificate that cannot be read leads nowhere."""
        for lost in (7, {}, {"name": 7}):
            _, found = listener_of({**PLAIN, "tls": {"certificateRefs": [lost, {"name": "tls"}]}})
            assert found.tls is not None
            self.assertEqual([one.name for one in found.tls.certificates], ["", "tls"])
        _, found = listener_of({**PLAIN, "tls": {"certificateRefs": {"name": "tls"}}})
        assert found.tls is not None
        self.assertEqual(found.tls.certificates, (UNREADABLE,))

    def test_allowed_routes_that_are_lost(self) -> None:
        """Who cannot be read is not let in, and a kind that cannot be read is none."""
        cases: tuple[object, ...] = (7, {"namespaces": 7}, {"namespaces": {"from": 7}})
        for allowed in cases:
            self.assertEqual(listener_of({**PLAIN, "allowedRoutes": allowed})[1].namespaces, NONE, allowed)
        selectors: tuple[object, ...] = (
            None,
            7,
            {"matchLabels": {"a": 7}},
            {"matchLabels": 7},
            {"matchExpressions": 7},
            {"matchExpressions": [7]},
            {"matchExpressions": [{"key": "a"}]},
            {"matchExpressions": [{"key": "a", "operator": "In", "values": [7]}]},
        )
        for selector in selectors:
            raw = {**PLAIN, "allowedRoutes": {"namespaces": {"from": "Selector", "selector": selector}}}
            self.assertEqual(
                listener_of(raw)[1].namespaces, AllowedNamespaces("Selector", NO_LABELS), selector
            )
        lists: tuple[object, ...] = (7, [7], [{}], [{"kind": 7}])
        for kinds in lists:
            found = listener_of({**PLAIN, "allowedRoutes": {"kinds": kinds}})[1]
            self.assertEqual(found.kinds, (RouteKindName("", ""),), kinds)

    def test_what_is_asked_of_clients_is_never_lost(self) -> None:
        """A Gateway is nobody's where that cannot be read; authorities that cannot be read lead nowhere."""
        lost: tuple[object, ...] = (
            7,
            {"frontend": 7},
            {"frontend": {"default": 7}},
            {"frontend": {"default": {"validation": 7}}},
            {"frontend": {"default": {}, "perPort": 7}},
            {"frontend": {"default": {}, "perPort": [7]}},
            {"frontend": {"default": {}, "perPort": [{"port": "x", "tls": {}}]}},
            {"frontend": {"default": {}, "perPort": [{"port": 1, "tls": 7}]}},
        )
        for tls in lost:
            self.assertIsNone(gateway_of(tls=tls, listeners=[PLAIN])[1], tls)
        _, value = gateway_of(tls={"frontend": {"default": {"validation": {"caCertificateRefs": [7]}}}})
        assert value is not None and value.frontend is not None
        self.assertEqual((value.frontend.authorities, value.frontend.mode), ((UNREADABLE,), "AllowValidOnly"))

    def test_others_that_are_lost(self) -> None:
        """Whoever cannot say who may add listeners lets nobody, and an address that cannot be read is none that there is."""
        cases: tuple[object, ...] = (7, {"namespaces": 7}, {"namespaces": {"from": 7}})
        for allowed in cases:
            _, value = gateway_of(allowedListeners=allowed)
            assert value is not None
            self.assertEqual(value.listener_sets, NONE)
        addresses: tuple[object, ...] = (7, {"value": 7}, {"type": 7})
        for address in addresses:
            _, value = gateway_of(addresses=[address])
            assert value is not None
            self.assertEqual(value.addresses, (GatewayAddress("", ""),))
        for spec in (None, {}, 7, {"gatewayClassName": 7}):
            self.assertIsNone(told_of(GATEWAY, spec)[1])

    def test_not_honored(self) -> None:
        """A Gateway that wants to be everybody's default is told that it is not."""
        told, value = gateway_of(defaultScope="All", listeners=[PLAIN])
        self.assertEqual(told, ["spec.defaultScope"])
        self.assertIsNotNone(value)

    def test_too_large(self) -> None:
        """A Gateway of more entries than anybody needs has no listeners, and stays, so that its status can say so."""
        told, value = gateway_of(listeners=[7] * 20_000)
        self.assertEqual(told, ["spec"])
        self.assertEqual(value, Gateway(KEY, "", "c"))


class ListenerSetTests(SynchronousTestCase):
    """ListenerSets."""

    def test_kept(self) -> None:
        """Its parent is a Gateway unless it says otherwise, and its listeners are read as those of Gateways."""
        expected = ListenerSet(
            KEY,
            "",
            ObjectReference(GROUP, "Gateway", "", "main"),
            (GatewayListener("http", 80, "HTTP", field=AT),),
        )
        self.assertEqual(
            value_of(LISTENER_SET, {"parentRef": {"name": "main"}, "listeners": [PLAIN]}), expected
        )

    def test_malformed(self) -> None:
        """Without a parent that can be read it belongs to no Gateway."""
        for parent, kept in ((7, UNREADABLE), (None, None), ({}, UNREADABLE)):
            told, value = told_of(LISTENER_SET, {"parentRef": parent, "listeners": [PLAIN]})
            assert isinstance(value, ListenerSet)
            self.assertEqual((value.parent, len(told)), (kept, 1))

    def test_too_large(self) -> None:
        """One of more entries than anybody needs has no listeners."""
        told, value = told_of(LISTENER_SET, {"parentRef": {"name": "main"}, "listeners": [{}] * 20_000})
        assert isinstance(value, ListenerSet)
        self.assertEqual((told, value.listeners), (["spec.listeners"], ()))
