"""The ``twistd ingress`` command.

Twisted imports every module of ``twisted/plugins`` whenever any ``twistd``
command lists its sub-commands, so nothing but the announcement stands here; the
module it names is imported only when the command runs.  Neither ``twisted/`` nor
``twisted/plugins/`` may hold an ``__init__.py``: it would hide Twisted itself.
"""

from twisted.application.service import ServiceMaker

ingress = ServiceMaker(
    "Kubernetes Ingress controller",
    "ingress.tap",
    "A Kubernetes Ingress controller that is itself the proxy",
    "ingress",
)
