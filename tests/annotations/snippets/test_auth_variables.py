"""``auth_request_set``: variables made of what the service of ``auth-url`` said."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.snippet_blocks import Sort
from ingress.annotations.external_auth.check import Verdict
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.running import MAX_VALUES
from tests.annotations.snippets.playing import Stage, on
from tests.fakes.filter_parts import FakeFacts

TOLD = """
auth_request_set $user $upstream_http_x_auth_request_user;
auth_request_set $said "$upstream_status by $host for $user";
proxy_set_header X-User $user;
proxy_set_header Authorization "Bearer $user";
add_header X-Said $said;
"""


def let_pass(*fields: tuple[bytes, bytes], status: int = 202) -> FakeFacts:
    """Return a request that a service let pass, with these fields in its answer."""
    facts = on("/x", x_user=b"root")
    facts.notes["auth"] = Verdict(status, fields=fields)
    return facts


class AuthVariableTests(SynchronousTestCase):
    """What becomes of requests and answers."""

    def test_told(self) -> None:
        """Endpoint and client are told of it; the first field of a name counts, whatever its case."""
        facts = let_pass((b"X-Auth-Request-User", b"anna"), (b"x-auth-request-user", b"else"))
        played = Stage(TOLD).play(facts)
        self.assertEqual(played.request.fields, [(b"X-User", b"anna"), (b"Authorization", b"Bearer anna")])
        self.assertEqual(played.answer.fields, [(b"X-Said", b"202 by a.example.com for anna")])

    def test_nothing_said(self) -> None:
        """Where the service says no such field, or nobody asked one, nobody's is sent, and least of all the client's."""
        for facts in (let_pass(), on("/x", x_user=b"root")):
            played = Stage(TOLD).play(facts)
            self.assertEqual(played.request.fields, [(b"Authorization", b"Bearer")])

    def test_set_before(self) -> None:
        """The value of a ``set`` holds where nothing is asked, and yields where something is said; conditions come too early."""
        snippet = 'set $user "nobody"; if ($user = anna) { return 403; } ' + TOLD
        played = Stage(snippet).play(let_pass((b"X-Auth-Request-User", b"anna")))
        self.assertEqual(dict(played.request.fields)[b"X-User"], b"anna")
        self.assertEqual(dict(Stage(snippet).play().request.fields)[b"X-User"], b"nobody")

    def test_in_a_location(self) -> None:
        """Within a ``location`` of the server it holds for that, in place of what the path says."""
        inner = TOLD.replace("x_auth_request_user", "x_else")
        stage = Stage("", server=f"location /inner {{ {inner} }}")
        facts = on("/inner/x")
        facts.notes["auth"] = Verdict(200, fields=((b"X-Else", b"bob"),))
        self.assertEqual(dict(stage.play(facts).request.fields)[b"X-User"], b"bob")
        outside = let_pass((b"X-Else", b"bob"))
        self.assertEqual(stage.play(outside).request.fields, [])

    def test_room(self) -> None:
        """What there is no room for is empty."""
        many = "".join(f"auth_request_set $v{number} $upstream_http_x;" for number in range(8))
        snippet = many + "".join(f"proxy_set_header X-{number} $v{number};" for number in range(8))
        played = Stage(snippet).play(let_pass((b"X", b"x" * (MAX_VALUES // 5))))
        self.assertEqual(
            sorted(name for name, _ in played.request.fields), [b"X-%d" % one for one in range(5)]
        )


class ReadingTests(SynchronousTestCase):
    """What is read, and what is refused."""

    def test_refused(self) -> None:
        """What it cannot be is told by its reason, and keeps nobody out; what needs its variable is taken away."""
        for text, reason in (
            ("auth_request_set $a;", "takes a variable and a value"),
            ("auth_request_set $status 1;", "sets $status, which has a value of its own"),
            (
                "auth_request_set $a $sent_http_x;",
                "asks for the answer to the client, which is not there yet",
            ),
            ("auth_request_set $a $upstream_cookie_x;", "which is not known here"),
            ("if ($host) { auth_request_set $a $upstream_http_x; }", "stands in an if"),
        ):
            snippet = parse_snippet(text, Place.LOCATION)
            (finding,) = snippet.findings
            self.assertIn(reason, finding.message)
            self.assertEqual((finding.sort, snippet.lacks_guard), (Sort.REFUSED, False), text)
        (_, taken) = parse_snippet(
            "auth_request_set $a $http_; proxy_set_header X-A $a;", Place.LOCATION
        ).findings
        self.assertIn("so that nobody's is sent", taken.message)

    def test_in_a_server(self) -> None:
        """There it changes nothing, as in ingress-nginx, which is noted; ``auth_request`` itself is a guard as before."""
        (finding,) = parse_snippet(TOLD.splitlines()[1], Place.SERVER).findings
        self.assertEqual((finding.directive, finding.sort), ("auth_request_set", Sort.NOTE))
        self.assertTrue(parse_snippet("auth_request /x;", Place.LOCATION).lacks_guard)
