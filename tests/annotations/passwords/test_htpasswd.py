"""Tests for ``ingress.annotations.passwords.htpasswd``; the hashes were made by htpasswd and openssl."""

from base64 import b64encode
from hashlib import sha1

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.passwords import htpasswd
from ingress.annotations.passwords.htpasswd import (
    MAX_COST,
    MOST_FAULTS,
    Accounts,
    accounts_of,
    admits,
    fault_of,
    read_accounts,
    verify,
)

# "secret", by each of the ways.
BCRYPT = b"$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
APR1 = b"$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"
MD5 = b"$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1"
SHA = b"{SHA}" + b64encode(sha1(b"secret").digest())
SSHA = b"{SSHA}" + b64encode(sha1(b"secret" + b"salt").digest() + b"salt")
PLAIN = b"{PLAIN}secret"


class VerifyTests(SynchronousTestCase):
    """Passwords by their hashes."""

    def test_each_sort(self) -> None:
        """Of each sort that is verified the password is found right, and no other is."""
        for hashed in (BCRYPT, BCRYPT.replace(b"$2b$", b"$2y$"), APR1, MD5, SHA, SSHA, PLAIN):
            self.assertIsNone(fault_of(hashed), hashed)
            self.assertTrue(verify(b"secret", hashed), hashed)
            for wrong in (b"", b"Secret", b"secret ", b"secret\0", b"x" * 1024, b"\xff\0"):
                self.assertFalse(verify(wrong, hashed), (wrong, hashed))

    def test_odd_passwords(self) -> None:
        """Empty, long and non-ASCII ones are hashed as openssl hashes them."""
        for password, hashed in (
            (b"", b"$apr1$abcdefgh$L.PT565ESX4Tp2bqNs7Ie."),
            (b"a" * 100, b"$apr1$abcdefgh$Gg.EmXkEpxWG6yUbQCULf/"),
            ("ü:x".encode(), b"$apr1$abcdefgh$.gBznT8dayi4d0IjHEamh."),
        ):
            self.assertTrue(verify(password, hashed))

    def test_bcrypt_looks_at_72_bytes(self) -> None:
        """As crypt(3) does, bcrypt leaves out what is behind the first 72 bytes, and does not fail over it."""
        self.assertFalse(verify(b"x" * 500, BCRYPT))

    def test_not_verified(self) -> None:
        """Other sorts, and halves of hashes, are told in words that show nothing of them."""
        for hashed in (
            b"rqXexS6ZhobKA",
            b"$5$salt$abc",
            b"$6$rounds=999999999$salt$abc",
            b"$2b$13$" + b"a" * 53,
            b"$2b$31$" + b"a" * 53,
            b"$2b$03$" + b"a" * 53,
            b"$2b$10$short",
            b"$apr1$toolongsalt$" + b"a" * 22,
            b"{SHA}abc",
            b"{SHA}" + b"A" * 400,
            b"{SSHA}AAAA",
            b"{CRYPT}x",
            b"",
            b"secret",
        ):
            fault = fault_of(hashed)
            assert fault is not None, hashed
            if len(hashed) > 6:
                self.assertNotIn(hashed[5:].decode(), fault)
        self.assertIn(f"4 to {MAX_COST} are verified", str(fault_of(b"$2y$13$" + b"a" * 53)))


class AccountsTests(SynchronousTestCase):
    """Files."""

    def test_lines(self) -> None:
        """Users have the hash behind the first colon; comments and empty lines are none, ends of lines are those of any system."""
        found = accounts_of(
            b"# a comment\n\nbob:" + APR1 + b"\r\nann:" + SHA + b":a comment: too\n eve :" + PLAIN
        )
        self.assertEqual(found.hashes, {b"bob": APR1, b"ann": SHA, b" eve ": PLAIN})
        self.assertEqual(found.faults, ())

    def test_faults(self) -> None:
        """A line that lets nobody in is told by number and user, with nothing of the hash; the rest counts."""
        found = accounts_of(b"bob:rqXexS6ZhobKA\nno colon\n:" + SHA + b"\nann:" + SHA + b"\nann:" + APR1)
        self.assertEqual(found.hashes, {b"ann": SHA})
        self.assertEqual(
            [(one.line, one.user) for one in found.faults], [(1, b"bob"), (2, b""), (3, b""), (5, b"ann")]
        )
        self.assertNotIn("rqXexS6ZhobKA", repr(found.faults))
        many = accounts_of(b"x\n" * 1000)
        self.assertEqual((len(many.faults), many.more), (MOST_FAULTS, 1000 - MOST_FAULTS))

    def test_a_megabyte_in_steps(self) -> None:
        """A file of 50,000 users is read, some hundred lines a step; what is beyond a megabyte is not looked at."""
        line = b"u%05d:{PLAIN}secret\n"
        text = b"".join(line % number for number in range(60_000))
        steps = list(read_accounts(text))
        found = steps[-1]
        assert isinstance(found, Accounts)
        self.assertGreater(len(steps), 100)
        self.assertEqual(
            len(found.hashes) + len(found.faults) + found.more, len(text[: 1024 * 1024].split(b"\n"))
        )
        self.assertLessEqual(len(found.hashes), 50_000)

    def test_unknown_users(self) -> None:
        """A user who does not exist is verified by a hash of somebody's, as one who does; nobody gets in by that."""
        verified: list[bytes] = []

        def counted(password: bytes, hashed: bytes) -> bool:
            verified.append(hashed)
            return True

        self.patch(htpasswd, "verify", counted)
        found = accounts_of(b"bob:" + APR1 + b"\nann:" + SHA)
        self.assertFalse(admits(found, b"eve", b"secret", 0))
        self.assertFalse(admits(found, b"eve", b"secret", 2**64 - 1))
        self.assertTrue(admits(found, b"bob", b"secret", 0))
        self.assertEqual(verified, [APR1, SHA, APR1])
        self.assertFalse(admits(accounts_of(b""), b"eve", b"secret", 7))
