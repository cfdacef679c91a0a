"""What ``$1`` and the others are in snippets: groups of the path of the route, and of expressions that were asked since."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.requests.path_rewrites import PathRewrite, captured_of
from ingress.annotations.requests.rewrite_targets import parse_rewrite_target
from ingress.annotations.snippets import filters
from ingress.annotations.snippets.filters import PathCaptures
from ingress.filters import Facts
from ingress.model.text.path_expressions import Capturing
from tests.annotations.snippets.playing import Stage, on
from tests.fakes.filter_parts import FakeFacts

USERS = "/u/([a-z]+)/(.*)"


def told(stage: Stage, facts: FakeFacts) -> dict[bytes, bytes]:
    """The fields that an endpoint gets."""
    return dict(stage.play(facts).request.fields)


class PathTests(SynchronousTestCase):
    """Groups of a path that is a regular expression."""

    def test_fields(self) -> None:
        """Fields to endpoints and of answers hold what the path captured, decoded, and nothing for a group that there is not."""
        text = 'proxy_set_header X-User "$1:$2:$3"; more_set_headers "X-Rest: $2";'
        stage = Stage(text, path=USERS, is_expression=True)
        played = stage.play(on("/u/ann/a%20b?c"))
        self.assertEqual(dict(played.request.fields), {b"X-User": b"ann:a b:"})
        self.assertEqual(dict(played.answer.fields), {b"X-Rest": b"a b"})
        self.assertEqual(told(stage, on("/u/bob/")), {b"X-User": b"bob::"})

    def test_statements(self) -> None:
        """So do statements, and those of the operator before every path."""
        stage = Stage("return 302 https://new.test/$2?user=$1;", path=USERS, is_expression=True)
        reply = stage.play(on("/u/ann/a%0Db")).reply
        assert reply is not None
        self.assertIn((b"Location", b"https://new.test/a%0Db?user=ann"), reply.fields)
        stage = Stage(
            operators_location="set $user $1; proxy_set_header X $user;", path=USERS, is_expression=True
        )
        self.assertEqual(told(stage, on("/u/ann/")), {b"X": b"ann"})

    def test_expressions_since(self) -> None:
        """An expression that was asked since has the last word: its groups, or none where it did not match, as in nginx."""
        text = 'if ($arg_a ~ "^(x+)$") { set $seen yes; } proxy_set_header X "[$1$2]";'
        stage = Stage(text, path=USERS, is_expression=True)
        for target, shown in (("/u/ann/b?a=xx", b"[xx]"), ("/u/ann/b?a=y", b"[]"), ("/u/ann/b", b"[]")):
            self.assertEqual(told(stage, on(target)), {b"X": shown}, target)
        stage = Stage('rewrite ^/none /x; proxy_set_header X "[$1]";', path=USERS, is_expression=True)
        self.assertEqual(told(stage, on("/u/ann/b")), {b"X": b"[]"})

    def test_expressions_before_a_target(self) -> None:
        """A ``rewrite-target`` looks at the path once more, unless the statements were ended, as in nginx."""
        for statement, shown in (
            ('if ($arg_a ~ "(x)") { set $seen yes; }', b"[ann]"),
            ("rewrite ^/(none) /x;", b"[ann]"),
            ('if ($arg_a ~ "(x)") { break; }', b"[x]"),
            ("rewrite ^/(u) /$1 break;", b"[u]"),
            ("set $seen yes;", b"[ann]"),
        ):
            stage = Stage(
                f'{statement} proxy_set_header X "[$1]";',
                path=USERS,
                is_expression=True,
                further=(PathRewrite(USERS, parse_rewrite_target("/$2")),),
            )
            self.assertEqual(told(stage, on("/u/ann/b?a=x")), {b"X": shown}, statement)

    def test_expressions_before_a_path_without_groups(self) -> None:
        """A path that is an expression has the last word also where it captures nothing, as in nginx; one that is none says nothing."""
        server = 'if ($arg_a ~ "(x)") { set $seen $1; }'
        shown = 'proxy_set_header X "[$1]";'
        for path, is_expression, value in (
            ("/u/.*", True, b"[]"),
            ("/u/ann", True, b"[]"),
            ("/u", False, b"[x]"),
        ):
            stage = Stage(shown, server=server, path=path, is_expression=is_expression)
            self.assertEqual(told(stage, on("/u/ann?a=x")), {b"X": value}, path)
        stage = Stage(
            'if ($arg_a ~ "(x)") { set $seen $1; } proxy_set_header X "[$1$seen]";',
            path="/u/.*",
            is_expression=True,
            further=(PathRewrite("/u/.*", parse_rewrite_target("/new")),),
        )
        self.assertEqual(told(stage, on("/u/ann?a=x")), {b"X": b"[x]"})

    def test_searched_once(self) -> None:
        """The path is searched once, and not again behind the statements: that may take as long as to look for the route."""
        asked = []

        def counted(capturing: Capturing | None, facts: Facts) -> dict[str, bytes] | None:
            asked.append(facts)
            return captured_of(capturing, facts)

        self.patch(filters, "captured_of", counted)
        stage = Stage(
            'if ($arg_a ~ "(x)") { set $seen yes; } proxy_set_header X "[$1]";',
            path=USERS,
            is_expression=True,
            further=(PathRewrite(USERS, parse_rewrite_target("/$2")),),
        )
        self.assertEqual(told(stage, on("/u/ann/b?a=x")), {b"X": b"[ann]"})
        self.assertEqual(len(asked), 1)

    def test_location_of_the_server(self) -> None:
        """In a ``location`` of the server, that one's groups count."""
        server = 'location ~ ^/u/(a)(n) { more_set_headers "X-A: $1$2"; }'
        stage = Stage('more_set_headers "X-B: $1$2";', server=server, path=USERS, is_expression=True)
        self.assertEqual(dict(stage.play(on("/u/ann/b")).answer.fields), {b"X-A": b"an", b"X-B": b"an"})
        self.assertEqual(dict(stage.play(on("/u/bob/b")).answer.fields), {b"X-B": b"bobb"})

    def test_costs_nobody_else(self) -> None:
        """Paths without groups, or that are none, and snippets that name none, look for nothing."""
        asked = 'more_set_headers "X: $1";'
        for stage, looks in (
            (Stage(asked, path=USERS, is_expression=True), True),
            (Stage(asked, path=USERS), False),
            (Stage(asked, path="/u/.*", is_expression=True), False),
            (Stage(asked, path="/u/(?=a)(.*)", is_expression=True), False),
            (Stage(asked, server='if ($host ~ "a") { set $b c; }', path="/u/.*", is_expression=True), True),
            (Stage("", server='if ($host ~ "a") { set $b c; }', path="/u/.*", is_expression=True), False),
            (Stage('more_set_headers "X: $host";', path=USERS, is_expression=True), False),
        ):
            self.assertEqual(any(isinstance(one, PathCaptures) for one in stage.specs()), looks, stage.path)
