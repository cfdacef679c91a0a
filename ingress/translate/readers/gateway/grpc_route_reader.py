"""The reader of GRPCRoutes."""

from ingress.translate.readers.gateway.unserved import UnservedReader as GRPCRouteReader

__all__ = ["GRPCRouteReader"]
