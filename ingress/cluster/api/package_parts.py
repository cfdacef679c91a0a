"""What we use of the ``kubernetes`` package, without what it imports besides.

Whoever imports a module of it has its ``__init__`` import the rest: clients of OAuth and of WebSockets, a library that validates, another
client of HTTP.  These are sixteen megabytes and a fifth of a second, and a process that runs in a pod uses nothing of them.  So the packages
on the way stand there empty while ours is imported, and are taken away afterwards: whoever imports one of them then, as we do where
there is a kubeconfig to be read, gets it whole, with the same modules in it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec


@contextmanager
def _empty(*packages: str) -> Iterator[None]:
    """Have *packages*, outer ones first, stand there without anything that they import, unless somebody has imported them."""
    made = []
    try:
        for name in packages:
            if name not in sys.modules and (spec := find_spec(name)) is not None:
                sys.modules[name] = module_from_spec(spec)
                made.append(name)
        yield
    finally:
        for name in made:
            del sys.modules[name]


with _empty("kubernetes", "kubernetes.config", "kubernetes.utils"):
    from kubernetes.client.configuration import Configuration as Configuration
    from kubernetes.client.exceptions import ApiException as ApiException
    from kubernetes.client.rest import RESTClientObject as RESTClientObject
    from kubernetes.client.rest import should_bypass_proxies as should_bypass_proxies
    from kubernetes.config.config_exception import ConfigException as ConfigException
    from kubernetes.config.incluster_config import InClusterConfigLoader as InClusterConfigLoader
