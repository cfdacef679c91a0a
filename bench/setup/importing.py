"""Imports all of the package that can be before a process is forked, for whom starts many controllers."""

import importlib
import pkgutil
import sys

import ingress

# Importing them installs the global reactor, which a process must do by itself; or it needs an extra, and is for those alone that trace.
_NOT_BEFORE_FORK = (
    "ingress.cluster_side",
    "ingress.ctl",
    "ingress.data_plane",
    "ingress.options_in_force",
    "ingress.proxy.dispatch",
    "ingress.proxy.downstream",
    "ingress.proxy.listening",
    "ingress.proxy.udp",
    "ingress.service",
    "ingress.tracing.otlp",
    "ingress.workers",
)
_BESIDES = (
    "twisted.scripts.twistd",
    "twisted.web.server",
    "twisted.web.static",
    "h2",
    "kubernetes.client.rest",
    "yaml",
)


def import_ours() -> None:
    """Import what a controller needs, as far as that installs no reactor."""
    for name in _BESIDES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(ingress.__path__, "ingress."):
        if not module.name.startswith(_NOT_BEFORE_FORK):
            importlib.import_module(module.name)
    assert "twisted.internet.reactor" not in sys.modules
