"""Options from the command line and from a second source."""

import contextlib
from operator import attrgetter
from typing import Any

from hypothesis import given as with_any
from hypothesis import settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.address_ranges import range_filters
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.route_facts import NO_FACTS
from ingress.annotations.hosts.transport_security import StrictTransport
from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.balancing import Algorithm
from ingress.options.merging import Merged, OptionTexts, merge
from ingress.options.option import DEFAULTS, Option, settings_with
from ingress.options.table import OPTIONS, SPELLINGS
from ingress.tap import Options
from tests.operator_settings import operator_settings
from tests.properties import examples


def said(**texts: str) -> OptionTexts:
    """A ConfigMap that says so; names have underscores here, and 404-page is called page."""
    named = {"404-page" if name == "page" else name.replace("_", "-"): text for name, text in texts.items()}
    return OptionTexts(named, "ConfigMap", "ingress", "options", "data")


def merged(*arguments: str, **texts: str) -> Merged:
    """What a command line and a ConfigMap come to, in a process that runs."""
    options = Options()
    options.parseOptions(arguments)
    return merge(options.settings(), options.given, said(**texts), options.settings())


class MergeTests(SynchronousTestCase):
    """``merge``."""

    def told(self, found: Merged) -> list[tuple[Reason, str]]:
        """Reason and field of each problem."""
        return [(problem.reason, problem.field) for problem in found.problems]

    def test_nothing_said(self) -> None:
        """Without a second source, the command line is all there is."""
        found = merged("--send-timeout=7")
        self.assertEqual((found.settings.serving.limits.send_seconds, found.problems), (7.0, ()))

    def test_each_sort(self) -> None:
        """Numbers, flags, lists, words and pages are texts; blanks around them mean nothing."""
        found = merged(
            proxy_read_timeout=" 7\n",
            force_ssl_redirect="true",
            no_ssl_redirect="false",
            trusted_proxies="10.0.0.0/8, 192.0.2.1\n2001:db8::/32",
            load_balance="ewma",
            page="<p>none</p>\n",
            hsts_max_age="60",
        )
        self.assertEqual(found.problems, ())
        serving, translate = found.settings.serving, found.settings.translate
        self.assertEqual(serving.limits.upstream.read_seconds, 7.0)
        self.assertEqual(translate.operators, operator_settings((REDIRECTS, RedirectSettings(True, True))))
        self.assertEqual(serving.trusted_proxies, ("10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"))
        self.assertEqual(serving.load_balance, Algorithm.EWMA)
        self.assertEqual(serving.not_found_page, b"<p>none</p>\n")
        self.assertEqual(translate.strict_transport, StrictTransport(60))
        self.assertEqual(
            found.in_force,
            ("404-page", "force-ssl-redirect", "hsts-max-age", "load-balance", "proxy-read-timeout", "trusted-proxies"),
        )  # fmt: skip

    def test_command_line_counts(self) -> None:
        """What the command line says stays, and saying something else is told."""
        found = merged("--send-timeout=7", send_timeout="8", keep_alive_timeout="9")
        limits = found.settings.serving.limits
        self.assertEqual((limits.send_seconds, limits.keep_alive_seconds), (7.0, 9.0))
        self.assertEqual(self.told(found), [(Reason.OPTION_OVERRIDDEN, "data.send-timeout")])
        found = merged("--force-ssl-redirect", force_ssl_redirect="false")
        self.assertEqual(
            found.settings.translate.operators, operator_settings((REDIRECTS, RedirectSettings(True, True)))
        )
        self.assertEqual(self.told(found), [(Reason.OPTION_OVERRIDDEN, "data.force-ssl-redirect")])

    def test_both_say_the_same(self) -> None:
        """To say what the command line says is no problem."""
        self.assertEqual(merged("--send-timeout=7", send_timeout="7.0").problems, ())
        self.assertEqual(merged("--no-hsts", no_hsts="true").problems, ())

    def test_whole_and_part(self) -> None:
        """An option of the command line is not undone by another one that decides more."""
        found = merged("--hsts-max-age=60", no_hsts="true")
        self.assertEqual(found.settings.translate.strict_transport, StrictTransport(60))
        self.assertEqual(self.told(found), [(Reason.OPTION_OVERRIDDEN, "data.no-hsts")])

    def test_decided_at_the_start(self) -> None:
        """What needs another start is told, and stays as it is."""
        found = merged(http="tcp:8080", tls_min_version="1.3", kubeconfig="/etc/shadow", no_epoll="true")
        self.assertEqual(found.settings, DEFAULTS)
        self.assertEqual({problem.reason for problem in found.problems}, {Reason.OPTION_AT_START})
        self.assertEqual(
            [problem.field for problem in found.problems],
            ["data.http", "data.kubeconfig", "data.no-epoll", "data.tls-min-version"],
        )
        self.assertIn("--tls-min-version", found.problems[-1].message)

    def test_wrong_values(self) -> None:
        """A value that is none is told, and the others count."""
        found = merged(
            "--proxy-read-timeout=7", send_timeout="soon", force_ssl_redirect="yes", slow_start="3"
        )
        self.assertEqual(found.settings.serving.limits.send_seconds, DEFAULTS.serving.limits.send_seconds)
        self.assertEqual(found.settings.serving.slow_start_seconds, 3.0)
        told = sorted(str(problem) for problem in found.problems)
        self.assertEqual(
            told,
            [
                "ConfigMap ingress/options: data.force-ssl-redirect: "
                '"yes": neither true nor false; it has no effect (InvalidOption)',
                "ConfigMap ingress/options: data.send-timeout: "
                '"soon": not a number of seconds, more than 0 and at most 31536000; it has no effect (InvalidOption)',
            ],
        )

    def test_unknown_names(self) -> None:
        """An option that there is not is told, with the one that is meant, perhaps."""
        (problem,) = merged(send_timeuot="5").problems
        self.assertEqual(problem.reason, Reason.INVALID_OPTION)
        self.assertIn("perhaps send-timeout is meant", problem.message)
        self.assertEqual(len(merged(zzz="", **{"": "5"}).problems), 2)

    def test_files_stay_unread(self) -> None:
        """A page is said, and not where it lies: who says options is not to have files shown to everybody."""
        self.assertEqual(merged(page="/etc/passwd").settings.serving.not_found_page, b"/etc/passwd")
        (problem,) = merged(page="x" * (1024 * 1024 + 1)).problems
        self.assertLess(len(problem.message), 200)

    def test_nothing_between_commas(self) -> None:
        """An empty list says nothing."""
        found = merged("--trusted-proxies=10.0.0.0/8", trusted_proxies=" , ")
        self.assertEqual(found.settings.serving.trusted_proxies, ("10.0.0.0/8",))
        self.assertEqual(merged(trusted_proxies="").settings, DEFAULTS)

    def test_problems_are_the_operators(self) -> None:
        """No tenant is told of them."""
        problems = merged("--send-timeout=7", send_timeout="8", http="tcp:1", bogus="1").problems
        self.assertEqual([problem.is_the_operators for problem in problems], [True] * 3)

    def test_guard_that_cannot_be_read(self) -> None:
        """A list of addresses that cannot be read is a problem, decides nothing, and leaves nothing open."""
        found = merged(denylist_source_range="10.0.0.0/8,x")
        self.assertEqual(found.in_force, ())
        (problem,) = found.problems
        self.assertIn("what it would guard is closed", problem.message)
        settings = attrgetter("translate.operators.address_ranges")(found.settings)
        self.assertEqual(range_filters(settings, NO_FACTS), (GuardMissing(),))

    def test_flag_that_guards(self) -> None:
        """It guards as long as it cannot be read, and does not where it says that it should not."""
        for text, serves in (("false", True), ("true", False), ("perhaps", False)):
            found = merged(allow_external_name="true", disable_svc_external_name=text)
            self.assertEqual(found.settings.translate.serves_external_names, serves, text)
            self.assertEqual(bool(found.problems), text == "perhaps", text)
        self.assertIn("what it would guard is closed", found.problems[0].message)
        found = merged("--disable-svc-external-name", allow_external_name="true")
        self.assertFalse(found.settings.translate.serves_external_names)

    @with_any(
        st.dictionaries(
            st.sampled_from([*SPELLINGS, "bogus", "", "http.", "\n"]),
            st.sampled_from(
                [
                    "true",
                    "1",
                    "0",
                    "-1",
                    "10.0.0.0/8",
                    "٣",
                    "\ud800",
                    "nan",
                    ",",
                    "a/b:c",
                    "ewma",
                    "",
                    "x" * 2_000_000,
                ]
            ),
            max_size=6,
        )
    )
    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    def test_total(self, texts: dict[str, str]) -> None:
        """Whatever is said, there is a result: an option is decided, a problem, or left alone; those of the start stay."""
        found = merge(DEFAULTS, (), OptionTexts(texts), DEFAULTS)
        self.assertLessEqual(len(found.problems) + len(found.in_force), len(texts))
        for option in OPTIONS.values():
            if not option.running:
                self.assertEqual(attrgetter(option.to)(found.settings), option.usual, option.name)
        self.assertEqual(list(found.problems), sorted(found.problems))


