"""Credentials: fields that go with the requests for some hosts, out of a file that nobody else reads.

    ["shop.example.com"]                     # over https
    Authorization = "Bearer …"
    ["http://*.internal.example.com"]        # over http, which says so
    Cookie = "session=…"

None of their values is ever shown: whatever comes back of them in an answer is hidden (``Hidden``), and no error has any of
the file's text.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import quote, quote_plus

from attrs import field

from ingress.ctl.comparing.samples import OURS_ALONE, Sample, why_not_sent
from ingress.ctl.errors import Mistake
from ingress.ctl.toml_files import read_toml
from ingress.model.frozen import frozen
from ingress.plain_data.secret_fields import tells_of_secrets

_LEAST_HIDDEN: Final = 6
"""Characters of what is hidden wherever it stands; less would hide words that are nobody's secret."""
_SHOWN_AS: Final = "(hidden)"


@frozen
class _Section:
    scheme: str
    host: str
    fields: tuple[tuple[str, str], ...] = field(repr=False)


@frozen
class Credentials:
    """Fields by scheme and host pattern."""

    sections: tuple[_Section, ...] = field(default=(), repr=False)

    def given_to(self, sample: Sample) -> tuple[tuple[str, str], ...]:
        """Return the fields that go with *sample*: of the first section that its scheme and host match."""
        for section in self.sections:
            if section.scheme == sample.scheme and fnmatchcase(sample.name, section.host):
                return section.fields
        return ()

    @property
    def values(self) -> tuple[str, ...]:
        """All values."""
        return tuple(value for section in self.sections for _, value in section.fields)


NO_CREDENTIALS: Final = Credentials()


def read_credentials(path: str) -> Credentials:
    """Read the file *path*; raises ``Mistake``, whose message has nothing of what is in it."""
    content = read_toml(path, f"--credentials {path}", is_secret=True)
    return Credentials(tuple(_section(path, pattern, fields) for pattern, fields in content.items()))


def _section(path: str, pattern: str, fields: object) -> _Section:
    scheme, _, host = pattern.partition("://") if "://" in pattern else ("https", "", pattern)
    if scheme not in ("http", "https") or not host or "/" in host:
        raise Mistake(
            f"--credentials {path}: the name of a section is no host, nor http:// or https:// before one"
        )
    if not isinstance(fields, dict) or not fields:
        raise Mistake(f'--credentials {path}: write ["{host}"], and below it lines like Authorization = "…"')
    for name, value in fields.items():
        if not isinstance(value, str) or why_not_sent(Sample("https", "GET", "a", "/", ((name, value),))):
            raise Mistake(f"--credentials {path}: a field of {host} has a name or a value that no field has")
        if name.lower() in OURS_ALONE:
            raise Mistake(f"--credentials {path}: {name} is no credential, and is not sent")
    return _Section(scheme, host.lower(), tuple(fields.items()))


class Hidden:
    """Takes secrets out of texts: the values of *credentials*, and of the fields of *samples* whose names tell of secrets."""

    def __init__(self, credentials: Credentials, samples: Iterable[Sample] = ()) -> None:
        secrets: set[str] = set()
        for value in credentials.values:
            secrets.update(_parts(value))
        for sample in samples:
            for name, value in sample.fields:
                if tells_of_secrets(name):
                    secrets.update(_parts(value))
        # The longest first, so that no end of one is left behind.
        self._secrets = sorted(secrets, key=lambda one: (-len(one), one))

    def __call__(self, text: str) -> str:
        """Return *text* without any of them."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, _SHOWN_AS)
        return text


def _parts(value: str) -> Iterator[str]:
    """Yield *value* and what of it may come back alone, also as it stands in a URL.

    That is a token without its scheme, the value of a cookie, and what ``Basic`` has encoded, with the password by itself.
    """
    scheme, _, rest = value.partition(" ")
    pair = _decoded(rest) if scheme.lower() == "basic" else ""
    for part in (value, *re.split(r"[\s;,]+", value), pair, pair.partition(":")[2]):
        for one in (part, part.partition("=")[2]):
            if len(one) >= _LEAST_HIDDEN:
                yield from {one, quote(one), quote(one, safe=""), quote_plus(one)}


def _decoded(text: str) -> str:
    """Return what *text* has encoded in base64; empty where it has not."""
    try:
        return b64decode(text.strip().encode("latin-1"), validate=True).decode("utf-8")
    except ValueError:
        return ""
