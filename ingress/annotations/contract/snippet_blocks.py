"""What snippets come to: plain, frozen data.

A *block* is what one pair of braces holds, or a whole snippet: *statements*, which run in order and decide, and a
*level*, which says what holds for whoever comes through.  Levels inherit as nginx's do (``Level.over``).
"""

from enum import Enum
from typing import Final

from attrs import evolve

from ingress.model.frozen import frozen
from ingress.model.network.networks import Network
from ingress.model.requests.templates import NO_TEXT, Template
from ingress.model.text.searches import Search

LISTED_STATUSES: Final = frozenset((200, 201, 204, 206, 301, 302, 303, 304, 307, 308))
"""Those of answers that ``add_header`` without ``always``, and ``expires``, are for."""


@frozen(cache_hash=True)
class AnswerField:
    """``more_set_headers``, ``more_clear_headers``: one field of answers."""

    name: bytes
    """As it was written, or in lower case where the field only goes."""
    value: Template | None = None
    """None has the field go; so does a value that comes to nothing."""
    statuses: frozenset[int] = frozenset()
    """Those of the answers that are meant; empty for all."""
    types: frozenset[bytes] = frozenset()
    """Their content types, without parameters and in lower case; empty for all."""
    is_prefix: bool = False
    """Whether all fields go whose names begin with *name*."""
    adds: bool = False
    """Whether the field stands beside others of its name."""


@frozen(cache_hash=True)
class AddedField:
    """``add_header``."""

    name: bytes
    value: Template
    always: bool = False


class Expiry(Enum):
    """What ``expires`` counts from, or says in place of a time."""

    NOW = "now"
    MODIFIED = "modified"
    """The time in ``Last-Modified``."""
    DAILY = "daily"
    """The next time that it is so many seconds after midnight, UTC."""
    EPOCH = "epoch"
    MAX = "max"
    OFF = "off"


@frozen(cache_hash=True)
class Expires:
    """``expires``.  Where *text* stands, what it comes to says when: of a time that is no other kind *expiry* says what it counts from."""

    expiry: Expiry
    seconds: int = 0
    text: Template | None = None


@frozen(cache_hash=True)
class RequestField:
    """``proxy_set_header``, ``more_set_input_headers``, ``more_clear_input_headers``: one field to endpoints."""

    name: bytes
    value: Template | None = None
    """None has the field go; so does a value that comes to nothing."""
    types: frozenset[bytes] = frozenset()
    """Content types of the requests that are meant; empty for all."""
    only_present: bool = False
    is_prefix: bool = False


@frozen(cache_hash=True)
class SetVariable:
    """``set``, ``auth_request_set``."""

    name: str
    value: Template


@frozen(cache_hash=True)
class AccessRule:
    """``allow``, ``deny``."""

    allows: bool
    network: Network | None = None
    """None for all addresses."""


@frozen(cache_hash=True)
class MethodAccess:
    """``limit_except``: rules for requests of all other *methods*."""

    methods: frozenset[bytes]
    rules: tuple[AccessRule, ...] = ()


@frozen(cache_hash=True)
class Level:
    """What holds for whoever comes through a block."""

    fields: tuple[AnswerField, ...] = ()
    added: tuple[AddedField, ...] = ()
    expires: Expires | None = None
    hidden: frozenset[bytes] = frozenset()
    """``proxy_hide_header``: fields of endpoints' answers, in lower case."""
    inputs: tuple[RequestField, ...] = ()
    sent: tuple[RequestField, ...] = ()
    access: tuple[AccessRule, ...] = ()
    by_method: tuple[MethodAccess, ...] = ()
    content_type: bytes = b""
    """``default_type`` of what is answered here."""
    kept: tuple[tuple[AccessRule, ...], ...] = ()
    """Lists of rules that no level within takes the place of: each has to let a client in."""
    from_auth: tuple[SetVariable, ...] = ()
    """``auth_request_set``: what is made of what the service of ``auth-url`` said."""

    def over(self, inner: "Level") -> "Level":
        """Return what holds in *inner*, which stands within this one.

        As in nginx, what ``add_header``, ``proxy_hide_header``, ``proxy_set_header``, ``auth_request_set``, ``allow`` and
        ``deny`` say within takes the place of all that they say around; what the ``more_...`` directives say comes behind it.
        """
        if inner is NOTHING:
            return self
        return Level(
            self.fields + inner.fields,
            inner.added or self.added,
            inner.expires or self.expires,
            inner.hidden or self.hidden,
            self.inputs + inner.inputs,
            inner.sent or self.sent,
            inner.access or self.access,
            inner.by_method or self.by_method,
            inner.content_type or self.content_type,
            self.kept + inner.kept,
            inner.from_auth or self.from_auth,
        )

    def beside(self, other: "Level") -> "Level":
        """Return what holds where both stand in one block, *other* behind this one."""
        return Level(
            self.fields + other.fields,
            self.added + other.added,
            other.expires or self.expires,
            self.hidden | other.hidden,
            self.inputs + other.inputs,
            self.sent + other.sent,
            self.access + other.access,
            self.by_method + other.by_method,
            other.content_type or self.content_type,
            self.kept + other.kept,
            self.from_auth + other.from_auth,
        )


