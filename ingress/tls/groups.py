"""Which groups of the key exchange there are, of those that the operator asked for."""

from OpenSSL import SSL
from twisted.logger import Logger

from ingress.errors import StartError
from ingress.tls.profile import known_groups

log = Logger()


def usable_groups(asked: str) -> bytes:
    """Return those of ``--tls-groups`` that OpenSSL has, and tell which it lacks; ``StartError`` if that is all of them."""
    wanted = asked.encode("ascii")
    version = SSL.OpenSSL_version(SSL.OPENSSL_VERSION).decode("ascii", "replace")
    try:
        known = known_groups(wanted)
    except ValueError:
        raise StartError(f"--tls-groups: {version} has none of {asked}") from None
    missing = set(wanted.split(b":")) - set(known.split(b":"))
    if missing:
        log.warn(
            "{version} does not have {missing} of --tls-groups; {known} remain",
            version=version,
            missing=", ".join(sorted(one.decode("ascii") for one in missing)),
            known=known.decode("ascii"),
        )
    return known
