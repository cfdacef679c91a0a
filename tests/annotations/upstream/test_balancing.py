"""Tests for ``ingress.annotations.upstream.balancing``."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.balancing import (
    BalancingSettings,
    parse_algorithm,
    parse_hash_key,
    parse_subset_size,
)
from ingress.model.requests.templates import Part, Template, read_template
from ingress.model.upstream.balancing import Algorithm, Balancing

GOOD_KEYS: dict[str, Template | None] = {
    "": None,
    " ": None,
    "$request_uri": Template((Part("request_uri"),)),
    " $uri ": Template((Part("uri"),)),
    "$binary_remote_addr": Template((Part("binary_remote_addr"),)),
    "$http_X_User": Template((Part("http_", b"x-user"),)),
    "$host:${arg_a}": Template((Part("host"), Part("", b":"), Part("arg_", b"a"))),
}
BAD_KEYS = (
    "host",
    "-",
    "$",
    "$$host",
    "${host",
    "${}",
    "$host$",
    "$host\n;",
    "$host\r\nX: y",
    "$host\0",
    '"$host"',
    "$(host)",
    "`$host`",
    "$host\\",
    "$host{}",
    "$nginx_version",
    "$http_",
    "$arg_",
    "$cookie_",
    "$höst",
    "$host" * 100,
    "$1",
    "$upstream_addr",
    "$ssl_client_raw_cert",
    "$status",
    "$sent_http_etag",
    "$namespace",
    "$hostname",
    "$hostname:$namespace",
)


class ParseAlgorithmTests(SynchronousTestCase):
    """``load-balance``."""

    def test_names(self) -> None:
        """The names of ours and of ingress-nginx are read."""
        self.assertEqual(
            [parse_algorithm(name) for name in ("round_robin", "least_requests", " ewma ", "least_conn")],
            [Algorithm.ROUND_ROBIN, Algorithm.LEAST_REQUESTS, Algorithm.EWMA, Algorithm.LEAST_REQUESTS],
        )

    def test_refused(self) -> None:
        """Any other name is refused."""
        for name in ("", "random", "EWMA", "ip_hash", "ewma;", "round robin", "ewma\n\nx"):
            self.assertRaises(ValueRefused, parse_algorithm, name)


class ParseHashKeyTests(SynchronousTestCase):
    """``upstream-hash-by``."""

    def test_read(self) -> None:
        """Variables and plain text make the parts of a key."""
        self.assertEqual({text: parse_hash_key(text) for text in GOOD_KEYS}, GOOD_KEYS)

    def test_refused(self) -> None:
        """What nginx would not know, what is not plain text, and what has no variable is refused."""
        for text in BAD_KEYS:
            with self.assertRaises(ValueRefused, msg=text):
                parse_hash_key(text)

    def test_the_variable_is_named(self) -> None:
        """The refusal says which variables there are."""
        self.assertIn("$request_uri", str(self.assertRaises(ValueRefused, parse_hash_key, "$nothing")))


class ParseSubsetSizeTests(SynchronousTestCase):
    """``upstream-hash-by-subset-size``."""

    def test_read(self) -> None:
        """A number of endpoints, within reason."""
        self.assertEqual([parse_subset_size(text) for text in ("1", " 3 ", "64")], [1, 3, 64])
        for text in ("", "0", "65", "-1", "1.5", "٣", "1_0", "9" * 5000):
            with self.assertRaises(ValueRefused, msg=text[:20]):
                parse_subset_size(text)


class SettingsTests(SynchronousTestCase):
    """What the settings of an Ingress come to."""

    def test_nothing_asked(self) -> None:
        """An Ingress without annotations is balanced as all others are."""
        self.assertIsNone(BalancingSettings().balancing())

    def test_asked(self) -> None:
        """An algorithm is what it says; a key comes before it."""
        self.assertEqual(BalancingSettings(Algorithm.EWMA).balancing(), Balancing(Algorithm.EWMA))
        by_host = read_template("$host")
        self.assertEqual(BalancingSettings(Algorithm.EWMA, by_host).balancing(), Balancing(hash_by=by_host))
        subsets = BalancingSettings(hash_by=by_host, has_subsets=True)
        self.assertEqual(subsets.balancing(), Balancing(hash_by=by_host, subset_size=3))
        alone = BalancingSettings(has_subsets=True, subset_size=5)
        self.assertIsNone(alone.balancing())


class DocumentTests(SynchronousTestCase):
    """``docs/load-balancing.md`` names what is accepted."""

    def test_names(self) -> None:
        """Every algorithm is described, and no other one."""
        text = (Path(__file__).resolve().parents[3] / "docs" / "load-balancing.md").read_text("utf-8")
        rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
        shown = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
        self.assertEqual(shown, {"round_robin", "least_requests", "least_conn", "ewma"})
        for name in shown:
            parse_algorithm(name)
