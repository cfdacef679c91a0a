"""Texts that say where the access log goes, read into values.  See ``ingress.options.values`` for what such functions promise."""

import re
from typing import Final

from attrs import evolve

from ingress.model.serving.log_destinations import (
    FACILITIES,
    AccessDestination,
    SyslogAddress,
    SyslogTransport,
)
from ingress.options.values import read_address, read_path

_SYSLOG: Final = "syslog:"
_FORM: Final = "not of the form syslog:PATH, syslog:udp:HOST:PORT or syslog:tcp:HOST:PORT"
_TAG: Final = re.compile(r"[A-Za-z0-9._/-]{1,32}")
_LONGEST_PATH: Final = 107
"""Bytes of the name of a UNIX socket."""


def read_access_log(text: str) -> AccessDestination:
    """Read the name of a file, or a collector after ``syslog:``."""
    return _read_syslog(text.removeprefix(_SYSLOG)) if text.startswith(_SYSLOG) else read_path(text)


def read_running_access_log(text: str) -> AccessDestination:
    """Read a collector: whoever says what the options are while the process runs is not to choose which files it writes."""
    if not text.strip().startswith(_SYSLOG):
        raise ValueError("a collector after syslog: may stand here; files are for the command line alone")
    return read_access_log(text.strip())


def _read_syslog(text: str) -> SyslogAddress:
    where, *settings = text.split(",")
    transport, _, address = where.partition(":")
    if where.startswith("/"):
        if len(where.encode()) > _LONGEST_PATH or "\0" in where:
            raise ValueError(
                f"{where!r} is no name of a UNIX socket, which has {_LONGEST_PATH} bytes at most"
            )
        found = SyslogAddress(SyslogTransport.UNIX, where)
    elif transport in (SyslogTransport.UDP, SyslogTransport.TCP):
        endpoint = read_address(address)
        found = SyslogAddress(SyslogTransport(transport), endpoint.address, endpoint.port)
    else:
        raise ValueError(_FORM)
    for setting in settings:
        found = _with(found, *setting.partition("=")[::2])
    return found


def _with(address: SyslogAddress, name: str, text: str) -> SyslogAddress:
    if name == "facility":
        if text not in FACILITIES:
            raise ValueError(f"{text!r} is none of the facilities {', '.join(FACILITIES)}")
        return evolve(address, facility=FACILITIES.index(text))
    if name == "tag":
        if not _TAG.fullmatch(text):
            raise ValueError(f"{text!r} is no tag: up to 32 letters, digits, dots, dashes and slashes")
        return evolve(address, tag=text)
    if name == "rfc":
        if text not in ("3164", "5424"):
            raise ValueError(f"{text!r} is neither 5424 nor 3164")
        return evolve(address, is_old=text == "3164")
    raise ValueError(f"{name!r} is none of facility, tag and rfc, which may stand behind the collector")