NOTHING: Final = Level()


class Operator(Enum):
    """How the variable of an ``if`` is looked at."""

    FILLED = ""
    """It is neither empty nor ``0``."""
    EQUALS = "="
    MATCHES = "~"


@frozen(cache_hash=True)
class Condition:
    """What an ``if`` asks."""

    subject: Template
    operator: Operator
    text: Template | None = None
    search: Search | None = None
    negates: bool = False


@frozen(cache_hash=True)
class Return:
    """``return``: *target* is where to, *text* the body otherwise."""

    status: int
    target: Template | None = None
    text: Template | None = None


class After(Enum):
    """What follows a rewrite."""

    GOES_ON = ""
    STOPS = "break"
    """The other statements of the block are left out."""
    REDIRECTS = "redirect"
    REDIRECTS_FOR_GOOD = "permanent"


@frozen(cache_hash=True)
class Rewrite:
    """``rewrite``."""

    search: Search
    target: Template
    """The path, or the whole of a URL before its query."""
    query: Template = NO_TEXT
    after: After = After.GOES_ON
    keeps_query: bool = True


@frozen(cache_hash=True)
class Break:
    """``break``."""


@frozen(cache_hash=True)
class Block:
    """What one pair of braces holds."""

    statements: "tuple[Statement, ...]" = ()
    level: Level = NOTHING

    def beside(self, other: "Block") -> "Block":
        """Return one block that has both, *other* behind this one."""
        return Block(self.statements + other.statements, self.level.beside(other.level))


@frozen(cache_hash=True)
class If:
    """``if``."""

    condition: Condition
    block: Block


Statement = SetVariable | Return | Rewrite | Break | If


class PathMatch(Enum):
    """How the path of a ``location`` is compared; the values are nginx's."""

    EXACT = "="
    PREFIX = ""
    FINAL_PREFIX = "^~"
    """As a prefix; where it is the longest one, expressions are not asked."""
    SEARCH = "~"


@frozen(cache_hash=True)
class Location:
    """``location`` of a server."""

    match: PathMatch
    path: bytes
    """Empty for an expression."""
    search: Search | None
    block: Block


class Sort(Enum):
    """What is to be told of a directive."""

    NOTE = "note"
    """It is honored, or changes nothing here."""
    REFUSED = "refused"
    GUARD = "guard"
    """It is refused, and may have kept somebody out: nobody may come in."""


@frozen(cache_hash=True)
class Finding:
    """What is to be told of one directive."""

    directive: str
    line: int
    message: str
    """What follows its name."""
    sort: Sort = Sort.REFUSED


@frozen(cache_hash=True)
class Snippet:
    """All that a text came to."""

    block: Block = Block()
    locations: tuple[Location, ...] = ()
    findings: tuple[Finding, ...] = ()
    guards: bool = False
    """Whether it has directives that keep somebody out and are honored."""

    @property
    def keeps_out(self) -> bool:
        """Whether it keeps somebody out, or would if all of it were honored."""
        return self.guards or self.lacks_guard

    @property
    def lacks_guard(self) -> bool:
        """Whether a guard is refused."""
        return any(finding.sort is Sort.GUARD for finding in self.findings)

    def beside(self, other: "Snippet") -> "Snippet":
        """Return one that does what both do, *other* behind this one."""
        if other == EMPTY:
            return self
        return evolve(
            self,
            block=self.block.beside(other.block),
            locations=self.locations + other.locations,
            findings=self.findings + other.findings,
            guards=self.guards or other.guards,
        )


EMPTY: Final = Snippet()
