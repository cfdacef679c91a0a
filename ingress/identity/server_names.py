"""What the handshakes of a host go by, besides its certificates, and how a server name finds it.

Tenants ask for these settings by annotations of the Ingresses that name a host, or of the listeners of a Gateway; the
translation decides for each host, and the TLS contexts honor it.  Pure values.
"""

from collections.abc import Mapping
from typing import Final

from attrs import Factory

from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import ClientAuthentication


@frozen(cache_hash=True)
class HandshakeSettings:
    """The settings of one host.  Hosts with equal settings and certificates share one context."""

    ciphers: tuple[str, ...] = ()
    """Suites of TLS 1.2 by their OpenSSL names, all of them known and sound, in order of
    preference; empty means those of the profile.  TLS 1.3 has suites of its own."""
    client_authentication: ClientAuthentication | None = None
    """What is asked of clients; None asks for nothing."""


PLAIN_HANDSHAKE: Final = HandshakeSettings()


@frozen
class HandshakeSettingsTable:
    """The settings of all hosts that a snapshot serves.

    *by_host* has every host that an Ingress names, those without settings of their own
    (``PLAIN_HANDSHAKE``) included: they must not fall to those of a wildcard or of "all hosts".
    """

    by_host: Mapping[str, HandshakeSettings] = Factory(dict)
    """By host as in a rule, in lower case: ``a.example.com``, ``*.example.com``, or empty for all others."""
    covers_labels: bool = False
    """Whether a wildcard stands for several labels, too, as in the Gateway API."""

    def find(self, server_name: str | None) -> HandshakeSettings:
        """Return the settings for *server_name*: of the exact host, then its wildcard, then all others."""
        return self._named(server_name) or self.by_host.get("", PLAIN_HANDSHAKE)

    def has(self, server_name: str | None) -> bool:
        """Tell whether an Ingress names *server_name*, or a wildcard that takes it."""
        return self._named(server_name) is not None

    def host_of(self, server_name: str | None) -> str | None:
        """Return the host by which *server_name* is named, the one of them that says most of it; empty for all others."""
        by_host = self.by_host
        if server_name:
            name = server_name.lower().removesuffix(".")
            if name in by_host:
                return name
            dot = name.find(".")
            while dot > 0:
                wildcard = "*" + name[dot:]
                if wildcard in by_host:
                    return wildcard
                dot = name.find(".", dot + 1) if self.covers_labels else 0
        return "" if "" in by_host else None

    def _named(self, server_name: str | None) -> HandshakeSettings | None:
        host = self.host_of(server_name)
        return self.by_host[host] if host else None
