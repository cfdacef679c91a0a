"""A ConfigMap as ingress-nginx has it, read into texts of options.

Pure.  Each key stands for itself: what is wrong with one is a problem of the ConfigMap that names key, value and
reason, and costs that key alone.
"""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.annotations.firewall.family import OPTION
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise, finished, least
from ingress.options.config_map_keys import KEYS, NEVER_WERE, OFF, ConfigMapKey, boolean
from ingress.options.config_map_tracing import TRACING_KEYS, tracing_texts
from ingress.options.firewall_options import RUNNING
from ingress.options.merging import OptionTexts
from ingress.options.option import Option
from ingress.options.table import SPELLINGS
from ingress.wording import number_of

MOST_CHARACTERS: Final = 65_536
"""Of a value, unless it is a whole page."""
MOST_UNKNOWN: Final = 20
"""How many keys that there are not are told by name."""

_EVERYBODY: Final = "0.0.0.0/0,::/0"
_has_everybody = re.compile(r"/(?:0+|0\.0\.0\.0)\s*(?:,|\Z)").search
"""Finds a network of all addresses, which names nobody: the default of ingress-nginx is one, and people write it down."""
_CONFIG_MAP: Final = Kind("ConfigMap")
_DATA: Final = "data"


def read_config_map(key: ObjectKey, content: Mapping[str, str], given: Collection[str] = ()) -> OptionTexts:
    """Return what the ConfigMap *key* with this *content* says, beside the options *given* on the command line."""
    return finished(config_map_in_steps(key, content, given))


def config_map_in_steps(
    key: ObjectKey, content: Mapping[str, str], given: Collection[str] = ()
) -> Stepwise[OptionTexts]:
    """Return the same: keys that there are not take steps to be looked through, and some to be told."""
    return _Reading(key, content, given).texts()


def nothing_said(key: ObjectKey, reason: Reason, message: str) -> OptionTexts:
    """Return what a ConfigMap says that is not there, with the problem that tells why."""
    problem = Problem(_CONFIG_MAP, key.namespace, key.name, reason, message)
    return OptionTexts({}, _CONFIG_MAP, key.namespace, key.name, _DATA, problems=(problem,))


