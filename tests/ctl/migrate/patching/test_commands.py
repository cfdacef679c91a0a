"""Changes as commands for kubectl: whatever tenants wrote is quoted."""

import json
import os
import subprocess

import yaml
from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.migration import Before
from ingress.ctl.migrate.patching.commands import commands, json_patch, merge_patch, quoted
from ingress.ctl.migrate.raw_ingress import before, raw_of
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from tests.ctl.migrate.json_patches import PatchRefusedError, applied

HOSTILE = (
    "$(rm -rf ~)",
    "`rm -rf ~`",
    "'; rm -rf ~; '",
    '"; rm -rf ~ #',
    "a\nrm -rf ~\n",
    "\x1b]0;title\x07\u202e",
    "\\'\n",
    "--kubeconfig=evil",
    "!history ~ * ? {a,b} é 😀",
    "",
)


def words_of(command: str) -> list[str]:
    """The words that bash makes of *command*, after the first; nothing of it is run."""
    script = 'kubectl() { printf "%s\\0" "$@"; }\n' + command
    done = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}
    )
    assert not done.stderr, done.stderr
    return done.stdout.decode("utf-8").split("\0")[:-1]


def ingress(namespace: str, name: str) -> ObjectId:
    """An Ingress by its key."""
    return Kind.INGRESS, ObjectKey(namespace, name)


class CommandTests(SynchronousTestCase):
    def test_all_is_changed_by_one_patch(self) -> None:
        """Annotations, too, with tests of what was there: it is made as a whole or not at all."""
        changes = (
            Change("spec.rules[0].host", "a.example.com"),
            Change("metadata.annotations[a/b]", None),
            Change("metadata.annotations[a/c]", "60"),
        )
        before = (Before(("metadata", "annotations", "a/b"), "1"),)
        [command] = commands(ingress("shop", "web"), changes, before)
        words = words_of(command)
        self.assertEqual(words[:4], ["patch", "ingress/web", "--namespace=shop", "--type=json"])
        self.assertEqual(
            json.loads(words[4].removeprefix("--patch=")),
            [
                {"op": "test", "path": "/metadata/annotations/a~1b", "value": "1"},
                {"op": "add", "path": "/spec/rules/0/host", "value": "a.example.com"},
                {"op": "add", "path": "/metadata/annotations/a~1c", "value": "60"},
                {"op": "remove", "path": "/metadata/annotations/a~1b"},
            ],
        )

    def test_annotations_that_are_new_have_a_command_of_their_own(self) -> None:
        """An object without annotations has no place to which a patch adds one; what somebody else has added is written over by none."""
        changes = (Change("metadata.annotations[a/c]", "60"), Change("spec.rules[0].host", "x"))
        before = (Before(("spec", "rules", 0), {"host": "w"}),)
        patch, annotate = commands(ingress("shop", "web"), changes, before)
        self.assertEqual(annotate, "kubectl annotate ingress/web --namespace=shop a/c=60")
        self.assertNotIn("annotations", patch)

    def test_no_text_is_run_or_taken_for_an_option(self) -> None:
        """Names, values and fields reach kubectl letter by letter, behind what they belong to, on one line of printable characters."""
        for text in HOSTILE:
            changes = (Change("metadata.annotations[a/b]", text), Change("spec.x", text))
            before = (Before(("spec", "y"), text),)
            patch, annotate = commands(ingress(text, text), changes, before)
            for command in (annotate, patch):
                self.assertTrue(command.isprintable())
            words = words_of(annotate)
            self.assertEqual(words, ["annotate", f"ingress/{text}", f"--namespace={text}", f"a/b={text}"])
            words = words_of(patch)
            self.assertEqual(words[1:3], [f"ingress/{text}", f"--namespace={text}"])
            operations = json.loads(words[4].removeprefix("--patch="))
            self.assertEqual([one["value"] for one in operations], [text, text])

    def test_a_patch_is_yaml_too(self) -> None:
        """kubectl reads it as such: pairs of surrogates are no escapes there, and what ends lines or is forbidden has one."""
        text = "\U0001f600 \U000e0001 \xe9\x85\u2028\ufeff\x7f \\ud83d\\ude00"
        [command] = commands(ingress("shop", "web"), (Change("spec.x", text),))
        patch = words_of(command)[4].removeprefix("--patch=")
        for read in (json.loads, yaml.safe_load):
            self.assertEqual(read(patch), [{"op": "add", "path": "/spec/x", "value": text}])

    def test_a_word_is_quoted_only_where_it_has_to_be(self) -> None:
        """What a shell leaves alone is readable."""
        self.assertEqual(quoted("deploy/web.yaml"), "deploy/web.yaml")
        self.assertEqual(quoted("a b"), "'a b'")


