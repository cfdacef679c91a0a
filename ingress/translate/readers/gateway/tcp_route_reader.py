"""The reader of TCPRoutes."""

from ingress.translate.readers.gateway.unserved import UnservedReader as TCPRouteReader

__all__ = ["TCPRouteReader"]
