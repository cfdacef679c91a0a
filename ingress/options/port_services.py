"""The ConfigMaps of ``--tcp-services-configmap`` and ``--udp-services-configmap``, in ingress-nginx's form:
``PORT: NAMESPACE/SERVICE:PORT[:PROXY][:PROXY]``.

The first ``PROXY`` has us read a PROXY header of each connection, the second one has us send one to the endpoint; either may be
empty.  For UDP both mean nothing, as in ingress-nginx (``getStreamServices``), which is told.  An entry that makes no sense spoils
itself alone.  Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.port_services import PortService, PortServices
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise, finished, least
from ingress.wording import number_of

MOST_SERVICES: Final = 128
"""Ports that are opened at most: each is a socket."""

MOST_READ: Final = 256
"""Entries that are read at most, those of the lowest ports first: a ConfigMap has room for tens of thousands."""

_HIGHEST_PORT: Final = 65535
_NO_HEADER: Final = (
    "PROXY means nothing for UDP, as in ingress-nginx; the Service is served without any PROXY header"
)
_FORM: Final = "write NAMESPACE/SERVICE:PORT, with :PROXY or ::PROXY behind it where wanted"
_port: Final = re.compile(r"[1-9][0-9]{0,4}").fullmatch
_label: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_port_name: Final = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?").fullmatch


def read_port_services(key: ObjectKey, content: Mapping[str, str], *, is_udp: bool = False) -> PortServices:
    """Return what the ConfigMap *key* with this *content* lists, of TCP or of UDP."""
    return finished(port_services_in_steps(key, content, is_udp=is_udp))


def port_services_in_steps(
    key: ObjectKey, content: Mapping[str, str], *, is_udp: bool = False
) -> Stepwise[PortServices]:
    """Return the same: many entries take as many steps to be looked through."""
    services: list[PortService] = []
    problems: list[Problem] = []
    names = yield from _names_read(content)
    for name in names:
        field = f"data[{quoted(name)[1:-1]}]"
        try:
            service = _read(name, content[name], field)
            if len(services) == MOST_SERVICES:
                raise ValueError(f"is not served, since there are more than {MOST_SERVICES} entries")
        except ValueError as error:
            problems.append(_problem(key, Reason.INVALID_OPTION, str(error), field))
            continue
        if is_udp and (service.reads_header or service.sends_header):
            problems.append(_problem(key, Reason.UNSUPPORTED_OPTION, _NO_HEADER, field))
            service = evolve(service, reads_header=False, sends_header=False)
        services.append(service)
    if len(content) > len(names):
        more = f"{number_of(len(content) - len(names), 'further entry is', 'further entries are')} not looked at, since there are more than {MOST_READ}"
        problems.append(_problem(key, Reason.INVALID_OPTION, more, "data"))
    return PortServices(key, tuple(services), tuple(problems), is_udp)


def _names_read(content: Mapping[str, str]) -> Stepwise[list[str]]:
    """Return the names of the entries that are read: what is no port number keeps none from being read that is one."""
    names = yield from least(content, MOST_READ, int, _is_number)
    if len(content) > len(names) and len(names) < MOST_READ:
        names += yield from least(content, MOST_READ - len(names), is_meant=lambda one: not _is_number(one))
    return names


def _is_number(name: str) -> bool:
    return len(name) < 6 and name.isdecimal() and name.isascii() and name[0] != "0"


def missing_port_services(
    key: ObjectKey, before: PortServices | None = None, *, is_udp: bool = False
) -> PortServices:
    """Return what there is while the ConfigMap *key* is not there: what it listed *before*."""
    if before is None:
        protocol = "UDP" if is_udp else "TCP"
        message = f"does not exist, so no {protocol} service is served; it is read as soon as it is there"
        missing = _problem(key, Reason.CONFIG_MAP_NOT_FOUND, message, "")
        return PortServices(key, problems=(missing,), is_udp=is_udp)
    message = "does not exist any more; what it listed last is served until it is there again or the process starts anew"
    gone = _problem(key, Reason.CONFIG_MAP_NOT_FOUND, message, "")
    return evolve(before, problems=(*before.problems, gone))


def _problem(key: ObjectKey, reason: Reason, message: str, field: str) -> Problem:
    return Problem(Kind.CONFIG_MAP, key.namespace, key.name, reason, message, field)


def _read(name: str, text: str, field: str) -> PortService:
    """Read one entry; raises ``ValueError`` with what is wrong about it."""
    port = name.strip()
    if not _port(port) or int(port) > _HIGHEST_PORT:
        raise ValueError(f"the key is no port from 1 to {_HIGHEST_PORT}")
    where, *rest = text.strip().split(":")
    namespace, slash, service = where.partition("/")
    if not slash or not _label(namespace) or not _label(service):
        raise ValueError(f"{quoted(text)} names no Service; {_FORM}")
    if not rest or len(rest) > 3:
        raise ValueError(f"{quoted(text)} has {'no port' if not rest else 'too many parts'}; {_FORM}")
    said, *flags = rest
    for flag in flags:
        if flag.upper() not in ("", "PROXY"):
            raise ValueError(f"{quoted(flag)} is not PROXY; {_FORM}")
    reads, sends = ([flag.upper() == "PROXY" for flag in flags] + [False, False])[:2]
    return PortService(int(port), ObjectKey(namespace, service), _service_port(said), field, reads, sends)


def _service_port(text: str) -> int | str:
    if _port(text) and int(text) <= _HIGHEST_PORT:
        return int(text)
    if not _port_name(text):
        raise ValueError(f"{quoted(text)} is neither number nor name of a port; {_FORM}")
    return text
