"""Which versions run here: of this program, and of what it stands on."""

import platform
from collections.abc import Mapping

from OpenSSL import SSL

import twisted
from ingress.process.version import running_code, running_version


def versions() -> Mapping[str, str]:
    """Return them by ``version`` (of this program; empty where it is not installed), ``code``, ``python``, ``twisted`` and ``openssl``.

    ``code`` is ``compiled`` or ``plain``.
    """
    openssl = SSL.OpenSSL_version(SSL.OPENSSL_VERSION).decode("ascii", "replace").split(" ")
    return {
        "version": running_version(),
        "code": running_code(),
        "python": platform.python_version(),
        "twisted": twisted.__version__,
        "openssl": openssl[1] if len(openssl) > 1 else openssl[0],
    }
