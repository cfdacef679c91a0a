"""The operator's ConfigMap, followed: from objects to options, and to what clients see."""

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Batch, ConfigMap, Kind, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise
from ingress.options.config_map_source import config_map_source
from ingress.options.followed_config_map import REST_SECONDS
from ingress.options.merging import OptionTexts
from tests.options.test_running import FORCE, GET, RunningOptionsCase

KEY = ObjectKey("ingress", "nginx-configuration")
ID = (Kind.CONFIG_MAP, KEY)


def config_map(**content: str) -> Projection:
    """A ConfigMap; keys have underscores here."""
    return Projection(ConfigMap(KEY, {key.replace("_", "-"): text for key, text in content.items()}))


class Keeping:
    """A sink, and what is told of options, in order."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def changed(self, batch: Batch) -> None:
        self.told.append(batch)

    def synced(self) -> None:
        self.told.append("synced")

    def say(self, texts: OptionTexts) -> None:
        self.told.append(texts)


class ConfigMapSourceTests(SynchronousTestCase):
    """``config_map_source``."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.keeping = Keeping()
        self.source = config_map_source(KEY, self.keeping, self.clock)
        self.source.start(self.keeping.say)

    def said(self) -> list[OptionTexts]:
        """What options were told since the last look."""
        told, self.keeping.told = self.keeping.told, []
        return [one for one in told if isinstance(one, OptionTexts)]

    def test_before_the_first_objects(self) -> None:
        """What it says is known before the objects are complete, however early or late it comes; all objects pass."""
        other = (Kind.SERVICE, KEY)
        self.source.changed({ID: config_map(proxy_body_size="8m"), other: None})
        self.source.synced()
        batch, texts, synced = self.keeping.told
        self.assertEqual((set(batch), synced), ({ID, other}, "synced"))
        self.assertEqual(texts.texts, {"proxy-body-size": "8m"})

    def test_very_many_keys(self) -> None:
        """Once objects are served, tens of thousands of keys that mean nothing are looked through in turns of the reactor."""
        many = config_map(proxy_body_size="8m", **{f"k{number}": "" for number in range(20_000)})
        self.source.changed({ID: config_map(proxy_body_size="4m")})
        self.source.synced()
        self.said()
        self.clock.advance(REST_SECONDS)
        self.source.changed({ID: many})
        self.assertEqual(self.said(), [])
        self.clock.advance(0)
        (texts,) = self.said()
        self.assertEqual((texts.texts, len(texts.problems)), ({"proxy-body-size": "8m"}, 21))

    def test_changed_while_it_is_read(self) -> None:
        """What comes meanwhile counts, and what was being read does not; nor does it once nothing is to be told any more."""
        many = config_map(proxy_body_size="8m", **{f"k{number}": "" for number in range(2_000)})
        self.source.changed({ID: config_map(proxy_body_size="4m")})
        self.source.synced()
        self.said()
        for later, expected in ((config_map(proxy_body_size="2m"), "2m"), (None, "2m")):
            self.clock.advance(REST_SECONDS)
            self.source.changed({ID: many})
            self.source.changed({ID: later})
            (texts,) = self.said()
            self.assertEqual(texts.texts, {"proxy-body-size": expected})
            self.clock.advance(0)
            self.assertEqual(self.said(), [])
        self.source.changed({ID: many})
        self.source.stop()
        self.clock.advance(REST_SECONDS)
        self.assertEqual((self.said(), self.clock.getDelayedCalls()), ([], []))

    def test_a_bug_while_it_is_read(self) -> None:
        """A mistake in a later step is told, and what the ConfigMap said before counts."""

        def read(content: object) -> Stepwise[OptionTexts]:
            yield
            raise LookupError

        self.source.synced()
        self.said()
        self.patch(self.source, "_made_of", read)
        self.source.changed({ID: config_map(proxy_body_size="8m")})
        self.clock.advance(REST_SECONDS)
        self.assertEqual(self.said(), [])
        self.assertEqual(len(self.flushLoggedErrors(LookupError)), 1)

    def test_not_there(self) -> None:
        """One that is not there is told, and nobody waits for it; once it comes it counts."""
        self.source.synced()
        (texts,) = self.said()
        (problem,) = texts.problems
        self.assertEqual((problem.kind, problem.namespace, problem.name), ("ConfigMap", *KEY))
        self.assertEqual((problem.reason, problem.is_the_operators), (Reason.CONFIG_MAP_NOT_FOUND, True))
        self.clock.advance(REST_SECONDS)
        self.source.changed({ID: config_map(proxy_body_size="8m")})
        (texts,) = self.said()
        self.assertEqual((texts.texts, texts.problems), ({"proxy-body-size": "8m"}, ()))

    def test_gone_and_back(self) -> None:
        """One that is deleted goes on to count, with a problem, until it is there again."""
        self.source.changed({ID: config_map(proxy_body_size="8m")})
        self.source.synced()
        self.said()
        self.clock.advance(REST_SECONDS)
        self.source.changed({ID: None})
        self.source.changed({ID: None})
        (texts,) = self.said()
        self.assertEqual(texts.texts, {"proxy-body-size": "8m"})
        self.assertEqual([problem.reason for problem in texts.problems], [Reason.CONFIG_MAP_NOT_FOUND])
        self.clock.advance(REST_SECONDS)
        self.source.changed({ID: config_map(proxy_body_size="9m")})
        (texts,) = self.said()
        self.assertEqual((texts.texts, texts.problems), ({"proxy-body-size": "9m"}, ()))

    def test_unreadable(self) -> None:
        """One that cannot be read at all leaves in force what was said before."""
        self.source.changed({ID: config_map(proxy_body_size="8m")})
        self.source.synced()
        self.said()
        self.clock.advance(REST_SECONDS)
        problem = Problem("ConfigMap", *KEY, Reason.MALFORMED_OBJECT, "data must be an object")
        self.source.changed({ID: Projection(None, (problem,))})
        self.clock.advance(REST_SECONDS)
        self.assertEqual(self.said(), [])

    def test_rests(self) -> None:
        """However often it changes, options are told at most once a second, and the last word is always told."""
        self.source.synced()
        self.said()
        for number in range(1, 501):
            self.source.changed({ID: config_map(proxy_read_timeout=str(number))})
            self.clock.advance(0.01)
        self.clock.advance(REST_SECONDS)
        said = self.said()
        self.assertTrue(5 <= len(said) <= 7, len(said))
        self.assertEqual(said[-1].texts, {"proxy-read-timeout": "500"})
        self.clock.advance(REST_SECONDS)
        self.assertEqual((self.said(), self.clock.getDelayedCalls()), ([], []))

    def test_stop(self) -> None:
        """Nothing is told after the end, and nothing waits."""
        self.source.synced()
        self.source.stop()
        self.said()
        self.source.changed({ID: config_map(proxy_body_size="8m")})
        self.clock.advance(REST_SECONDS)
        self.assertEqual((self.said(), self.clock.getDelayedCalls()), ([], []))


