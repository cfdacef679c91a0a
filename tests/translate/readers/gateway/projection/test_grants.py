"""Tests of the projection of what decides who may refer to whom, of policies and of definitions."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.objects.definitions import Definition, unsupported
from ingress.translate.readers.gateway.objects.grants import GrantedFrom, GrantedTo, Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import (
    BACKEND_TLS_POLICY,
    DEFINITION,
    GROUP,
    NAMESPACE,
    REFERENCE_GRANT,
    UNREADABLE,
    ObjectReference,
)
from ingress.translate.readers.gateway.objects.policies import AlternativeName, BackendTLSPolicy, PolicyTarget
from tests.translate.readers.gateway.projection.raw_gateway_objects import (
    PREFIX,
    projection_of,
    told_of,
    value_of,
)

KEY = ObjectKey("shop", "web")
FROM = {"group": GROUP, "kind": "HTTPRoute", "namespace": "other"}
TO = {"group": "", "kind": "Service"}


class NamespaceTests(SynchronousTestCase):
    """Namespaces."""

    def test_labels(self) -> None:
        """They have their name as a label, as in every cluster, also where a manifest does not say so."""
        metadata = {"name": "web", "labels": {"b": "2", "a": "1"}}
        found = projection_of(NAMESPACE, None, metadata=metadata)
        labels = (("a", "1"), ("b", "2"), ("kubernetes.io/metadata.name", "web"))
        self.assertEqual((found.value, found.problems), (Namespace(ObjectKey("", "web"), labels), ()))

    def test_malformed(self) -> None:
        """One whose labels cannot be read is met by no selector, since it might by one that excludes."""
        many: dict[str, object] = {str(number): "" for number in range(20_000)}
        cases: tuple[object, ...] = (7, {"a": 7}, {"a": "\0"}, many)
        for labels in cases:
            found = projection_of(NAMESPACE, None, metadata={"name": "web", "labels": labels})
            self.assertIsNone(found.value)
            self.assertEqual([one.field for one in found.problems], ["metadata.labels"])


class ReferenceGrantTests(SynchronousTestCase):
    """ReferenceGrants."""

    def test_kept(self) -> None:
        """A target without name means all of its kind."""
        self.assertEqual(
            value_of(REFERENCE_GRANT, {"from": [FROM], "to": [TO, {**TO, "name": "one"}]}),
            ReferenceGrant(
                KEY,
                (GrantedFrom(GROUP, "HTTPRoute", "other"),),
                (GrantedTo("", "Service"), GrantedTo("", "Service", "one")),
            ),
        )

    def test_malformed(self) -> None:
        """What cannot be read grants nothing: least of all a name, without which everything would be granted."""
        for lost in (
            7,
            {},
            {**FROM, "namespace": ""},
            {**FROM, "kind": 7},
            {"kind": "HTTPRoute", "namespace": "o"},
        ):
            _, value = told_of(REFERENCE_GRANT, {"from": [lost], "to": [TO]})
            assert isinstance(value, ReferenceGrant)
            self.assertEqual(value.sources, (), lost)
        for lost in (7, {}, {**TO, "name": ""}, {**TO, "name": 7}, {"kind": "Service"}, {**TO, "kind": ""}):
            _, value = told_of(REFERENCE_GRANT, {"from": [FROM], "to": [lost]})
            assert isinstance(value, ReferenceGrant)
            self.assertEqual(value.targets, (), lost)
        self.assertIsNone(told_of(REFERENCE_GRANT, {"from": [FROM] * 20_000, "to": [TO]})[1])


class BackendTLSPolicyTests(SynchronousTestCase):
    """BackendTLSPolicies."""

    def test_kept(self) -> None:
        """All of it is kept."""
        spec = {
            "targetRefs": [{"group": "", "kind": "Service", "name": "a", "sectionName": "https"}],
            "validation": {
                "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}],
                "wellKnownCACertificates": "System",
                "hostname": "h",
                "subjectAltNames": [
                    {"type": "Hostname", "hostname": "n"},
                    {"type": "URI", "uri": "spiffe://x"},
                ],
            },
            "options": {"a": "b"},
        }
        self.assertEqual(
            value_of(BACKEND_TLS_POLICY, spec),
            BackendTLSPolicy(
                KEY,
                "",
                (PolicyTarget(ObjectReference("", "Service", "", "a"), "https"),),
                (ObjectReference("", "ConfigMap", "", "ca"),),
                "System",
                "h",
                (AlternativeName("Hostname", "n"), AlternativeName("URI", "spiffe://x")),
                (("a", "b"),),
            ),
        )

    def test_malformed(self) -> None:
        """A policy that cannot be read stays, with names that no certificate has, and targets keep their places."""
        target = {"group": "", "kind": "Service", "name": "a"}
        validations: tuple[object, ...] = (None, 7, {"hostname": 7})
        for validation in validations:
            _, value = told_of(BACKEND_TLS_POLICY, {"targetRefs": [target], "validation": validation})
            assert isinstance(value, BackendTLSPolicy)
            self.assertEqual((value.hostname, value.authorities, len(value.targets)), ("", (), 1))
        names: tuple[object, ...] = (
            7,
            [7],
            [{"type": 7}],
            [{"type": "URI"}],
            [{"type": "Hostname", "hostname": 7}],
        )
        for some in names:
            spec = {"targetRefs": [target], "validation": {"hostname": "h", "subjectAltNames": some}}
            _, value = told_of(BACKEND_TLS_POLICY, spec)
            assert isinstance(value, BackendTLSPolicy)
            self.assertEqual(value.names, (AlternativeName("", ""),), some)
        targets: tuple[object, ...] = (7, {}, {**target, "sectionName": 7}, {"kind": "Service", "name": "a"})
        for lost in targets:
            _, value = told_of(
                BACKEND_TLS_POLICY, {"targetRefs": [lost, target], "validation": {"hostname": "h"}}
            )
            assert isinstance(value, BackendTLSPolicy)
            self.assertEqual([one.target.name for one in value.targets], ["", "a"], lost)
            self.assertEqual(value.targets[0].target, UNREADABLE)


class DefinitionTests(SynchronousTestCase):
    """CustomResourceDefinitions."""

    def definition(self, name: str, annotations: object) -> object:
        """What is kept of one, and nothing may be wrong with it."""
        metadata = {"name": name, "annotations": annotations}
        found = project(KINDS[DEFINITION], {"metadata": metadata}, PREFIX)[1]
        self.assertEqual(found.problems, ())
        return found.value

    def test_kept(self) -> None:
        """Of those of the group version and channel are kept, of others nothing."""
        name = f"gateways.{GROUP}"
        key = ObjectKey("", name)
        said = {f"{GROUP}/bundle-version": "v1.6.1", f"{GROUP}/channel": "standard"}
        self.assertEqual(self.definition(name, said), Definition(key, "v1.6.1", "standard"))
        self.assertIsNone(self.definition("gateways.example.com", said))
        nothing: tuple[object, ...] = (None, 7, {}, {f"{GROUP}/bundle-version": 7, f"{GROUP}/channel": "\n"})
        for annotations in nothing:
            self.assertEqual(self.definition(name, annotations), Definition(key))

    def test_supported(self) -> None:
        """Any bundle of the version is supported, in both channels, and what may not be read is not judged."""
        key = ObjectKey("", "x")
        for version in ("v1.6.0", "v1.6.1", "v1.6.99", "v1.6.0-rc.1", "v1.6.1-dev", "v1.7.0", None):
            for channel in ("standard", "experimental") if version else ("",):
                self.assertEqual(unsupported([Definition(key, version, channel)]), "", version)

    def test_unsupported(self) -> None:
        """Another version or channel is named, each once, beside what is supported."""
        key = ObjectKey("", "x")
        for version in ("v1.5.1", "v1.8.0", "v1.60.0", "v1.6", "", "v1.6.1\n"):
            self.assertIn(
                "v1.6 and v1.7, channel standard",
                unsupported([Definition(key, version, "standard")]),
                version,
            )
        for channel in ("", "nightly"):
            self.assertNotEqual(unsupported([Definition(key, "v1.6.1", channel)]), "")
        several = [Definition(ObjectKey("", str(n)), f"v2.{n % 9}.0", "standard") for n in range(90)]
        text = unsupported([*several, Definition(key, "v1.6.1", "standard")])
        self.assertIn("version v2.0.0, channel standard, version v2.1.0", text)
        self.assertIn("and 5 more", text)
        self.assertEqual(text.count("v2."), 4)
