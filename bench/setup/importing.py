"""Imports all of the package that can be before a process is forked, for whom starts many controllers."""

import importlib
import pkgutil
import sys
from types import ModuleType

import ingress

# Who imports the command line starts no controller; the other one needs an extra, and is for those alone that trace.
_NOT_BEFORE_FORK = ("ingress.ctl", "ingress.tracing.otlp")
_BESIDES = (
    "twisted.scripts.twistd",
    "twisted.web.server",
    "twisted.web.static",
    "h2",
    "kubernetes.client.rest",
    "yaml",
)
_REACTOR = "twisted.internet.reactor"
_NAMES_IT = "twisted.web.proxy"
"""Makes the reactor a default of functions, which all of ours are called with their own: it would be installed for that alone."""


def import_ours() -> None:
    """Import what a controller needs, as far as that installs no reactor: which one it is a process has to choose by itself."""
    for name in _BESIDES:
        importlib.import_module(name)
    nobody = sys.modules[_REACTOR] = ModuleType("nobody's reactor")
    try:
        for module in pkgutil.walk_packages(ingress.__path__, "ingress."):
            if not module.name.startswith(_NOT_BEFORE_FORK):
                importlib.import_module(module.name)
    finally:
        del sys.modules[_REACTOR]
    having = [name for name, module in sys.modules.items() if getattr(module, "reactor", None) is nobody]
    assert having == [_NAMES_IT], having
