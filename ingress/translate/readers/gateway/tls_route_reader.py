"""The reader of TLSRoutes."""

from ingress.translate.readers.gateway.unserved import UnservedReader as TLSRouteReader

__all__ = ["TLSRouteReader"]
