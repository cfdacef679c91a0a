"""Tests for ``ingress.routing.hash_keys``."""

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.balancing import KeyPart, Variable
from ingress.routing.hash_keys import hash_key


@frozen
class Facts:
    """A request, as far as a key can be made of it."""

    scheme: bytes = b"https"
    host: bytes = b"shop.test"
    target: bytes = b"/a/../b?user=7&Page=2&user=8"
    path: bytes = b"/b"
    method: bytes = b"GET"
    client: bytes = b"192.0.2.9"

    def field(self, name: bytes) -> bytes:
        """Two fields, and no others."""
        return {b"x-user": b"ann", b"cookie": b"a=1; session=xyz; Session=no"}.get(name, b"")


VALUES = {
    KeyPart(Variable.TEXT, b"text"): b"text",
    KeyPart(Variable.REQUEST_URI): b"/a/../b?user=7&Page=2&user=8",
    KeyPart(Variable.URI): b"/b",
    KeyPart(Variable.ARGS): b"user=7&Page=2&user=8",
    KeyPart(Variable.HOST): b"shop.test",
    KeyPart(Variable.REMOTE_ADDR): b"192.0.2.9",
    KeyPart(Variable.SCHEME): b"https",
    KeyPart(Variable.REQUEST_METHOD): b"GET",
    KeyPart(Variable.HTTP, b"x-user"): b"ann",
    KeyPart(Variable.HTTP, b"x-none"): b"",
    KeyPart(Variable.ARG, b"user"): b"7",
    KeyPart(Variable.ARG, b"page"): b"2",
    KeyPart(Variable.ARG, b"none"): b"",
    KeyPart(Variable.COOKIE, b"session"): b"xyz",
    KeyPart(Variable.COOKIE, b"none"): b"",
}


class HashKeyTests(SynchronousTestCase):
    """What a key is made of."""

    def test_each_variable(self) -> None:
        """Every variable has its value, and none is left out of this table."""
        self.assertEqual({part: hash_key((part,), Facts()) for part in VALUES}, VALUES)
        self.assertEqual({part.variable for part in VALUES}, set(Variable))

    def test_parts_are_joined(self) -> None:
        """Parts follow each other as they were written."""
        parts = (KeyPart(Variable.HOST), KeyPart(Variable.TEXT, b":"), KeyPart(Variable.ARG, b"user"))
        self.assertEqual(hash_key(parts, Facts()), b"shop.test:7")

    def test_no_query(self) -> None:
        """Without a query, its parameters are empty."""
        self.assertEqual(hash_key((KeyPart(Variable.ARG, b"user"),), Facts(target=b"/b")), b"")
