"""Filters of rules as they were written: what is wrong with them, and that nothing of that is skipped."""

from __future__ import annotations

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.gateway_filters.mirrors import BackendMirror
from ingress.gateway_filters.redirects import RouteRedirect
from ingress.gateway_filters.refusals import BAD_FILTER
from ingress.gateway_filters.rewrites import RouteRewrite
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference
from ingress.translate.readers.gateway.objects.names import GRPC_ROUTE
from ingress.translate.readers.gateway.objects.routes import (
    CORS,
    HeaderEdits,
    PathEdit,
    PathMatch,
    RequestMirror,
    RequestRedirect,
    UnreadFilter,
    URLRewrite,
)
from ingress.translate.readers.gateway.routes.filter_reading import NO_FILTERS, read_filters
from tests.gateway_filters.reading_case import (
    OWNER,
    OfAnswers,
    Written,
    backend,
    entries,
    read,
    resolve,
    specs,
)

SET = HeaderEdits(put=(("X-A", "a"),))
STRIP = PathEdit("ReplacePrefixMatch", "/")
GRPC = Owner(GRPC_ROUTE, OWNER.key, OWNER.created)


class RefusedTests(SynchronousTestCase):
    """What cannot be honored refuses the requests of its rule."""

    def refused(self, *filters: Written, at: int = 0, reason: Reason = Reason.UNSUPPORTED_VALUE) -> str:
        """Return what is told of the filter *at* this place."""
        found = read(*filters)
        (problem,) = found.problems
        self.assertEqual((problem.reason, problem.field), (reason, f"spec.rules[0].filters[{at}]"))
        self.assertEqual((found.specs(), found.beside, found.answers), ((BAD_FILTER,), (), True))
        self.assertTrue(problem.message.isprintable())
        self.assertLess(len(problem.message), 500)
        return problem.message

    def test_unknown(self) -> None:
        """A filter of another type is not skipped."""
        self.assertIn("500", self.refused(UnreadFilter("ExternalAuth")))
        self.assertIn("'x\\n'", self.refused(SET, UnreadFilter("x\n"), at=1))
        self.refused(UnreadFilter("a" * 300_000))
        self.refused(UnreadFilter(""))
        self.refused(UnreadFilter("CORS"))
        self.refused(UnreadFilter("ExtensionRef"), reason=Reason.INVALID_KIND)

    def test_contradicting(self) -> None:
        """A redirect and a rewrite exclude each other, and most filters may stand once."""
        both = {"reason": Reason.INCOMPATIBLE_FILTERS}
        for pair in ((RequestRedirect(), URLRewrite()), (URLRewrite(), RequestRedirect())):
            self.assertIn("exclude", self.refused(*pair, at=1, **both))
        for one in (SET, OfAnswers(SET), RequestRedirect(), URLRewrite(), CORS(origins=("*",))):
            self.assertIn("once", self.refused(one, RequestMirror(backend()), one, at=2, **both))

    def test_values(self) -> None:
        """Values that the API does not have are refused."""
        for written in (
            HeaderEdits(put=(("Host", "a"),)),
            RequestRedirect(scheme="ftp"),
            RequestRedirect(scheme="http://a.test/\r\n"),
            RequestRedirect(status=200),
            RequestRedirect(status=304),
            RequestRedirect(port=65536),
            RequestRedirect(port=-1),
            RequestRedirect(hostname="a.test:80"),
            RequestRedirect(hostname="*.a.test"),
            RequestRedirect(hostname="a.test\r\nX: y"),
            RequestRedirect(hostname="\u00e4.test"),
            RequestRedirect(hostname="a" * 300_000),
            RequestRedirect(path=PathEdit("Replace", "/a")),
            RequestRedirect(path=PathEdit("ReplaceFullPath", "a")),
            URLRewrite(hostname="user@a.test"),
            URLRewrite(path=PathEdit("ReplacePrefixMatch", "/..")),
            URLRewrite(path=PathEdit("ReplaceFullPath", "/a\r\nX: y")),
            URLRewrite(path=PathEdit("ReplaceFullPath", "")),
            RequestMirror(backend(), 2, 1),
            RequestMirror(backend(), -1, 1),
            RequestMirror(backend(), 0, 0),
            CORS(origins=("https://a.test/",)),
            CORS(origins=("null",)),
            CORS(origins=("https://a.test\r\nX: y",)),
            CORS(origins=("https://a.*.test",)),
            CORS(origins=tuple(f"https://{number}.test" for number in range(65))),
            CORS(methods=("GET\r\n",)),
            CORS(headers=("a b",)),
            CORS(exposed=tuple(f"x{number}" for number in range(65))),
            CORS(max_age=0),
        ):
            self.refused(written)

    def test_many(self) -> None:
        """There are no more filters than the API allows."""
        self.refused(*[RequestMirror(backend())] * 17, at=16)
        self.assertEqual(len(read(*[RequestMirror(backend())] * 16).specs()), 16)

    def test_not_for_prefixes(self) -> None:
        """A prefix can be replaced where all matches have one."""
        strip = URLRewrite(path=STRIP)
        for kind in ("Exact", "RegularExpression"):
            found = read(strip, paths=(PathMatch(), PathMatch(kind, "/a")))
            (problem,) = found.problems
            self.assertEqual(problem.reason, Reason.UNSUPPORTED_VALUE)
            self.assertIn("PathPrefix", problem.message)
            self.assertEqual(found.specs(PathMatch(kind, "/a")), (BAD_FILTER,))

    def test_of_grpc(self) -> None:
        """A GRPCRoute has the filters of its own API and no others."""
        for written in (RequestRedirect(), URLRewrite(), CORS(origins=("*",))):
            found = read(written, owner=GRPC, paths=())
            self.assertEqual(found.specs(), (BAD_FILTER,))
            self.assertEqual([one.kind for one in found.problems], [GRPC_ROUTE])
        self.assertEqual(read(SET, OfAnswers(SET), RequestMirror(backend()), owner=GRPC).problems, ())


