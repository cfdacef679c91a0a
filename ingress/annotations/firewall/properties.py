"""What directives say of a whole rule set: one value each, which no rule is.

As in the library, the last one of a text counts, and of several texts that are loaded one after the other the first one that says
anything.  What names a file or a folder is for the operator alone, and changes nothing here.
"""

import re
from typing import Final

from ingress.model.frozen import frozen

MODE: Final = "SecRuleEngine"
BODY_ACCESS: Final = "SecRequestBodyAccess"
BODY_LIMIT: Final = "SecRequestBodyLimit"
BODY_LIMIT_ACTION: Final = "SecRequestBodyLimitAction"
ARGUMENTS_LIMIT: Final = "SecArgumentsLimit"
ANSWER_BODY_ACCESS: Final = "SecResponseBodyAccess"
ANSWER_BODY_LIMIT: Final = "SecResponseBodyLimit"
ANSWER_BODY_LIMIT_ACTION: Final = "SecResponseBodyLimitAction"
ANSWER_TYPES: Final = "SecResponseBodyMimeType"
CLEARS_ANSWER_TYPES: Final = "SecResponseBodyMimeTypesClear"
AUDIT: Final = "SecAuditEngine"
AUDIT_PARTS: Final = "SecAuditLogParts"
BODIES_OF_ANSWERS: Final = "E"
"""The part of an audit log that has these."""

is_media_type: Final = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}|\(null\)", re.ASCII
).fullmatch
"""The last one is what ModSecurity 2 calls an answer without a type; nothing is called so here, as in the library."""


@frozen
class Property:
    """One directive."""

    name: str
    """As the library has it."""
    values: str
    """What its value may be, in words; the expression is below."""
    pattern: re.Pattern[str]
    is_quoted: bool = False


def _one_of(name: str, *words: str) -> Property:
    shown = ", ".join(words[:-1]) + f" or {words[-1]}"
    return Property(name, shown, re.compile("|".join(words), re.IGNORECASE))


def _number(name: str) -> Property:
    return Property(name, "a number", re.compile(r"[0-9]{1,10}"))


PROPERTIES: Final = {
    one.name.lower(): one
    for one in (
        _one_of(MODE, "On", "Off", "DetectionOnly"),
        _one_of(BODY_ACCESS, "On", "Off"),
        _one_of(ANSWER_BODY_ACCESS, "On", "Off"),
        _one_of(BODY_LIMIT_ACTION, "Reject", "ProcessPartial"),
        _one_of(ANSWER_BODY_LIMIT_ACTION, "Reject", "ProcessPartial"),
        _one_of(AUDIT, "On", "Off", "RelevantOnly"),
        Property("SecCookieFormat", "0", re.compile("0")),
        _number(BODY_LIMIT),
        _number(ANSWER_BODY_LIMIT),
        _number("SecRequestBodyNoFilesLimit"),
        _number("SecRequestBodyJsonDepthLimit"),
        Property(ARGUMENTS_LIMIT, "a number from 1", re.compile(r"[1-9][0-9]{0,9}")),
        _number("SecPcreMatchLimit"),
        _number("SecPcreMatchLimitRecursion"),
        _number("SecCollectionTimeout"),
        _number("SecUploadFileLimit"),
        Property(AUDIT_PARTS, "letters from A to K, and Z", re.compile(r"[A-K]{1,16}Z?")),
        Property(
            "SecAuditLogRelevantStatus", "an expression", re.compile(r'[^"]{1,256}(?<!\\)'), is_quoted=True
        ),
        Property("SecArgumentSeparator", "a character", re.compile(r"[&;|,]")),
        Property("SecComponentSignature", "a text", re.compile(r"[A-Za-z0-9 ._/+-]{1,128}"), is_quoted=True),
        Property("SecWebAppId", "a text", re.compile(r"[A-Za-z0-9 ._/+-]{1,128}"), is_quoted=True),
    )
}
"""By name in lower case."""

_AUDIT_GOES_TO_LOG: Final = "the audit log goes to the log of this controller, as JSON"
_NO_FILES: Final = "firewall processes write no files"
_NO_DEBUGGING: Final = "there is no debug log"
_NOTHING: Final = ""

IGNORED: Final = {
    "secauditlog": _AUDIT_GOES_TO_LOG,
    "secauditlog2": _AUDIT_GOES_TO_LOG,
    "secauditlogtype": _AUDIT_GOES_TO_LOG,
    "secauditlogformat": _AUDIT_GOES_TO_LOG,
    "secauditlogstoragedir": _AUDIT_GOES_TO_LOG,
    "secauditlogdirmode": _NOTHING,
    "secauditlogfilemode": _NOTHING,
    "secauditlogprefix": _NOTHING,
    "secdebuglog": _NO_DEBUGGING,
    "secdebugloglevel": _NO_DEBUGGING,
    "sectmpdir": _NO_FILES,
    "secdatadir": _NO_FILES,
    "secuploaddir": _NO_FILES,
    "secuploadkeepfiles": _NO_FILES,
    "secuploadfilemode": _NOTHING,
    "sectmpsaveuploadedfiles": _NO_FILES,
    "secstatusengine": _NOTHING,
    "secserversignature": "answers say nothing of a server",
    "secrequestbodyinmemorylimit": _NOTHING,
    "secunicodemapfile": "no map of characters is read from a file",
    "secunicodecodepage": _NOTHING,
}
"""Directives without which everything is inspected all the same, with what is to be told of them; in lower case."""
IGNORED_VALUES: Final = {
    # What they ask for is so in any case.
    "secauditlogtype": frozenset(("serial",)),
    "secauditlogformat": frozenset(("json",)),
    "secauditlog": frozenset(("/dev/stdout", "/dev/stderr")),
    "secuploadkeepfiles": frozenset(("off",)),
    "sectmpsaveuploadedfiles": frozenset(("off",)),
    "secdebugloglevel": frozenset(("0",)),
}
"""Values of which nothing is told; in lower case."""
