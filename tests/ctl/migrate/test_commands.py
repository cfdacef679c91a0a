"""Changes as commands for kubectl: whatever tenants wrote is quoted."""

import json
import os
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.commands import commands, json_patch, merge_patch, quoted
from ingress.model.objects import Kind, ObjectId, ObjectKey

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
    def test_annotations_are_written_and_removed_by_one_command(self) -> None:
        """What is removed has a dash behind it, and what is written replaces what there is."""
        changes = (
            Change("metadata.annotations[a/b]", None),
            Change("metadata.annotations[a/c]", "60"),
        )
        [command] = commands(ingress("shop", "web"), changes)
        self.assertEqual(command, "kubectl annotate ingress/web --namespace=shop --overwrite a/b- a/c=60")
        [command] = commands(ingress("shop", "web"), changes[:1])
        self.assertEqual(command, "kubectl annotate ingress/web --namespace=shop a/b-")

    def test_other_fields_are_changed_by_a_json_patch(self) -> None:
        """Both kinds of change make two commands."""
        changes = (Change("spec.rules[0].host", "a.example.com"), Change("metadata.annotations[a/b]", None))
        annotate, patch = commands(ingress("shop", "web"), changes)
        self.assertIn(" annotate ", annotate)
        words = words_of(patch)
        self.assertEqual(words[:4], ["patch", "ingress/web", "--namespace=shop", "--type=json"])
        operations = json.loads(words[4].removeprefix("--patch="))
        self.assertEqual(operations, [{"op": "add", "path": "/spec/rules/0/host", "value": "a.example.com"}])

    def test_no_text_is_run_or_taken_for_an_option(self) -> None:
        """Names, values and fields reach kubectl letter by letter, behind what they belong to, on one line of printable characters."""
        for text in HOSTILE:
            changes = (Change("metadata.annotations[a/b]", text), Change("spec.x", text))
            annotate, patch = commands(ingress(text, text), changes)
            for command in (annotate, patch):
                self.assertTrue(command.isprintable())
            words = words_of(annotate)
            self.assertEqual(
                words, ["annotate", f"ingress/{text}", f"--namespace={text}", "--overwrite", f"a/b={text}"]
            )
            words = words_of(patch)
            self.assertEqual(words[1:3], [f"ingress/{text}", f"--namespace={text}"])
            self.assertEqual(json.loads(words[4].removeprefix("--patch="))[0]["value"], text)

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
