"""Tests for ``ingress.annotations.answers.configured_fields``: from ConfigMaps to answers and requests."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers.configured_fields import (
    CUSTOM_HEADERS,
    MOST_FIELDS,
    OPERATOR_FIELDS,
    AnswerFields,
    CustomHeaderSettings,
    HiddenFields,
    OperatorFieldSettings,
    RequestFields,
    parse_names,
    parse_whole_key,
)
from ingress.annotations.contract.values import ValueRefused
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import ALL_KEYS
from ingress.model.upstream.backends import BackendState
from ingress.translate.annotation_reading import needs_of_options
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.following import Follower, batch
from tests.translate.tls.test_client_authentication import ingress

ADDED, TOLD = ObjectKey("ops", "added"), ObjectKey("ops", "told")
ALLOWED = operator_settings((CUSTOM_HEADERS, CustomHeaderSettings(allowed=("x-frame-options", "x-team"))))
OPERATORS = operator_settings(
    (OPERATOR_FIELDS, OperatorFieldSettings(ADDED, TOLD, ("server", "x-powered-by")))
)


def config_map(data: dict[str, str], name: str = "fields", namespace: str = "demo") -> ConfigMap:
    """A ConfigMap."""
    return ConfigMap(ObjectKey(namespace, name), data)


class ParseTests(SynchronousTestCase):
    """Values."""

    def test_config_map(self) -> None:
        """The operator's are named with their namespace."""
        self.assertEqual(parse_whole_key("demo/fields"), ObjectKey("demo", "fields"))
        self.assertIsNone(parse_whole_key(""))
        self.assertRaises(ValueRefused, parse_whole_key, "fields")

    def test_names(self) -> None:
        """Names with commas between them, in any case, each once."""
        self.assertEqual(parse_names("X-Team, x-frame-options,,X-TEAM"), ("x-frame-options", "x-team"))
        for text in ("a b", "a:b", "ü", "a\r\nb", "x" * 200, "a," * 5000):
            self.assertRaises(ValueRefused, parse_names, text)


class FieldsCase(SynchronousTestCase):
    """A follower of a few objects."""

    operators = ALLOWED

    def follow(self, *objects: Any) -> None:
        """Begin with *objects*."""
        self.follower = Follower(TranslateOptions(operators=self.operators), list(objects))

    def settled(self) -> Snapshot:
        """Settle, and compare with a full translation."""
        found = self.follower.settle()
        self.assertEqual(differences(found, self.follower.expected()), ())
        return found

    def filters(self) -> tuple[FilterSpec, ...]:
        """The filters of the one route."""
        (route,) = self.settled().table.routes
        return route.filters

    def told(self) -> list[Problem]:
        """What is told, but of Services."""
        return [one for one in self.settled().problems if one.reason is not Reason.SERVICE_NOT_FOUND]


class CustomHeadersTests(FieldsCase):
    """What an Ingress asks for."""

    def test_put(self) -> None:
        """Allowed fields are put on answers, and follow the ConfigMap; an empty value takes a field away."""
        self.follow(ingress("a", "/", custom_headers="demo/fields"), config_map({"X-Team": "blue $1"}))
        self.assertEqual(self.filters(), (AnswerFields(((b"X-Team", b"blue $1"),)),))
        self.assertEqual(self.told(), [])
        self.follower.change(batch(config_map({"X-Team": "red", "X-Frame-Options": ""})))
        self.assertEqual(self.filters(), (AnswerFields(((b"X-Team", b"red"),), (b"X-Frame-Options",)),))
        self.follower.change({(Kind.CONFIG_MAP, ObjectKey("demo", "fields")): None})
        self.assertEqual(self.filters(), ())
        (problem,) = self.told()
        self.assertEqual(problem.reason, Reason.CONFIG_MAP_NOT_FOUND)
        self.assertIn("its fields are not added to answers", problem.message)

    def test_not_put(self) -> None:
        """What the operator does not allow, and what could spoil an answer, is told with its name; the rest is sent."""
        for name, value, why in (
            ("Set-Cookie", "x", "the operator does not allow Set-Cookie (global-allowed-response-headers)"),
            ("Content-Length", "5", "Content-Length is a field of the proxy's own"),
            ("X.Team", "x", '"X.Team" is no name of a field'),
            ("X-Team", "a\r\nSet-Cookie: x", "the value of X-Team has a control character"),
            ("X-Team", "a\0", "the value of X-Team has a control character"),
            ("X-Team", "x" * 5000, "the value of X-Team is longer than 4096 characters"),
        ):
            self.follow(
                ingress("a", "/", custom_headers="fields"),
                config_map({name: value, "x-frame-options": "DENY"}),
            )
            self.assertEqual(self.filters(), (AnswerFields(((b"x-frame-options", b"DENY"),)),))
            (problem,) = self.told()
            self.assertIn(why, problem.message)
            self.assertNotIn("\r", problem.message)

    def test_too_many(self) -> None:
        """Of very many fields the first are looked at, and faults are told together."""
        self.follow(
            ingress("a", "/", custom_headers="fields"), config_map({f"X-{n}": "1" for n in range(1000)})
        )
        number, faults = self.told()
        self.assertIn(f"and {MOST_FIELDS - 3} more", faults.message)
        self.assertIn("more than 64 fields", number.message)

    def test_another_namespace(self) -> None:
        """A ConfigMap of another namespace is refused, and its fields are not sent."""
        self.follow(
            ingress("a", "/", custom_headers="other/fields"), config_map({"X-Team": "x"}, namespace="other")
        )
        self.assertEqual(self.filters(), ())
        (problem,) = self.told()
        self.assertIn("in another namespace and out of reach", problem.message)


