"""The options about the web application firewall."""

import re
from collections.abc import Collection
from typing import Final

from ingress.annotations.firewall.family import OPTION, parse_operators_snippet
from ingress.annotations.firewall.reading import FirewallSnippet, read_snippet
from ingress.options import values as v
from ingress.options.option import Option

MOST_PROCESSES: Final = 64
LEAST_BODY_BYTES: Final = 1024
MOST_BODY_BYTES: Final = 8 * 1024**2
"""What is handed over to another process is copied in one step."""
LEAST_MEMORY_BYTES: Final = 192 * 1024**2
MOST_MEMORY_BYTES: Final = 64 * 1024**3
_UNITS: Final = {"k": 1024, "m": 1024**2, "g": 1024**3}


def _read_processes(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_PROCESSES:
        raise ValueError(f"not a whole number from 1 to {MOST_PROCESSES}")
    return int(text)


def _read_size(text: str, least: int, most: int) -> int:
    found = re.fullmatch(r"([0-9]{1,7})([kmg])", text.strip().lower())
    size = 0 if found is None else int(found[1]) * _UNITS[found[2]]
    if not least <= size <= most:
        raise ValueError(f"not a size from {_shown(least)} to {_shown(most)}")
    return size


def _shown(size: int) -> str:
    unit = next(unit for unit in "gmk" if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"


def _read_body_size(text: str) -> int:
    return _read_size(text, LEAST_BODY_BYTES, MOST_BODY_BYTES)


def _read_memory_size(text: str) -> int:
    return _read_size(text, LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES)


def _read_snippet(text: str) -> FirewallSnippet:
    return v.read_as_annotation(parse_operators_snippet, text)


RUNNING: Final = ("enable-modsecurity", "enable-owasp-modsecurity-crs", "modsecurity-snippet")
"""What means nothing without firewall processes, and may change while these run."""


def lacks_processes(given: Collection[str]) -> str:
    """Say what of the options *given* on the command line lacks firewall processes; empty where none does."""
    lacking = next((name for name in RUNNING if name in given), "")
    return f"--{lacking} needs --{OPTION}" if lacking and OPTION not in given else ""


# fmt: off
FIREWALL_OPTIONS: Final = (
    Option(name=OPTION, value="COUNT", read=_read_processes, to="translate.firewall.processes", shows_default=False,
           help="Inspect requests and answers by ModSecurity, as annotations ask for it, in so many processes beside each one that serves; one that requests keep waiting is ended, so two at least. Needs libmodsecurity 3 and the OWASP Core Rule Set. [default: there is no firewall, and paths that ask for one answer 503]"),
    Option(name="firewall-timeout", value="SECONDS", read=v.read_timeout, to="translate.firewall.seconds", needs=OPTION,
           help="Seconds that a request may wait for its turn at the firewall, and that it may then be inspected; where it takes longer, the process is ended, and the request answered with 503, or let pass where the rules only detect."),
    Option(name="firewall-body-size", value="SIZE", read=_read_body_size, to="translate.firewall.body_bytes", needs=OPTION, shows_default=False,
           help="How much of the body of a request, and of that of an answer, is inspected at most, such as 1m, whatever SecRequestBodyLimit and SecResponseBodyLimit say; it is kept in memory meanwhile. [default: 1m]"),
    Option(name="firewall-memory", value="SIZE", read=_read_memory_size, to="translate.firewall.memory_bytes", needs=OPTION, shows_default=False,
           help="Address space that each firewall process may have, such as 512m. [default: 512m]"),
    Option(name="enable-modsecurity", value="BOOLEAN", read=v.read_boolean, to="translate.operators.firewall.operators_on", running=True,
           shows_default=False,
           help="Inspect requests of all Ingresses, unless the annotation of this name says false. [default: false]"),
    Option(name="enable-owasp-modsecurity-crs", value="BOOLEAN", read=v.read_boolean, to="translate.operators.firewall.operators_core_rules", running=True,
           shows_default=False,
           help="Inspect them by the OWASP Core Rule Set, too. [default: false]"),
    Option(name="modsecurity-snippet", value="DIRECTIVES", read=_read_snippet, to="translate.operators.firewall.operators_snippet", running=True,
           shows_default=False, refused=read_snippet,
           help="Inspect them by these directives of ModSecurity, as docs/firewall.md has them, in place of the recommended configuration."),
)
# fmt: on
