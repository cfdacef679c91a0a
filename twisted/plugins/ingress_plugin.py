"""The ``twistd ingress`` command.

Twisted imports every module of ``twisted/plugins`` whenever any ``twistd``
command lists its sub-commands, so nothing but the announcement stands here; the
module it names is imported only when the command runs.  Neither ``twisted/`` nor
``twisted/plugins/`` may hold an ``__init__.py``: it would hide Twisted itself.
"""

from typing import Any

from twisted.application.service import ServiceMaker


class _IngressMaker(ServiceMaker):
    """Has the collector do less before the rest is imported, most of which stays."""

    @property
    def options(self) -> Any:
        """The class of the options, with which the command begins."""
        from ingress.process.interpreter import walk_through_the_young_only

        walk_through_the_young_only()
        return super().options


ingress = _IngressMaker(
    "Kubernetes Ingress controller",
    "ingress.tap",
    "A Kubernetes Ingress controller that is itself the proxy",
    "ingress",
)
