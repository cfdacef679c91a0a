"""The ConfigMap of ``--tcp-services-configmap``, in ingress-nginx's form: ``PORT: NAMESPACE/SERVICE:PORT[:PROXY][:PROXY]``.

The first ``PROXY`` has us read a PROXY header of each connection, the second one has us send one to the endpoint; either may be
empty.  An entry that makes no sense spoils itself alone.  Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

from ingress.annotations.values import quoted
from ingress.model.objects import Kind, ObjectKey
from ingress.model.problems import Problem, Reason
from ingress.model.tcp_services import TcpService, TcpServices

MOST_SERVICES: Final = 128
"""Ports that are opened at most: each is a socket."""

_HIGHEST_PORT: Final = 65535
_FORM: Final = "write NAMESPACE/SERVICE:PORT, with :PROXY or ::PROXY behind it where wanted"
_port: Final = re.compile(r"[1-9][0-9]{0,4}").fullmatch
_label: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_port_name: Final = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?").fullmatch


def read_tcp_services(key: ObjectKey, content: Mapping[str, str]) -> TcpServices:
    """Return what the ConfigMap *key* with this *content* lists."""
    services: list[TcpService] = []
    problems: list[Problem] = []
    for name in sorted(content, key=lambda one: (len(one), one)):
        field = f"data[{quoted(name)[1:-1]}]"
        try:
            service = _read(name, content[name], field)
            if len(services) == MOST_SERVICES:
                raise ValueError(f"is not served, since there are more than {MOST_SERVICES} entries")
        except ValueError as error:
            problems.append(_problem(key, Reason.INVALID_OPTION, str(error), field))
        else:
            services.append(service)
    return TcpServices(key, tuple(services), tuple(problems))


def missing_tcp_services(key: ObjectKey, before: TcpServices | None = None) -> TcpServices:
    """Return what there is while the ConfigMap *key* is not there: what it listed *before*."""
    if before is None:
        message = "does not exist, so no TCP service is served; it is read as soon as it is there"
        return TcpServices(key, problems=(_problem(key, Reason.CONFIG_MAP_NOT_FOUND, message, ""),))
    message = "does not exist any more; what it listed last is served until it is there again or the process starts anew"
    gone = _problem(key, Reason.CONFIG_MAP_NOT_FOUND, message, "")
    return TcpServices(key, before.services, (*before.problems, gone))


def udp_services_problem(key: ObjectKey) -> Problem:
    """Return what is told of the ConfigMap of ``--udp-services-configmap``."""
    message = (
        "UDP is not proxied, so nothing of it is served; expose these Services by a LoadBalancer of their own"
    )
    return _problem(key, Reason.UNSUPPORTED_OPTION, message, "")


def _problem(key: ObjectKey, reason: Reason, message: str, field: str) -> Problem:
    return Problem(Kind.CONFIG_MAP, key.namespace, key.name, reason, message, field)


def _read(name: str, text: str, field: str) -> TcpService:
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
    return TcpService(int(port), ObjectKey(namespace, service), _service_port(said), field, reads, sends)


def _service_port(text: str) -> int | str:
    if _port(text) and int(text) <= _HIGHEST_PORT:
        return int(text)
    if not _port_name(text):
        raise ValueError(f"{quoted(text)} is neither number nor name of a port; {_FORM}")
    return text