class ServedConfigMapTests(RunningOptionsCase):
    """The same, in the service, to what clients see."""

    POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 3\r\n\r\nabc"

    def put(self, projection: Projection | None) -> None:
        """Have the ConfigMap changed, and the change take effect."""
        assert self.objects.sink is not None
        self.objects.sink.changed({ID: projection})
        for _ in range(4):
            self.reactor.advance(1)

    def stop(self) -> None:
        """End all; nothing is left to wait for."""
        self.service.hurry()
        self.successResultOf(self.service.stopService())

    def reasons(self) -> list[Reason]:
        """The reasons of the problems of the ConfigMap that are shown."""
        return [one.reason for one in self.service._current().problems if one.kind == "ConfigMap"]

    def test_from_the_start(self) -> None:
        """What it says at first holds for the first request, and what it says later for later ones, also once it is gone."""
        self.first = {ID: config_map(force_ssl_redirect="true")}
        self.start(f"--configmap={KEY}")
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 308 "))
        self.put(config_map(proxy_body_size="2"))
        self.assertEqual(self.ask(), b"")
        self.assertTrue(self.ask(self.POST).startswith(b"HTTP/1.1 413 "))
        self.put(None)
        self.assertTrue(self.ask(self.POST).startswith(b"HTTP/1.1 413 "))
        self.assertEqual(self.reasons(), [Reason.CONFIG_MAP_NOT_FOUND])
        self.put(config_map())
        self.assertEqual((self.ask(self.POST), self.reasons()), (b"", []))

    def test_each_layer(self) -> None:
        """The command line beats it, an annotation beats both, and a value that cannot be read costs its key alone."""
        self.first = {
            ID: config_map(force_ssl_redirect="true", proxy_body_size="huge", client_header_timeout="2")
        }
        self.start(f"--configmap={KEY}", "--client-header-timeout=9", annotations={FORCE: "false"})
        self.assertEqual((self.ask(), self.ask(self.POST)), (b"", b""))
        self.assertEqual(sorted(self.reasons()), [Reason.INVALID_OPTION, Reason.OPTION_OVERRIDDEN])

    def test_missing(self) -> None:
        """Without it the command line and the defaults hold, the start does not wait, and the problem is shown."""
        self.start(f"--configmap={KEY}")
        self.assertEqual((self.ask(), self.reasons()), (b"", [Reason.CONFIG_MAP_NOT_FOUND]))

    def test_proxy_protocol(self) -> None:
        """What is decided at the start may be said by it, if it is there by then; later it is told that it stays.

        Who may connect then is decided for each connection.
        """
        self.first = {ID: config_map(use_proxy_protocol="true", proxy_real_ip_cidr="0.0.0.0/0")}
        self.start(f"--configmap={KEY}")
        client = self.open()
        client.say(GET)
        self.assertTrue(client.disconnecting or client.aborting)
        self.assertEqual(self.ask(b"PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n" + GET), b"")
        self.assertEqual(self.reasons(), [])
        self.put(config_map(use_proxy_protocol="false"))
        self.assertEqual(self.reasons(), [Reason.OPTION_AT_START])
        self.assertEqual(self.ask(b"PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n" + GET), b"")
        self.put(config_map(use_proxy_protocol="true", proxy_real_ip_cidr="10.0.0.0/8"))
        stranger = self.open()
        stranger.say(b"PROXY TCP4 203.0.113.9 10.0.0.1 5000 80\r\n" + GET)
        self.assertTrue(stranger.disconnecting or stranger.aborting)

    def test_protocols(self) -> None:
        """So may the versions of TLS, and whether there is HTTP/2; on the command line they are not decided then."""
        self.first = {ID: config_map(use_http2="false", ssl_protocols="TLSv1.3")}
        self.start(f"--configmap={KEY}")
        self.assertEqual(self.reasons(), [])
        self.put(config_map(use_http2="true", ssl_protocols="TLSv1.2 TLSv1.3"))
        self.assertEqual(self.reasons(), [Reason.OPTION_AT_START] * 2)
        self.put(config_map(use_http2="false"))
        self.assertEqual(self.reasons(), [])

    def test_flips(self) -> None:
        """A key that changes a hundred times a second has everything translated about once a second, and the last word counts."""
        self.start(f"--configmap={KEY}")
        assert self.objects.sink is not None
        before = self.service._current()
        seen = set()
        for number in range(301):
            self.objects.sink.changed({ID: config_map(force_ssl_redirect=str(bool(number % 2)).lower())})
            self.reactor.advance(0.01)
            seen.add(id(self.service._current().table))
            before = self.service._current()
        self.assertLessEqual(len(seen), 6)
        self.put(config_map(force_ssl_redirect="true"))
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 308 "))
        self.assertIsNot(before, self.service._current())
