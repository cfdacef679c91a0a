"""Users and passwords: ``auth-type``, ``auth-secret``, ``auth-secret-type`` and ``auth-realm``.

The accounts are in a Secret of the Ingress's own namespace: under the key ``auth`` as a file that ``htpasswd`` or
``htdigest`` makes (``auth-file``), or with a key for each user (``auth-map``).  As in ingress-nginx the paths answer 503 where
the Secret, or that key, is missing (Q12), and endpoints do not get ``Authorization``.

Where ingress-nginx would be open, this is not: with ``auth-secret`` and without ``auth-type``, and with the realm ``off``.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from attrs import evolve

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.client_certificates.family import NO_SECRET
from ingress.annotations.contract.references import Found, Reference
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_object_key_or_nothing,
    quoted,
)
from ingress.annotations.passwords.basic_check import CredentialsKept, PasswordCheck
from ingress.annotations.passwords.digest_check import DigestCheck, read_digest_accounts
from ingress.annotations.passwords.htpasswd import MOST_BYTES, Accounts, read_accounts
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import ALL_KEYS
from ingress.model.frozen import frozen
from ingress.wording import number_of

FILE_KEY: Final = "auth"
MOST_REALM_CHARACTERS: Final = 256
MOST_MAPPED: Final = 5_000
"""Users of a Secret with a key for each; a file may have more."""

_CLOSED: Final = (GuardMissing(),)
_KEPT: Final = CredentialsKept()
_SHUT: Final = "its paths answer 503"
_INSTEAD: Final = "the Ingress answers 503 rather than be open"


class Scheme(Enum):
    """How passwords are asked for."""

    BASIC = "basic"
    DIGEST = "digest"
    REFUSED = "refused"
    """In a way that is not known: nobody is let in."""


class Form(Enum):
    """How accounts are in the Secret."""

    FILE = "auth-file"
    MAP = "auth-map"
    REFUSED = "refused"


def parse_scheme(text: str) -> Scheme | None:
    """Read how passwords are asked for; None for nothing."""
    if not text.strip():
        return None
    if text in ("basic", "digest"):
        return Scheme(text)
    raise ValueRefused('is neither "basic" nor "digest"')


def parse_form(text: str) -> Form:
    """Read how accounts are in the Secret."""
    if text in ("auth-file", "auth-map"):
        return Form(text)
    raise ValueRefused('is neither "auth-file" nor "auth-map"')


def parse_realm(text: str) -> str:
    """Read what browsers show."""
    if len(text) > MOST_REALM_CHARACTERS:
        raise ValueRefused(f"is longer than {MOST_REALM_CHARACTERS} characters")
    if not text.isprintable():
        raise ValueRefused("has characters that cannot be shown")
    return text


@frozen
class PasswordSettings:
    """What the annotations of one Ingress say about passwords."""

    scheme: Scheme | None = None
    secret: ObjectKey | None = None
    """As it was written, without namespace where that was left out; ``NO_SECRET`` for what names none."""
    form: Form = Form.FILE
    realm: str = ""

    @property
    def asks(self) -> bool:
        """Whether anybody is asked for a password."""
        return self.scheme is not None or self.secret is not None


def password_references(settings: PasswordSettings, asking: ObjectKey) -> tuple[Reference, ...]:
    """Name the Secret of the accounts."""
    if settings.secret is None or settings.secret == NO_SECRET:
        return ()
    key = ObjectKey(settings.secret.namespace or asking.namespace, settings.secret.name)
    keys = ALL_KEYS if settings.form is Form.MAP else frozenset({FILE_KEY})
    return (Reference(Kind.SECRET, key, "auth-secret", keys, _SHUT),)


def password_filters(settings: PasswordSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what stands before the routes of an Ingress."""
    if settings.secret is None:
        # Where a password is asked for all the same, the remark on that closes the routes.
        return ()
    file: bytes | None = None
    if facts.owner is not None and settings.scheme is not Scheme.REFUSED:
        for reference in password_references(settings, facts.owner.key):
            content = facts.found.secret(reference)
            file = None if content is None else _file(settings.form, content)
    if file is None:
        return _CLOSED
    if settings.scheme is Scheme.DIGEST:
        return (DigestCheck(file, settings.realm), _KEPT)
    return (PasswordCheck(file, settings.realm), _KEPT)


def _file(form: Form, content: Mapping[str, bytes]) -> bytes | None:
    """Return the accounts in *content* as a file; None where they are not there."""
    if form is Form.FILE:
        return content.get(FILE_KEY)
    if form is Form.REFUSED or len(content) > MOST_MAPPED:
        return None
    lines = (name.encode() + b":" + value.strip() for name, value in sorted(content.items()))
    return b"\n".join(line for line in lines if b"\n" not in line)