class SpecTests(SynchronousTestCase):
    """What filters become that are fine."""

    def test_none(self) -> None:
        """Most rules have none, and share what they have."""
        self.assertIs(read(), NO_FILTERS)
        self.assertEqual(NO_FILTERS.specs(PathMatch()), ())

    def test_by_path(self) -> None:
        """A prefix is replaced by the same text, whatever the match is; other filters are the same for all paths."""
        a, b = PathMatch("PathPrefix", "/a"), PathMatch("PathPrefix", "/b%20c/")
        found = read(URLRewrite(path=STRIP), SET, paths=(a, b))
        (of_a, same), (of_b, edits) = found.specs(a), found.specs(b)
        assert isinstance(of_a, RouteRewrite) and isinstance(of_b, RouteRewrite)
        assert of_a.path is not None and of_b.path is not None
        self.assertEqual((of_a.path.prefix, of_b.path.prefix), ((b"a",), (b"b c",)))
        self.assertEqual(same, edits)

    def test_shared(self) -> None:
        """Rules that ask for the same have the very same specs, so that their requests share filters."""
        one = specs(URLRewrite(path=STRIP), SET, prefix="/a")
        self.assertIs(one, specs(URLRewrite(path=STRIP), SET, prefix="/a"))

    def test_answers(self) -> None:
        """A redirect needs no backend."""
        self.assertTrue(read(RequestRedirect(), SET).answers)
        self.assertFalse(read(URLRewrite(), SET).answers)
        (spec,) = read(RequestRedirect("https", "a.test", None, 8443, 308)).specs()
        self.assertEqual(spec, RouteRedirect(b"https", b"a.test", 8443, None, 308))

    def test_mirrors(self) -> None:
        """A mirror names its backend and has the edits before it; one that cannot be resolved is left out and told."""
        after = HeaderEdits(put=(("X-B", "b"),))
        found = read(
            SET, RequestMirror(backend("one"), 1, 3), RequestMirror(backend("missing")), OfAnswers(after)
        )
        (problem,) = found.problems
        self.assertEqual(
            (problem.reason, problem.field),
            (Reason.SERVICE_NOT_FOUND, "spec.rules[0].filters[2].requestMirror.backendRef"),
        )
        one = BackendReference("demo", "one", 8080)
        self.assertEqual(found.beside, (("spec.rules[0].filters[1].requestMirror.backendRef", one),))
        _, mirror, _ = found.specs()
        assert isinstance(mirror, BackendMirror)
        self.assertEqual((mirror.backend, mirror.numerator, mirror.denominator), (one, 1, 3))
        self.assertEqual(mirror.edits.put, ((b"X-A", b"a"),))

    def test_mirrors_of_none(self) -> None:
        """A mirror of no requests is none, but has to be resolved."""
        found = read(RequestMirror(backend(), 0, 100))
        self.assertEqual((found.specs(), found.beside, found.problems), ((), (), ()))
        self.assertEqual(len(read(RequestMirror(backend("missing"), 0, 100)).problems), 1)

    def test_described(self) -> None:
        """Each says in a sentence what it does."""
        for written in (
            SET,
            OfAnswers(SET),
            RequestRedirect("https", "a.test", STRIP, 8443, 308),
            RequestRedirect(),
            URLRewrite(),
            URLRewrite("a.test", STRIP),
            RequestMirror(backend()),
            RequestMirror(backend(), 1, 3),
            CORS(origins=("https://*.a.test", "http://b.test:81")),
        ):
            for spec in specs(written, prefix="/in"):
                self.assertTrue(spec.describe().isprintable())

    def test_places(self) -> None:
        """Problems of a backend's filters name the place of these."""
        listed = [
            evolve(one, field=f"spec.rules[0].backendRefs[1].filters[{at}]")
            for at, one in enumerate(entries(UnreadFilter("X")))
        ]
        (problem,) = read_filters(listed, OWNER, resolve).problems
        self.assertEqual(problem.field, "spec.rules[0].backendRefs[1].filters[0]")