class PatchTests(SynchronousTestCase):
    def test_members_of_a_list_go_from_its_end(self) -> None:
        """So the places of those before them stay right; what stays is written first."""
        changes = tuple(
            Change(field, value)
            for field, value in (
                ("spec.tls[0]", None),
                ("spec.rules[1].host", "x"),
                ("spec.tls[2]", None),
                ("spec.tls[10]", None),
            )
        )
        self.assertEqual(
            [(one["op"], one["path"]) for one in json_patch(changes)],
            [
                ("add", "/spec/rules/1/host"),
                ("remove", "/spec/tls/10"),
                ("remove", "/spec/tls/2"),
                ("remove", "/spec/tls/0"),
            ],
        )

    def test_names_are_escaped_in_pointers(self) -> None:
        """A slash and a tilde in the name of an annotation are no steps (RFC 6901)."""
        [one] = json_patch((Change("metadata.annotations[a.b/c~d]", "e"),))
        self.assertEqual(one["path"], "/metadata/annotations/a.b~1c~0d")

    def test_a_member_of_a_list_is_replaced_and_not_put_before_itself(self) -> None:
        """To add at a place of a list would keep what is there."""
        [one] = json_patch((Change("spec.tls[0].hosts[1]", "x"),))
        self.assertEqual(one["op"], "replace")

    def test_annotations_are_a_merge_patch_that_needs_none_to_be_there(self) -> None:
        """null removes (RFC 7386); without annotations there is no patch."""
        changes = (Change("metadata.annotations[a/b]", None), Change("metadata.annotations[a/c]", "d"))
        self.assertEqual(
            merge_patch((*changes, Change("spec.x", "y"))),
            {"metadata": {"annotations": {"a/b": None, "a/c": "d"}}},
        )
        self.assertEqual(merge_patch((Change("spec.x", "y"),)), {})


def path(text: str, service: str = "web") -> IngressPath:
    """A path to a port of *service*."""
    return IngressPath(text, "Prefix", IngressBackend(service, ServicePortReference(number=80)))


class TestedTests(SynchronousTestCase):
    """A patch goes by what there was."""

    value = Ingress(
        ObjectKey("shop", "web"),
        annotations={"n/old": "1", "n/kept": "2"},
        rules=(
            IngressRule("a.example.com", (path("/"), path("/", "old"), path("/kept"))),
            IngressRule("a.example.com", (path("/b"),)),
            IngressRule("", (path("/c"),)),
        ),
        tls=(IngressTLS(("a.example.com",), "cert"),),
    )
    changes = (
        Change("spec.rules[0].http.paths[1]", None),
        Change("spec.rules[1]", None),
        Change("spec.rules[2].http.paths[0].path", "/d"),
        Change("metadata.annotations[n/old]", None),
        Change("metadata.annotations[n/new]", "1"),
        Change("metadata.annotations[stray]", None),
    )

    def setUp(self) -> None:
        self.raw = raw_of(self.value, {"stray": "x"})
        self.operations = json_patch(self.changes, before(self.changes, self.raw))

    def test_the_object_that_was_read_is_changed(self) -> None:
        """Paths and rules go by their places, and the rest stays."""
        made = applied(self.raw, self.operations)
        self.assertEqual(made["metadata"]["annotations"], {"n/kept": "2", "n/new": "1"})
        self.assertEqual(made["spec"]["tls"], self.raw["spec"]["tls"])
        rules = made["spec"]["rules"]
        self.assertEqual(
            [[one["path"] for one in rule["http"]["paths"]] for rule in rules], [["/", "/kept"], ["/d"]]
        )

    def test_an_object_that_is_another_is_refused(self) -> None:
        """The patched one, one with a path or a rule more or less, and one whose annotation says something else or is gone."""
        rules = self.value.rules
        others = [
            evolve(self.value, rules=(IngressRule("b.example.com", rules[0].paths), *rules[1:])),
            evolve(self.value, rules=(evolve(rules[0], paths=(path("/"), path("/kept"))), *rules[1:])),
            evolve(self.value, rules=(IngressRule("new.example.com", (path("/"),)), *rules)),
            evolve(self.value, rules=(rules[0], *rules[2:])),
            evolve(self.value, annotations={"n/old": "2"}),
            evolve(self.value, annotations={}),
        ]
        for raw in (applied(self.raw, self.operations), *(raw_of(one, {"stray": "x"}) for one in others)):
            self.assertRaises(PatchRefusedError, applied, raw, self.operations)
        self.assertRaises(PatchRefusedError, applied, raw_of(self.value, {}), self.operations)

    def test_what_is_there_otherwise_without_being_meant_does_not_matter(self) -> None:
        """A certificate, a path that comes behind, an annotation of others."""
        rules = self.value.rules
        other = evolve(
            self.value,
            rules=(evolve(rules[0], paths=(*(rules[0].paths or ()), path("/more"))), *rules[1:]),
            tls=(),
        )
        made = applied(raw_of(other, {"stray": "x", "other": "y"}), self.operations)
        self.assertEqual(made["metadata"]["annotations"]["other"], "y")

    def test_a_resource_has_its_group_also_where_that_is_none(self) -> None:
        """An API server leaves out no ``apiGroup``, and a test compares all members."""
        for kind, group in (("Bucket.storage.example.com", "storage.example.com"), ("Bucket", None)):
            value = Ingress(ObjectKey("shop", "web"), default_backend=IngressBackend("", resource_kind=kind))
            self.assertEqual(raw_of(value, {})["spec"]["defaultBackend"]["resource"]["apiGroup"], group)

    def test_a_class_that_an_object_has_got_meanwhile_is_kept(self) -> None:
        """An API server gives the default class to one without any: that of a manifest is not what a cluster has."""
        changes = (Change("spec.ingressClassName", "nginx"), self.changes[0])
        operations = json_patch(changes, before(changes, self.raw))
        self.assertEqual([one["path"] for one in operations if one["op"] == "test"], ["/spec"])
        made = applied(self.raw, operations)
        self.assertEqual(made["spec"]["ingressClassName"], "nginx")
        for name in ("nginx", "other"):
            raw = raw_of(evolve(self.value, class_name=name), {})
            self.assertRaises(PatchRefusedError, applied, raw, operations)