def password_remarks(settings: PasswordSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell of a Secret without scheme, and of a scheme without Secret."""
    if settings.scheme is None and settings.secret is not None:
        message = (
            "without auth-type ingress-nginx asks nobody for a password; here it is asked for, as with"
            " auth-type: basic"
        )
        yield Remark("auth-secret", message)
    elif settings.scheme is not None and settings.secret is None:
        message = f"without auth-secret nobody can be let in; {_INSTEAD}"
        yield Remark("auth-type", message, Reason.INVALID_ANNOTATION, closes=True)


def password_contents(settings: PasswordSettings, asking: ObjectKey, found: Found) -> Iterator[Remark | None]:
    """Tell of what lets nobody in, by line and user."""
    for reference in password_references(settings, asking):
        content = found.secret(reference) or {}
        shown = f"Secret {reference.key}"
        file = _file(settings.form, content)
        if file is None:
            what = (
                f"has more than {MOST_MAPPED} keys" if settings.form is Form.MAP else f"has no key {FILE_KEY}"
            )
            yield Remark("auth-secret", f"{shown} {what}; {_SHUT}", Reason.INVALID_PASSWORDS)
            continue
        if len(file) > MOST_BYTES:
            message = f"{shown} has more than {MOST_BYTES} bytes of accounts; those behind them let nobody in"
            yield Remark("auth-secret", message, Reason.INVALID_PASSWORDS)
        realm = settings.realm.encode("utf-8") if settings.scheme is Scheme.DIGEST else None
        accounts = _FAULTS.get(file, realm)
        if accounts is None:
            for step in read_accounts(file) if realm is None else read_digest_accounts(file, realm):
                if step is None:
                    yield None
                else:
                    accounts = step
            assert accounts is not None
            _FAULTS.put(file, realm, accounts)
        for fault in accounts.faults:
            at = f"line {fault.line}" if settings.form is Form.FILE else "a key"
            user = f" (user {quoted(fault.user.decode('utf-8', 'replace'))})" if _is_shown(fault.user) else ""
            message = f"{shown}: {at}{user} {fault.why}; it lets nobody in"
            yield Remark("auth-secret", message, Reason.INVALID_PASSWORDS)
        if accounts.more:
            message = (
                f"{shown}: {number_of(accounts.more, 'further line lets', 'further lines let')} nobody in"
            )
            yield Remark("auth-secret", message, Reason.INVALID_PASSWORDS)


def _is_shown(user: bytes) -> bool:
    """Whether *user* is a name, as far as anybody can tell, and no hash that stands in a wrong place."""
    return bool(user) and not user.startswith((b"$", b"{"))


class _Memo:
    """The faults of the files that were read last: several Ingresses name one Secret, and are told the same.

    Files, of which the Secret may be gone, are known again by a number: Python hashes bytes by a key that each process has for itself.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[int, int, bytes | None], Accounts] = {}

    def get(self, file: bytes, realm: bytes | None) -> Accounts | None:
        """Return what is told of *file*, read by *realm* for Digest, by None for Basic; None where that is not known."""
        return self._known.get((hash(file), len(file), realm))

    def put(self, file: bytes, realm: bytes | None, accounts: Accounts) -> None:
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        # What is told of them is all that is kept: the hashes are for whoever verifies, also such as stand in the place of a user.
        faults = tuple(one if _is_shown(one.user) else evolve(one, user=b"") for one in accounts.faults)
        self._known[hash(file), len(file), realm] = Accounts({}, faults, accounts.more)


_FAULTS: Final = _Memo(4)

PASSWORDS: Final = Family(
    name="passwords",
    settings=PasswordSettings(),
    acts="asks for users and passwords",
    phases=(Phase.ACCESS, Phase.EDITS),
    filters=password_filters,
    by_path=True,
    authenticates=True,
    remarks=password_remarks,
    guards=lambda settings: settings.asks,
    references=password_references,
    contents=password_contents,
    satisfies=True,
    annotations={
        "auth-type": Annotation(
            "scheme",
            parse_scheme,
            Scheme.REFUSED,
            _INSTEAD,
            values="`basic` or `digest`; none",
            meaning="asks for a user and a password, which `auth-secret` has; who has none gets 401, or is sent to `auth-signin` where there is one beside an `auth-url`",
            differs="`auth-secret` alone asks, too",
        ),
        "auth-secret": Annotation(
            "secret",
            parse_object_key_or_nothing,
            NO_SECRET,
            _INSTEAD,
            values="a Secret of the own namespace: its name, or `namespace/name`",
            meaning="has the accounts; without it, or without its key `auth`, the paths answer 503",
            differs="bcrypt costs above 12, DES and SHA crypt are refused with a problem",
            risk=Risk.MEDIUM,
        ),
        "auth-secret-type": Annotation(
            "form",
            parse_form,
            Form.REFUSED,
            _INSTEAD,
            values="`auth-file` or `auth-map`; `auth-file`",
            meaning="says whether the Secret has a file under the key `auth`, or a key for each user",
        ),
        "auth-realm": Annotation(
            "realm",
            parse_realm,
            values="text of at most 256 characters; empty",
            meaning="is what browsers show whoever they ask",
            differs="`off` is a realm, and turns nothing off",
            risk=Risk.MEDIUM,
        ),
    },
)
