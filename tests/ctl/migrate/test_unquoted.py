"""Annotations whose values lack quotes, so that YAML makes booleans and numbers of them."""

import json

from tests.ctl.ctl_case import CtlCase, ingress

PREFIX = "nginx.ingress.kubernetes.io/"
WRITTEN = {
    "ssl-redirect": ("true", '"true"'),
    "use-regex": ("yes", '"true"'),
    "proxy-read-timeout": ("60", '"60"'),
    "proxy-request-buffering": ("off", '"off"'),
    "proxy-buffering": ("on", '"on"'),
}
"""Each with what stands there, and what is to stand there."""
UNCLEAR = {
    "proxy-buffer-size": "1.5",
    "x-forwarded-prefix": "",
    "custom-http-errors": "[404]",
    "limit-rps": "-1",
}


def written(**values: str) -> str:
    """Return an Ingress with these annotations, as they are written."""
    lines = "".join(f"    {PREFIX}{name}: {value}  # so\n" for name, value in values.items())
    return ingress().replace("annotations: {}", f"annotations:\n{lines.rstrip()}")


class UnquotedTests(CtlCase):
    """No API server takes them; what is meant is plain for most."""

    def test_they_are_mended_where_it_is_plain_what_is_meant(self) -> None:
        """With the one spelling that is accepted, in the place of what stands there; lint finds nothing then."""
        path = self.manifest(written(**{name: before for name, (before, _) in WRITTEN.items()}))
        found = self.run_command("migrate", path, "--output", "json", "--patches", str(self.folder / "out"))
        (patch,) = (self.folder / "out").glob("*.patch")
        lines = patch.read_text("utf-8").splitlines()
        added = [line[1:].strip() for line in lines if line.startswith("+ ")]
        self.assertEqual(added, [f"{PREFIX}{name}: {after}  # so" for name, (_, after) in WRITTEN.items()])
        removed = [line for line in lines if line.startswith("- ")]
        self.assertEqual(len(removed), len(added))
        script = (self.folder / "out" / "kubectl.sh").read_text("utf-8")
        self.assertIn(f"kubectl annotate ingress/web --namespace=shop {PREFIX}", script)
        (entry,) = json.loads(found.stdout)["objects"]
        self.assertEqual(entry["outcome"], "works")
        again = self.manifest(written(**{name: after for name, (_, after) in WRITTEN.items()}))
        self.assertNotIn("must be text", self.run_command("lint", again).stdout)

    def test_lint_says_what_to_write(self) -> None:
        """As an error, with the value that was read."""
        path = self.manifest(written(use_regex="on").replace("use_regex", "use-regex"))
        result = self.run_command("lint", path)
        self.assertEqual(result.exit_code, 1)
        self.assertIn("use-regex: must be text, but is true, which no API server takes", result.stdout)
        self.assertIn("→ write use-regex: 'true'", result.stdout)

    def test_what_is_unclear_is_left(self) -> None:
        """A list, nothing at all, a number that may have had another form, a value that is not accepted either."""
        path = self.manifest(written(**UNCLEAR))
        result = self.run_command("lint", path, "--output", "json")
        (found,) = json.loads(result.stdout)["objects"]
        told = {
            one["field"]: one["changes"] for one in found["findings"] if one["rule"] == "InvalidAnnotation"
        }
        self.assertEqual(told, {f"metadata.annotations[{PREFIX}{name}]": [] for name in UNCLEAR})
