"""The reader of HTTPRoutes."""

from ingress.translate.readers.gateway.unserved import UnservedReader as HTTPRouteReader

__all__ = ["HTTPRouteReader"]
