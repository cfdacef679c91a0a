"""What Go builds for ``make conformance``: the versions fit each other.  Nothing of Go runs here."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from conformance import binaries, compiler
from conformance.binaries import API_SERVER_MODULE, SUITE_MODULES
from conformance.ingress_nginx import programs


def requirements(module: Path) -> dict[str, str]:
    """Version by module path, of what a go.mod requires, also indirectly."""
    text = (module / "go.mod").read_text()
    return dict(
        re.findall(r"^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE)
    )


def replacements(module: Path) -> dict[str, str]:
    """Version by module path, of what a go.mod replaces by the same module."""
    text = (module / "go.mod").read_text()
    return {
        path: version
        for path, other, version in re.findall(r"^\s*(\S+) => (\S+) (v\S+)$", text, re.MULTILINE)
        if path == other
    }


class VersionsTests(SynchronousTestCase):
    """The go.mod files that are kept."""

    def test_staging_modules_are_those_of_the_api_server(self) -> None:
        """Each module of k8s.io that Kubernetes has inside is replaced by the one of the same version."""
        kubernetes = requirements(API_SERVER_MODULE)["k8s.io/kubernetes"]
        replaced = replacements(API_SERVER_MODULE)
        self.assertGreater(len(replaced), 25)
        self.assertEqual(set(replaced.values()), {kubernetes.replace("v1.", "v0.")})

    def test_suite_and_crds_are_of_one_version(self) -> None:
        """The CRDs come out of the module beside the tests."""
        for module in SUITE_MODULES.values():
            found = requirements(module)
            self.assertEqual(found["sigs.k8s.io/gateway-api"], found["sigs.k8s.io/gateway-api/conformance"])

    def test_suite_speaks_to_the_api_server_of_its_minor_version(self) -> None:
        """The client that the suite requires is not of another minor version than the API server."""
        server = requirements(API_SERVER_MODULE)["k8s.io/kubernetes"].split(".")
        client = requirements(SUITE_MODULES["release"])["k8s.io/client-go"].split(".")
        self.assertEqual(server[1], client[1])

    def test_every_required_module_has_its_sum(self) -> None:
        """go.sum was written with go.mod, so nothing is built from other bytes."""
        for module in (API_SERVER_MODULE, *SUITE_MODULES.values(), programs.MODULE):
            sums = (module / "go.sum").read_text()
            used = {
                path: replacements(module).get(path, version)
                for path, version in requirements(module).items()
            }
            # What is copied beside has no sum.
            used.pop(binaries.IMAGES, None)
            self.assertEqual(
                [path for path, version in used.items() if f"{path} {version}/go.mod h1:" not in sums], []
            )

    def test_api_server_says_its_version(self) -> None:
        """Major and minor are flags of their own."""
        flags = binaries.version_flags("v1.36.1")
        self.assertIn("version.gitVersion=v1.36.1 ", flags)
        self.assertIn("version.gitMajor=1 ", flags)
        self.assertTrue(flags.endswith("version.gitMinor=36"))


class BuildingTests(SynchronousTestCase):
    """What is built is built once."""

    def test_folder_appears_when_all_went_well(self) -> None:
        """Whoever comes second finds it; who fails leaves nothing that looks built."""
        folder = Path(self.mktemp()) / "programs"
        with self.assertRaises(ZeroDivisionError), compiler.building(folder) as unfinished:
            self.assertIsNotNone(unfinished)
            raise ZeroDivisionError
        self.assertFalse(folder.exists())
        with compiler.building(folder) as unfinished:
            assert unfinished is not None
            (unfinished / "program").write_text("built")
        with compiler.building(folder) as unfinished:
            self.assertIsNone(unfinished)
        self.assertEqual((folder / "program").read_text(), "built")

    def test_other_sources_have_another_fingerprint(self) -> None:
        """Each byte of go.mod, go.sum and the Go files counts."""
        module = Path(self.mktemp())
        module.mkdir()
        (module / "go.mod").write_text("module one\n")
        (module / "go.sum").write_text("")
        before = binaries.fingerprint(module)
        (module / "go.sum").write_text("sum\n")
        self.assertNotEqual(before, binaries.fingerprint(module))

    def test_version_that_is_not_required_is_an_error(self) -> None:
        """It names the file and the module."""
        with self.assertRaisesRegex(compiler.NotBuiltError, "suite/go.mod does not require example.com/none"):
            binaries.required_version(SUITE_MODULES["release"], "example.com/none")