class _Reading:
    """Reads one ConfigMap, once."""

    def __init__(self, key: ObjectKey, content: Mapping[str, str], given: Collection[str]) -> None:
        self._key = key
        self._given = given
        self._content = content
        self._texts: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}
        self._problems: list[Problem] = []

    def texts(self) -> Stepwise[OptionTexts]:
        known = [key for key in {**SPELLINGS, **KEYS} if key in self._content]
        # What adds to another key comes after that.
        for key in sorted(known, key=lambda key: (key in KEYS and KEYS[key].adds, key)):
            text = self._content[key]
            option = SPELLINGS.get(key)
            row = KEYS.get(key)
            if not text.strip() and _guards(option or SPELLINGS.get("" if row is None else row.option)):
                # As in ingress-nginx, nothing is guarded by saying nothing.
                continue
            elif len(text) > MOST_CHARACTERS and (option is None or option.read_content is None):
                if option is None and row is not None:
                    option = SPELLINGS.get(row.option)
                    if row.adds and _guards(option):
                        # What can be read of the list is not all of it.
                        self._texts.pop(row.option, None)
                closes = option is not None and option.refused is not None
                instead = "what it would guard is closed" if closes else "it has no effect"
                self._tell(
                    key, Reason.INVALID_OPTION, f"is longer than {MOST_CHARACTERS} characters; {instead}"
                )
                if option is not None:
                    self._unreadable[option.name] = text
            elif option is not None and option.name in RUNNING and OPTION not in self._given:
                self._without_firewall(key, option, text)
            elif option is not None:
                # Where both stand there, an option's own name beats another name for it.
                self._texts[option.name] = text
                self._keys[option.name] = key
            elif row is not None and key not in _TOGETHER:
                self._read(key, row, text)
        self._forwarding()
        self._syslog()
        self._tracing()
        yield from self._tell_unknown(len(self._content) - len(known))
        namespace, name = self._key
        return OptionTexts(
            self._texts,
            _CONFIG_MAP,
            namespace,
            name,
            _DATA,
            self._keys,
            self._unreadable,
            tuple(self._problems),
        )

    def _without_firewall(self, key: str, option: Option, text: str) -> None:
        """Tell of what is said of a firewall that there is not, unless that asks for nothing."""
        if option.read is not None and text.strip() and text.strip().lower() not in OFF:
            message = f"is not honored without --{OPTION} on the command line: requests are not inspected"
            self._tell(key, Reason.UNSUPPORTED_OPTION, message)

    def _read(self, key: str, row: ConfigMapKey, text: str) -> None:
        if text.strip().lower() in row.silent:
            return
        if row.told:
            reason = Reason.OPTION_NOTE if row.is_note else Reason.UNSUPPORTED_OPTION
            self._tell(key, reason, f"is not honored: {row.told}")
            return
        try:
            read = row.read(text)
        except ValueError as error:
            self._tell(key, Reason.INVALID_OPTION, f"{quoted(text)} {error}; it has no effect")
            return
        if not row.option:
            return
        if note := row.noted(text):
            self._tell(key, Reason.OPTION_NOTE, note)
        if row.adds and row.option in self._texts:
            self._texts[row.option] += f",{read}"
        elif row.adds or row.option not in self._content:
            self._texts[row.option] = read
            self._keys[row.option] = key

    def _forwarding(self) -> None:
        """Read who says where a request comes from: ingress-nginx has this in five keys, which mean something together."""
        asked = {key: self._boolean(key) for key in _ASKING if key in self._content}
        networks = self._content.get("proxy-real-ip-cidr", "").strip()
        if not any(asked.values()):
            if networks:
                message = (
                    "changes nothing without use-forwarded-headers, enable-real-ip or use-proxy-protocol"
                )
                self._tell("proxy-real-ip-cidr", Reason.OPTION_NOTE, message)
            return
        if "trusted-proxies" not in self._content and (networks or "trusted-proxies" not in self._given):
            self._texts["trusted-proxies"] = networks or _EVERYBODY
            self._keys["trusted-proxies"] = "proxy-real-ip-cidr"
            if not networks:
                key = next(key for key, is_on in asked.items() if is_on)
                what = "where a request comes from"
                is_said = "use-forwarded-host" in self._content or "use-forwarded-host" in self._given
                if asked.get("use-forwarded-headers") and not is_said:
                    what += " and which Host endpoints get"
                message = (
                    f"without proxy-real-ip-cidr everybody is believed who says {what};"
                    " name the networks of the load balancers there"
                )
                self._tell(key, Reason.OPTION_NOTE, message)
        has_header, is_used = asked.get("use-proxy-protocol"), asked.get("use-forwarded-headers")
        if has_header:
            # Load balancers that send a PROXY header pass on what clients say: without networks, anybody might say who he is.
            said = self._content.get("trusted-proxies", networks).strip()
            is_named = "trusted-proxies" in self._given or (said and not _has_everybody(said))
            believed = "none" if not is_used else "all" if is_named else "others"
        else:
            believed = "all" if is_used else "address"
        usual = {
            "forwarded-headers": believed,
            "compute-full-forwarded-for": "false",
            "use-forwarded-host": "true" if is_used else "false",
        }
        for name, text in usual.items():
            if name not in self._given:
                self._texts.setdefault(name, text)

    def _syslog(self) -> None:
        """Read to which collector the access log goes, which ingress-nginx has in three keys."""
        host, port = (self._content.get(key, "").strip() for key in ("syslog-host", "syslog-port"))
        if "enable-syslog" not in self._content or not self._boolean("enable-syslog"):
            if host:
                self._tell("syslog-host", Reason.OPTION_NOTE, "changes nothing without enable-syslog")
        elif not host:
            self._tell(
                "enable-syslog", Reason.INVALID_OPTION, "changes nothing without a collector in syslog-host"
            )
        elif "access-log" not in self._content:
            where = f"[{host}]" if ":" in host and not host.startswith("[") else host
            self._texts["access-log"] = f"syslog:udp:{where}:{port or 514}"
            self._keys["access-log"] = "syslog-host"

    def _tracing(self) -> None:
        """Read the keys about traces that ingress-nginx has, which mean something together."""
        found = tracing_texts(self._content)
        for key, reason, message in found.told:
            self._tell(key, reason, message)
        for name, (text, key) in found.texts.items():
            if name not in self._content:
                self._texts[name], self._keys[name] = text, key
        for name, text in found.usual.items():
            if name not in self._given:
                self._texts.setdefault(name, text)

    def _boolean(self, key: str) -> bool:
        text = self._content[key]
        try:
            return boolean(text)
        except ValueError as error:
            if key not in SPELLINGS:
                self._tell(key, Reason.INVALID_OPTION, f"{quoted(text)} {error}; it has no effect")
            return False

    def _tell_unknown(self, count: int) -> Stepwise[None]:
        if not count:
            return
        for key in (yield from least(self._content, MOST_UNKNOWN, is_meant=_is_unknown)):
            yield
            meant = _meant(key)
            perhaps = f"; perhaps {meant} is meant" if meant else ""
            self._tell(key, Reason.INVALID_OPTION, f"there is no such key{perhaps}")
        more = count - MOST_UNKNOWN
        if more > 0:
            self._tell(
                "", Reason.INVALID_OPTION, number_of(more, "more key means nothing", "more keys mean nothing")
            )

    def _tell(self, key: str, reason: Reason, message: str) -> None:
        field = f"{_DATA}.{quoted(key)[1:-1]}" if key else _DATA
        namespace, name = self._key
        self._problems.append(Problem(_CONFIG_MAP, namespace, name, reason, message, field))


_ASKING: Final = ("use-forwarded-headers", "enable-real-ip", "use-proxy-protocol")
_SYSLOG: Final = ("enable-syslog", "syslog-host", "syslog-port")
_TOGETHER: Final = frozenset((*_ASKING, "proxy-real-ip-cidr", *_SYSLOG, *TRACING_KEYS))


def _is_unknown(key: str) -> bool:
    return key not in SPELLINGS and key not in KEYS


def _guards(option: Option | None) -> bool:
    """Whether a text that cannot be read for *option* would close what it guards."""
    return option is not None and option.refused is not None


def _meant(key: str) -> str:
    """Return the key that is probably meant; empty where nobody can tell."""
    written = key[:64].lower().replace("_", "-")
    if written in NEVER_WERE:
        return NEVER_WERE[written]
    names = _names()
    if written in names:
        return written
    return next(iter(get_close_matches(written, names, 1, 0.75)), "")


def _names() -> list[str]:
    return [*KEYS, *SPELLINGS]
