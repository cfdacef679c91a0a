"""The sites of listeners that serve tables of Gateways, by themselves or beside the command line's."""

from __future__ import annotations

from attrs import evolve

from ingress.http2.frames import PREFACE
from ingress.model.network.listeners import MAIN, Listener
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.listening.connection_factories import ChannelFactory
from ingress.proxy.listening.served_table import ServedSite
from ingress.proxy.listening.served_tables import ServedTables
from ingress.translate.readers.gateway.topology.ports import SHARED_ADDRESS, table_name
from ingress.translate.snapshot import ListenerTable, Snapshot
from tests.fakes.http2_frames import SETTINGS, frame
from tests.proxy.playing import GET, ProxyCase

GATEWAYS = table_name(SHARED_ADDRESS, 80)
WITH_GATEWAYS = Snapshot(others={GATEWAYS: ListenerTable()})
WITHOUT = Snapshot()
OF_COMMAND_LINE = Listener("tcp:80", False, MAIN, is_required=True)
OF_GATEWAYS = Listener("tcp:80", False, GATEWAYS)


class ClearHttp2Tests(ProxyCase):
    """HTTP/2 in the clear, by prior knowledge: GRPCRoute asks for it at listeners of Gateways."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.site.sessions = SessionRules(DownstreamSession)
        self.tables = ServedTables(self.stage.resource, lambda: self.stage.resource)

    def site(self, listener: Listener) -> ServedSite:
        """Return the site of *listener*."""
        return self.tables.new_site(listener, self.stage.site, None)

    def speaks_http2(self, served: ServedSite) -> bool:
        """Whether a client that begins with HTTP/2 is answered in it; one of HTTP/1.1 always is."""
        factory = ChannelFactory(served.site, False)
        plain = self.reactor.connect(factory.build())
        plain.say(GET)
        self.assertTrue(plain.received.startswith(b"HTTP/1.1 404"))
        other = self.reactor.connect(factory.build())
        other.say(PREFACE + frame(SETTINGS, b""))
        return not other.received.startswith(b"HTTP/1.1 ")

    def test_listeners_of_gateways(self) -> None:
        """A listener of Gateways speaks it, and one of the command line while Gateways are served beside it."""
        self.tables.publish(WITH_GATEWAYS)
        self.assertTrue(self.speaks_http2(self.site(OF_GATEWAYS)))
        shared = self.site(OF_COMMAND_LINE)
        self.assertTrue(self.speaks_http2(shared))
        self.tables.publish(WITHOUT)
        self.assertFalse(self.speaks_http2(shared))
        self.tables.publish(WITH_GATEWAYS)
        self.assertTrue(self.speaks_http2(shared))

    def test_others(self) -> None:
        """Nobody else does, unless the operator wants it."""
        self.tables.publish(WITHOUT)
        self.assertFalse(self.speaks_http2(self.site(OF_COMMAND_LINE)))

    def test_off(self) -> None:
        """Where the operator has turned HTTP/2 off, there is none."""
        assert self.stage.site.sessions is not None
        self.stage.site.sessions = evolve(self.stage.site.sessions, over_tls=False)
        self.tables.publish(WITH_GATEWAYS)
        self.assertFalse(self.speaks_http2(self.site(OF_GATEWAYS)))
        self.assertFalse(self.speaks_http2(self.site(OF_COMMAND_LINE)))
