"""The filters of the Gateway API: what rules of routes, and their backends, ask for, as specs and live filters.

One module a sort: ``field_edits`` (``RequestHeaderModifier``, ``ResponseHeaderModifier``), ``redirects``, ``rewrites``, ``mirrors``,
``cross_origin`` (CORS), ``paths`` for what two of them put in place of paths; and ``refusals``, which stand before a rule that cannot be served as it was meant.  Who reads the objects
is ``ingress.translate.readers.gateway.routes.filter_reading``; here are values that make sense, and what says why others do not.

Filters stand in their chain by phase, whatever their order in the object: a redirect answers before a mirror copies.  Edits of a mirror's
copy are those that stand before the mirror in the object.

Source: ``HTTPRouteFilter`` and ``GRPCRouteFilter`` of ``gateway.networking.k8s.io/v1``.
"""