# For each option of the families of annotations, one of these is a value that is not its default.
SOME_VALUES = (
    "true",
    "false",
    "on",
    "off",
    "3",
    "5",
    "429",
    "307",
    "10.0.0.0/8",
    "http_502",
    "$request_uri",
    "404",
    "/a /b",
    "/a",
    "shop/fields",
    "http://a.test/",
    "POST",
    "proxy_set_header X-A b;",
    "/public",
    "expires off;",
)


class RunningRowTests(SynchronousTestCase):
    """Which rows may change while the process runs."""

    def test_way(self) -> None:
        """What may change is of translation or of the proxy, which get it with the snapshot."""
        running = [option for option in OPTIONS.values() if option.running]
        self.assertGreater(len(running), 25)
        for option in running:
            self.assertIn(option.to.partition(".")[0], ("translate", "serving"), option.name)

    def test_no_contradictions(self) -> None:
        """What excludes or needs others is decided at the start, where that is told."""
        for option in OPTIONS.values():
            if option.excludes or option.needs:
                self.assertFalse(option.running, option.name)

    def test_no_files(self) -> None:
        """No option that may change reads a file that its text names."""
        for option in OPTIONS.values():
            if option.running and option.value in ("FILE", "PATH"):
                self.assertIsNotNone(option.read_content, option.name)

    def is_other(self, option: Option, text: str) -> bool:
        """Whether *text* is taken, and means something else than the default."""
        assert option.read is not None
        with contextlib.suppress(ValueError):
            return bool(option.read(text) != option.usual)
        return False

    def test_each(self) -> None:
        """Every option that may change is taken from a second source as from the command line."""
        values: dict[str, Any] = {
            "CIDR": "10.0.0.0/8", "SECONDS": "3", "COUNT": "7", "PERCENT": "3", "BYTES": "3", "SIZE": "8k", "ALGORITHM": "ewma", "FILE": "/dev/null",
            "WHICH": "none", "NAME": "CF-Connecting-IP", "BOOLEAN": "false", "RISK": "Low", "LIST": "ECDHE-RSA-AES128-GCM-SHA256", "FORMAT": "$status", "TARGET": "/healthz", "WORDS": "lua", "LEVEL": "warn", "SHARE": "0.5", "WHERE": "syslog:/dev/log",
            "URL": "http://a.test", "DIRECTIVES": "SecRuleEngine On", "RATIO": "0.5", "TEXT": "$host", "NAME=VALUE": "a=b",
        }  # fmt: skip
        for option in OPTIONS.values():
            if not option.running:
                continue
            text = values.get(option.value, "a/b") if option.value else "true"
            if option.value == "BOOLEAN":
                text = str(not option.usual).lower()
            if option.value == "VALUE":
                text = next(one for one in SOME_VALUES if self.is_other(option, one))
            found = merge(DEFAULTS, (), OptionTexts({option.name: text}))
            self.assertEqual((found.problems, found.in_force), ((), (option.name,)))
            read = option.read_content or option.read
            value = option.sets if read is None else option.joined([read(text)])
            self.assertEqual(found.settings, settings_with(DEFAULTS, {option: value}))
            self.assertNotEqual(found.settings, DEFAULTS)
