"""What the arguments of an ingress-nginx come to."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.ingress_nginx.taken_arguments import (
    REFUSED,
    UNKNOWN,
    Taken,
    counting,
    judged_by,
    taken_arguments,
)
from ingress.options.ingress_nginx_arguments import Becomes
from ingress.options.option import DEFAULTS
from tests.ctl.inputs.controllers import workload


def taken(*args: str) -> tuple[Taken, ...]:
    """What *args* come to."""
    return taken_arguments(workload(*args))


def options(*args: str, said: tuple[str, ...] = ()) -> list[str]:
    """The options by which objects are judged."""
    return list(judged_by(taken(*args), said))


class TakenTests(SynchronousTestCase):
    """Each argument by itself."""

    def only(self, *args: str) -> Taken:
        """What the one argument in *args* comes to."""
        (found,) = taken(*args)
        return found

    def check(self, arg: str, becomes: Any, option: str = "", *, is_lost: bool = False) -> Taken:
        """That *arg* becomes what it should."""
        found = self.only(arg)
        word = becomes.value if isinstance(becomes, Becomes) else becomes
        self.assertEqual((found.becomes, found.option, found.is_lost), (word, option, is_lost), arg)
        return found

    def test_the_same_and_other_options(self) -> None:
        """With their values, which are turned where that is needed."""
        self.check("--annotations-prefix=example.com", Becomes.SAME, "annotations-prefix=example.com")
        self.check(
            "--default-ssl-certificate=$(POD_NAMESPACE)/all",
            Becomes.SAME,
            "default-ssl-certificate=ingress-nginx/all",
        )
        self.check("--watch-namespace=shop", Becomes.OTHER, "namespace=shop")
        self.check("--shutdown-grace-period=60", Becomes.OTHER, "shutdown-delay=60")
        self.check("--election-ttl=1m", Becomes.SAME, "election-ttl=60")
        self.check("--http-port=8080", Becomes.OTHER, "http=tcp:8080")
        self.check("--configmap=a/b", Becomes.OWN, "configmap=a/b")

    def test_flags(self) -> None:
        """What is on is a flag here, and what is off is nothing; false as a word of its own is neither."""
        self.check("--enable-ssl-passthrough", Becomes.SAME, "enable-ssl-passthrough")
        self.check("--enable-ssl-passthrough=T", Becomes.SAME, "enable-ssl-passthrough")
        self.check("--watch-ingress-without-class=true", Becomes.OTHER, "watch-without-class")
        self.check("--watch-ingress-without-class=false", Becomes.NEEDLESS)
        found = self.only("--enable-ssl-passthrough", "false")
        self.assertEqual(found.option, "enable-ssl-passthrough")
        self.assertIn("false behind it stands by itself", found.why)

    def test_values_that_need_nothing(self) -> None:
        """They are so in any case, or by default in either controller; an empty text, as templates leave it, is none."""
        for arg in (
            "--http-port=80",
            "--v=2",
            "--update-status",
            "--enable-metrics=true",
            "--watch-namespace=",
            "--default-ssl-certificate=",
            "--configmap=",
        ):
            self.check(arg, Becomes.NEEDLESS)
        self.check("--ingress-class=", Becomes.NOT_HONORED, is_lost=True)

    def test_what_is_not_honored(self) -> None:
        """It is lost, and why is said; what is not needed is not."""
        self.assertIn(
            "whole chain", self.check("--enable-ssl-chain-completion", Becomes.NOT_HONORED, is_lost=True).why
        )
        self.check("--sync-period=10m", Becomes.NEEDLESS)
        self.check("--update-status=false", Becomes.OTHER)

    def test_what_ingress_nginx_refuses(self) -> None:
        """A name that there is not, with the one that is meant; a value of another type; a name behind one dash."""
        found = self.check("--publish-servce=a/b", UNKNOWN, is_lost=True)
        self.assertIn("did you mean publish-service?", found.why)
        self.assertIn("no whole number", self.check("--http-port=http", REFUSED, is_lost=True).why)
        found = self.check("-configmap=a/b", REFUSED, is_lost=True)
        self.assertEqual((found.given, "two" in found.why), ("-configmap", True))

    def test_what_an_option_here_does_not_take(self) -> None:
        """It is told with the reason that the option has, and is not taken."""
        found = self.check("--default-ssl-certificate=all", Becomes.NOT_HONORED, is_lost=True)
        self.assertRegex(found.why, "^--default-ssl-certificate: ")
        self.check("--election-ttl=300ms", Becomes.NOT_HONORED, is_lost=True)

    def test_what_cannot_stand_beside_another(self) -> None:
        """The first counts, as either controller refuses both."""
        first, second = taken("--watch-namespace=shop", "--watch-namespace-selector=team=a")
        self.assertEqual((first.option, second.option, second.is_lost), ("namespace=shop", "", True))
        self.assertIn("cannot stand beside --namespace", second.why)

    def test_variables_that_are_not_known(self) -> None:
        """What they stand for has to be written out; where nothing comes of an argument it does not matter."""
        found = self.check("--publish-status-address=$(NODE_IP)", Becomes.NOT_HONORED, is_lost=True)
        self.assertIn("$(NODE_IP)", found.why)
        self.check("--validating-webhook-key=$(KEY)", Becomes.NEEDLESS)

    def test_what_may_be_secret_is_not_repeated(self) -> None:
        """A license key, what a mistyped name says, and what a URL says of a user."""
        for arg in (
            "--maxmind-license-key=hush",
            "--maxmind-licence-key=hush",
            "--apiserver-host=https://a:hush@b",
        ):
            self.assertNotIn("hush", repr(self.only(arg)), arg)

    def test_the_last_one_of_a_name_counts(self) -> None:
        """As in Go, and it is told once."""
        self.assertEqual(
            options("--ingress-class=a", "--v=9", "--ingress-class=b"), ["ingress-class=b", "log-level=debug"]
        )


class JudgingTests(SynchronousTestCase):
    """What counts of it for the objects."""

    def test_all_that_is_an_option(self) -> None:
        """But for where objects come from and where it listens, and for what was said otherwise."""
        where = (
            "--kubeconfig=/not/here",
            "--apiserver-host=https://a",
            "--http-port=8080",
            "--healthz-port=8081",
        )
        self.assertEqual([one.is_lost for one in taken(*where)], [False] * len(where))
        args = ("--ingress-class=edge", *where, "--enable-ssl-passthrough")
        self.assertEqual(options(*args), ["ingress-class=edge", "enable-ssl-passthrough"])
        self.assertEqual(options(*args, said=("ingress-class",)), ["enable-ssl-passthrough"])

    def test_what_excludes_what_was_said(self) -> None:
        """Who names namespaces has these judged, and whoever names labels those."""
        labels = "watch-namespace-selector"
        self.assertEqual(options(f"--{labels}=team=a"), [f"{labels}=team=a"])
        self.assertEqual(options(f"--{labels}=team=a", said=("namespace",)), [])
        self.assertEqual(options("--watch-namespace=shop", said=(labels,)), [])

    def test_options_of_the_same_name(self) -> None:
        """They are flags, and on if they are said so."""
        for name in (
            "disable-catch-all",
            "disable-svc-external-name",
            "enable-topology-aware-routing",
            "ingress-class-by-name",
        ):
            self.assertEqual(options(f"--{name}"), [name])
            self.assertEqual(options(f"--{name}=false"), [])

    def test_addresses_of_nodes(self) -> None:
        """Nothing is judged by which of them are shown, and it is told as the option that it is."""
        flag = "--report-node-internal-ip-address"
        self.assertEqual(options(flag), [])
        (taken,) = taken_arguments(workload(flag))
        self.assertEqual((taken.becomes, taken.option, taken.is_lost), (Becomes.SAME.value, flag[2:], False))

    def test_of_several_one_comes_first(self) -> None:
        """The usual class, or the one that was asked for; else the first."""
        inner = workload("--controller-class=example.com/inner", "--ingress-class=inner", name="inner")
        outer, third = workload(name="outer"), workload("--ingress-class=third", name="third")
        some = (inner, outer, third)

        def first(*texts: str) -> str:
            given = options_from(texts)
            return counting(some, given.settings, given.names)[0].key.name

        self.assertEqual(first(), "outer")
        self.assertEqual(first("controller-class=example.com/inner"), "inner")
        self.assertEqual(first("ingress-class=third"), "third")
        self.assertEqual(first("ingress-class=none"), "inner")
        self.assertEqual(counting((), DEFAULTS), ())
