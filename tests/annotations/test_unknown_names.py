"""What is told of names that mean nothing."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES, AnnotationReader
from ingress.annotations.unknown_names import OF_INGRESS_NGINX, WISHES, told_of
from ingress.model.cluster.problems import Problem, Reason
from tests.fakes.counting import calls
from tests.translate.tls.test_client_authentication import PREFIX, ingress

KNOWN = OF_INGRESS_NGINX | {name for family in FAMILIES for name in family.annotations}


def problems(**written: str) -> tuple[Problem, ...]:
    """Read the annotations of one Ingress; return what is told."""
    return AnnotationReader(PREFIX).read(ingress("a", "/", **written))[1]


class UnknownNamesTests(SynchronousTestCase):
    """Names below the prefix that ingress-nginx has no annotation of."""

    def test_one_problem_for_one_wish(self) -> None:
        """Names that mean one thing are told together, with what does it; the value does not matter."""
        (problem,) = problems(rate_limit="100", rate_limit_window="1m", rate_limit_burst="x")
        self.assertEqual(problem.reason, Reason.UNKNOWN_ANNOTATION)
        self.assertEqual(problem.field, f"metadata.annotations[{PREFIX}/rate-limit]")
        self.assertTrue(problem.message.startswith("rate-limit, rate-limit-burst, rate-limit-window: "))
        self.assertIn("limit-rps", problem.message)

    def test_several_wishes(self) -> None:
        """Each wish is told by itself."""
        found = problems(websocket_services="web", ssl_protocols="TLSv1.2", client_max_body_size="10m")
        self.assertEqual(len(found), 3)
        told = " ".join(problem.message for problem in found)
        for meant in ("WebSockets pass", "proxy-body-size", "--tls-min-version"):
            self.assertIn(meant, told)

    def test_misspelt(self) -> None:
        """A name that is nearly one is told with that one; underscores and capitals do not hide it."""
        for wrong, right in (
            ("proxy_body_size", "proxy-body-size"),
            ("enable-corss", "enable-cors"),
            ("limit-rpss", "limit-rps"),
            ("Auth-Url", "auth-url"),
            ("ENABLE-CORS", "enable-cors"),
            ("canary-header", "canary-by-header"),
        ):
            (found,) = told_of([wrong], KNOWN)
            self.assertIn(f"perhaps {right} is meant", found.message)
            self.assertEqual(found.meant, right)

    def test_guess(self) -> None:
        """What has less in common is asked about, and nothing is written for it."""
        for wrong, right in (
            ("proxy-pass-headers", "auth-proxy-set-headers"),
            ("session-cookie-ttl", "session-cookie-path"),
        ):
            (found,) = told_of([wrong], KNOWN)
            self.assertIn(f"perhaps {right} is meant", found.message)
            self.assertEqual(found.meant, "")

    def test_nothing_like_it(self) -> None:
        """A name like no other is told to be unknown, and nothing is guessed."""
        (found,) = told_of(["frobnicate"], KNOWN)
        self.assertEqual(found.message, "ingress-nginx has no annotation of this name")

    def test_dropped(self) -> None:
        """What ingress-nginx had once is told so."""
        for name in (
            "global-rate-limit",
            "add-base-url",
            "grpc-backend",
            "enable-influxdb",
            "http2-push-preload",
        ):
            (found,) = told_of([name], KNOWN)
            self.assertIn("does not have it any more", found.message)

    def test_wishes_are_about_unknown_names(self) -> None:
        """No wish takes a name that is an annotation, and no name is in two wishes."""
        names = [name for wish in WISHES for name in wish.names]
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertEqual(KNOWN.intersection(names), set())

    def test_what_wishes_advise_exists(self) -> None:
        """The annotations that a wish advises exist: each word with a hyphen is an annotation or something else that is known."""
        others = {
            "set-headers",
            "by-hand",
            "use-gzip",
            "enable-brotli",
            "log-format-upstream",
            "proxy-set-headers",
        }
        others |= {"cert-manager", "ssl-protocols", "enable-underscores-in-headers"}
        for wish in WISHES:
            for word in wish.has.replace(",", " ").replace(":", " ").replace(";", " ").split():
                if (
                    "-" in word
                    and word.islower()
                    and not word.startswith("-")
                    and "/" not in word
                    and word.isascii()
                ):
                    self.assertIn(word, KNOWN | others, wish.has)

    def test_thousands_of_names(self) -> None:
        """Ten thousand names are told in nine messages and as few comparisons with all that there are, and none is left out."""
        compared = 0

        class Counting(frozenset[str]):
            def __iter__(self):  # type: ignore[no-untyped-def]
                nonlocal compared
                compared += 1
                return super().__iter__()

        names = [f"name-{number}" for number in range(10_000)]
        found = list(told_of(names, Counting(KNOWN)))
        self.assertEqual([name for some in found for name in some.names], names)
        self.assertEqual(len(found), 9)
        self.assertEqual(found[-1].message, "ingress-nginx has no annotations of these names")
        self.assertLess(compared, 10)

    def test_thousands_on_an_ingress(self) -> None:
        """Each name more on an Ingress is a few calls, though its message shows the first ones alone."""
        reader = AnnotationReader(PREFIX)

        def cost(count: int) -> int:
            one = ingress("a", "/", **{f"name-{number}": "x" for number in range(count)})
            # What the first names are like is remembered.
            reader.read(one)
            return calls(lambda: reader.read(one))

        few, many = cost(1000), cost(2000)
        self.assertLess((many - few) / 1000, 20)

    def test_honored_names_are_of_ingress_nginx(self) -> None:
        """What is honored is an annotation of ingress-nginx, or one of few that it had, or that are ours."""
        ours = {"secure-backends", "filters"}
        honored = {name for family in FAMILIES for name in family.annotations}
        self.assertEqual(honored - OF_INGRESS_NGINX - ours, set())
