"""Tests for ``ingressctl migrate --compare``: its parameters, its exit status, and its ends."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from ingress.ctl.commands import comparing
from ingress.ctl.commands.compare_parameters import FIELDS, AskedComparison
from ingress.ctl.commands.migrate import command
from ingress.ctl.comparing.client import Client
from tests.ctl.comparing.answering import Answering, answer
from tests.ctl.comparing.test_generating import manifest
from tests.ctl.ctl_case import CtlCase
from tests.fakes.processes import free_port


class CompareCommandTests(CtlCase):
    """The command as people type it."""

    def setUp(self) -> None:
        super().setUp()
        self.theirs, self.ours = Answering(self), Answering(self)

    def compare(self, *more: str, text: str = "", requests: str = "") -> Result:
        """Compare the two servers, by a manifest or by *requests*."""
        what = (
            [f"--requests={self.manifest(requests, 'requests.txt')}"]
            if requests
            else [self.manifest(text or manifest())]
        )
        sides = [f"--theirs={self.theirs.address}", f"--ours={self.ours.address}"]
        if any("--theirs" in one for one in more):
            sides = []
        return self.run_command("migrate", "--compare", *what, *sides, "--rate=1000", *more)

    def report(self, *more: str, **what: str) -> dict[str, Any]:
        """Return the report as data."""
        result = self.compare("--output=json", *more, **what)
        found: dict[str, Any] = json.loads(result.stdout)
        found["status"] = result.exit_code
        return found

    def test_alike(self) -> None:
        """Where nothing differs the status is 0, and one line sums up."""
        result = self.compare(requests="http://shop.test/\nhttp://shop.test/a\n")
        self.assertEqual(result.exit_code, 0)
        self.assertIn("2 of 2 requests to each: 2 answered alike, 0 not", result.stderr)
        self.assertTrue(result.stdout.startswith("# Requests to both controllers"))

    def test_different(self) -> None:
        """Where something differs the status is 1, and 0 once it is accepted."""
        other = Answering(self, lambda head: answer(404))
        sides = (f"--theirs={self.theirs.address}", f"--ours={other.address}")
        self.assertEqual(self.report(*sides, requests="http://shop.test/\n")["status"], 1)
        accepted = self.manifest('[[accepted]]\nreason = "gone"\n', "accepted.toml")
        report = self.report(*sides, f"--accept={accepted}", requests="http://shop.test/\n")
        self.assertEqual((report["status"], report["accepted"]), (0, 1))

    def test_what_has_no_address(self) -> None:
        """Requests over a scheme for which one side has no address are left out, and counted."""
        report = self.report(requests="http://shop.test/\nhttps://shop.test/\n")
        self.assertEqual(report["asked"], 1)
        self.assertIn("over https", report["leftOut"][0]["why"])

    def test_both_get_the_same(self) -> None:
        """Both get the same requests, in the order of the file."""
        self.report(requests="http://a.test/1\nHEAD http://b.test/2\nhttp://c.test/3\nPOST http://d.test/\n")
        self.assertEqual(self.theirs.heads, self.ours.heads)
        self.assertEqual([head.split(b" ")[1] for head in self.ours.heads], [b"/1", b"/2", b"/3"])

    def test_side_that_is_down(self) -> None:
        """A side that is down is told once, and ends it with status 2; the other one is not asked for all the rest."""
        down = f"127.0.0.1:{free_port()}"
        requests = "".join(f"http://shop.test/{number}\n" for number in range(500))
        result = self.compare(f"--theirs={self.theirs.address}", f"--ours={down}", requests=requests)
        self.assertEqual((result.exit_code, len(self.theirs.heads)), (2, 1))
        self.assertEqual(result.stderr.count("ours takes no connection"), 1)
        self.assertIn("ended before the last one", result.stdout)

    def test_interrupted(self) -> None:
        """Ctrl-C ends it with what there is."""
        count = 0
        ask = Client.ask

        def interrupted(client: Client, sample: Any) -> Any:
            nonlocal count
            count += 1
            if count == 6:
                raise KeyboardInterrupt
            return ask(client, sample)

        self.patch(Client, "ask", interrupted)
        report = self.report(requests="".join(f"http://shop.test/{number}\n" for number in range(9)))
        self.assertEqual((report["asked"], report["ended"], report["status"]), (2, "interrupted", 2))

    def test_dry_run(self) -> None:
        """A dry run prints what would be sent, in a form that can be given again, and sends nothing."""
        result = self.compare("--dry-run")
        self.assertEqual(result.exit_code, 0)
        self.assertEqual((self.theirs.heads, self.ours.heads), ([], []))
        again = self.run_command("migrate", "--compare", "--dry-run", "--requests=-", given=result.stdout)
        self.assertEqual(again.stdout, result.stdout)

    def test_dry_run_without_secrets(self) -> None:
        """A dry run shows fields, and of those that are secret the name alone."""
        request = json.dumps(
            {"url": "http://a.test/", "headers": {"Cookie": "s3cret", "Accept": "text/html"}}
        )
        result = self.compare("--dry-run", requests=request)
        self.assertEqual(json.loads(result.stdout)["headers"], {"Cookie": "(hidden)", "Accept": "text/html"})

    def test_any_bytes(self) -> None:
        """What is no UTF-8, and a line without end, are left out, whether of a file or of standard input."""
        octets = (
            b"http://shop.test/\n\xff\xfe\nhttp://shop.test/\xe4\n"
            + b"x" * 500_000
            + b"\nhttp://shop.test/b\n"
        )
        path = self.folder / "requests"
        path.write_bytes(octets)
        for name, piped in ((str(path), None), ("-", octets)):
            result = self.run_command("migrate", "--compare", "--dry-run", f"--requests={name}", given=piped)
            self.assertEqual(result.stdout, "http://shop.test/\nhttp://shop.test/b\n")
            self.assertIn("left out: 1 the target", result.stderr)

    def test_output_file(self) -> None:
        """The page goes to the file that is named, in the format of its name."""
        path = self.folder / "page.html"
        result = self.compare(f"--output-file={path}", requests="http://shop.test/\n")
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.endswith(f"wrote the comparison into {path}\n"), result.stderr)
        self.assertIn("<!DOCTYPE html>", path.read_text("utf-8"))

    def test_output_file_that_cannot_be_written(self) -> None:
        """A page that cannot be written goes to standard output: it took its time."""
        result = self.compare(f"--output-file={self.manifest('')}/page.md", requests="http://shop.test/\n")
        self.assertEqual(result.exit_code, 2)
        self.assertIn("# Requests to both controllers", result.stdout)

    def test_rate(self) -> None:
        """Ten requests a second is the rate unless another is said, counted by a clock that only waiting moves."""
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        requests = self.manifest(
            "".join(f"http://shop.test/{number}\n" for number in range(20)), "requests.txt"
        )
        sides = [f"--theirs={self.theirs.address}", f"--ours={self.ours.address}"]
        context = command.make_context("migrate", ["--compare", f"--requests={requests}", *sides])
        asked = AskedComparison(**{name: context.params[name] for name in FIELDS})
        with CliRunner().isolation():
            _, status = comparing.compare(asked, None, "json", lambda: now[0], sleep)
        self.assertEqual((status, len(self.theirs.heads), len(self.ours.heads)), (0, 20, 20))
        self.assertAlmostEqual(now[0], 3.9)

    def test_mistakes(self) -> None:
        """What cannot be done is told in a line, with status 2, before anything is sent."""
        path = self.manifest(manifest())
        sides = ("--theirs=10.0.0.1", "--ours=10.0.0.2")
        for arguments, words in (
            ((path,), "needs --theirs"),
            ((path, "--theirs=a.example.com", "--ours=10.0.0.2"), "is no IP address"),
            ((path, "--theirs=10.0.0.1", "--ours=10.0.0.1"), "an address in common"),
            ((path, "--theirs=10.0.0.1", "--ours=http=10.0.0.1:80"), "an address in common"),
            (sides, "name manifests or --live"),
            ((path, *sides, "--rate=0"), "--rate"),
            ((path, *sides, "--rate=nan"), "--rate"),
            ((path, *sides, "--limit=0"), "--limit"),
            ((path, *sides, "--timeout=-1"), "--timeout"),
            ((path, *sides, "--methods=GET,A B"), "--methods"),
            ((path, *sides, "--methods=CONNECT"), "--methods"),
            ((path, *sides, f"--requests={self.folder}/none"), "--requests"),
            ((path, *sides, f"--requests={self.folder}"), "--requests"),
            ((path, *sides, f"--credentials={self.folder}/none"), "--credentials"),
            ((path, *sides, f"--accept={self.folder}/none"), "--accept"),
            ((path, *sides, f"--ca-file={self.folder}/none"), "--ca-file"),
            ((path, *sides, f"--ca-file={path}"), "--ca-file"),
            ((path, *sides, "--patches=x"), "--patches"),
        ):
            result = self.run_command("migrate", "--compare", *arguments)
            self.assertEqual(result.exit_code, 2, arguments)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_without_compare(self) -> None:
        """A parameter of a comparison is none of the report."""
        result = self.run_command("migrate", "--rate=5", self.manifest(manifest()))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("--rate is for a comparison: add --compare", result.stderr)

    def test_no_request_is_made_of_answers(self) -> None:
        """A redirect is compared, and not followed."""
        moved = Answering(self, lambda head: answer(302, b"", f"Location: http://{self.ours.address}/next"))
        also = Answering(self, lambda head: answer(302, b"", f"Location: http://{self.ours.address}/next"))
        self.report(f"--theirs={moved.address}", f"--ours={also.address}", requests="http://shop.test/\n")
        self.assertEqual((len(moved.heads), len(also.heads), self.ours.heads), (1, 1, []))
