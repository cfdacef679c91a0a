"""``allow``, ``deny`` and ``limit_except``: who may come in, as data, and the verdict by it."""

import re

from ingress.annotations.contract.snippet_blocks import AccessRule, Level
from ingress.annotations.contract.values import quoted
from ingress.annotations.nginx.field_directives import DirectiveRefused
from ingress.model.network.networks import client_address, read_network

_is_method = re.compile(r"[A-Z]{1,32}", re.ASCII).fullmatch


def read_access(name: str, words: tuple[str, ...]) -> AccessRule | None:
    """Read ``allow`` or ``deny``; None for sockets that no client comes from."""
    allows = name == "allow"
    if len(words) != 1:
        raise DirectiveRefused("takes an address, a network or all")
    word = words[0]
    if word == "all":
        return AccessRule(allows)
    if word == "unix:":
        return None
    try:
        return AccessRule(allows, read_network(word))
    except ValueError:
        raise DirectiveRefused(f"has {quoted(word)}, which is no address or network") from None


def read_methods(words: tuple[str, ...]) -> frozenset[bytes]:
    """Read the methods of ``limit_except``; as in nginx, HEAD comes with GET."""
    if not words or not all(map(_is_method, words)):
        raise DirectiveRefused("takes methods")
    found = frozenset(word.encode() for word in words)
    return found | {b"HEAD"} if b"GET" in found else found


def lets_in(level: Level, method: bytes, client: bytes) -> bool:
    """Whether *client* may come in where *level* holds; as in nginx, the first rule that is about it decides."""
    for limited in level.by_method:
        if method not in limited.methods and not _allows(limited.rules, client):
            return False
    if not all(_allows(rules, client) for rules in level.kept):
        return False
    return _allows(level.access, client)


def _allows(rules: tuple[AccessRule, ...], client: bytes) -> bool:
    if not rules:
        return True
    address = client_address(client)
    version, number = (0, 0) if address is None else (address.version, int(address))
    for rule in rules:
        network = rule.network
        if network is None or (version == network.version and network.first <= number <= network.last):
            return rule.allows
    return True