class OperatorFieldsTests(FieldsCase):
    """What the operator has for everybody."""

    operators = OPERATORS

    def test_filters(self) -> None:
        """Fields of both ConfigMaps, and those that are hidden, stand before all routes; variables of routes are text by then."""
        self.follow(
            ingress("a", "/"),
            config_map({"X-Id": "$request_id", "X-Team": "blue"}, "added", "ops"),
            config_map(
                {"X-Ns": "$namespace", "X-Agent": "$http_user_agent", "Authorization": ""}, "told", "ops"
            ),
        )
        told, fixed, rendered, hidden = self.filters()
        self.assertEqual(fixed, AnswerFields(((b"X-Team", b"blue"),)))
        self.assertEqual(hidden, HiddenFields((b"server", b"x-powered-by")))
        assert isinstance(told, RequestFields)
        edit = FakeEdit(fields=[(b"Authorization", b"secret")])
        facts = FakeFacts(fields={b"user-agent": b"curl"}, id=b"id7")
        told.make(FakeServices()).on_upstream(facts, edit)
        self.assertEqual(dict(edit.fields), {b"X-Ns": b"demo", b"X-Agent": b"curl"})
        edit = FakeEdit()
        rendered.make(FakeServices()).on_answer(facts, edit)
        self.assertEqual(edit.fields, [(b"X-Id", b"id7")])
        self.assertEqual(self.told(), [])

    def test_faults(self) -> None:
        """What is no field is told once, of the ConfigMap, to the operator alone, whoever is served."""
        self.follow(
            ingress("a", "/"),
            ingress("bb", "/b"),
            config_map({"X": "$nothing_known"}, "added", "ops"),
            config_map({"Host": "x"}, "told", "ops"),
        )
        added, told = self.told()
        self.assertEqual((added.kind, added.namespace, added.name), ("ConfigMap", "ops", "added"))
        self.assertIn("add-headers: ConfigMap ops/added: the value of X", added.message)
        self.assertIn("Host is a field of the proxy's own", told.message)
        self.assertTrue(added.is_the_operators)

    def test_missing(self) -> None:
        """ConfigMaps that are missing are told, and cost nobody anything."""
        self.follow(ingress("a", "/"))
        self.assertEqual(self.filters(), (HiddenFields((b"server", b"x-powered-by")),))
        self.assertEqual([one.reason for one in self.told()], [Reason.CONFIG_MAP_NOT_FOUND] * 2)

    def test_needs(self) -> None:
        """Both are read, wherever they are."""
        needs = needs_of_options(TranslateOptions(operators=OPERATORS), Kind.CONFIG_MAP)
        self.assertEqual(needs, {ADDED: ALL_KEYS, TOLD: ALL_KEYS})


class ServedTests(ProxyCase):
    """In the proxy."""

    def test_answer(self) -> None:
        """What an Ingress says counts more than what the operator has for all; hidden fields of endpoints go, and not those that are put."""
        self.follower = Follower(
            TranslateOptions(
                operators=operator_settings(
                    (CUSTOM_HEADERS, CustomHeaderSettings(allowed=("x-team",))),
                    (OPERATOR_FIELDS, OperatorFieldSettings(ADDED, None, ("x-powered-by", "x-team"))),
                )
            ),
            [
                ingress("a", "/", host="shop.test", custom_headers="fields"),
                config_map({"X-Team": "blue"}),
                config_map({"X-Team": "all", "X-Frame-Options": "DENY"}, "added", "ops"),
            ],
        )
        snapshot = self.follower.settle()
        self.stage.resource.publish(snapshot.table, {one: BackendState((ONE,)) for one in snapshot.backends})
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        self.upstream().say(OK.replace(b"\r\n", b"\r\nX-Powered-By: php\r\nX-Team: pod\r\n", 1))
        answer = client.take()
        self.assert_status(answer, 200)
        self.assertIn(b"\r\nX-Team: blue\r\n", answer)
        self.assertEqual(answer.lower().count(b"x-team"), 1)
        self.assertIn(b"\r\nX-Frame-Options: DENY\r\n", answer)
        self.assertNotIn(b"X-Powered-By", answer)

    def test_unmatched(self) -> None:
        """What no path of a host matches has the operator's fields, too."""
        follower = Follower(
            TranslateOptions(
                operators=operator_settings((OPERATOR_FIELDS, OperatorFieldSettings(ADDED, TOLD)))
            ),
            [
                ingress("a", "/app", host="shop.test"),
                config_map({"X-Frame-Options": "DENY"}, "added", "ops"),
                config_map({"X-Ns": "$namespace"}, "told", "ops"),
            ],
        )
        self.stage.resource.publish(follower.settle().table, {})
        client = self.stage.open()
        client.say(b"GET /other HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        answer = client.take()
        self.assert_status(answer, 404)
        self.assertIn(b"\r\nX-Frame-Options: DENY\r\n", answer)
