"""Which entries of a kubeconfig count, and what is wrong with these.  Pure.

The loader of the ``kubernetes`` package trusts the shape of what it reads, takes a user that is not there for nobody, and of several
files the last current context.  Here it is as in kubectl: of several files the first one counts that says something
(https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).  What no entry in use refers to is not judged.

Messages name fields, and what contexts, clusters and users are called; nothing else is quoted, for a kubeconfig holds keys and tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from ingress.cluster.api.api_status import one_line
from ingress.model.frozen import frozen
from ingress.object_fields import shape_of
from ingress.wording import first_of

_NAMED: Final = 20
_PROXIES: Final = frozenset({"http", "https", "socks4", "socks4a", "socks5", "socks5h"})
"""Schemes of proxies that the package knows."""
_TEXTS_OF_CLUSTER: Final = (
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    "tls-server-name",
)
_TEXTS_OF_USER: Final = (
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "username",
    "password",
)


class KubeconfigError(Exception):
    """A kubeconfig is not what it has to be; the text names the field and the reason, and quotes no secret."""


@frozen
class UsedContext:
    """The context that counts; *namespace* is empty where it names none."""

    name: str
    namespace: str


@frozen
class _Entry:
    """An entry of one of the lists; *path* is where its content stands, for messages."""

    path: str
    content: object


def used_context(configs: Sequence[tuple[str, object]], asked: str | None) -> UsedContext:
    """Return the context that *asked* names, or the files do; *configs* are names of files, each with what is in it.

    Raises ``KubeconfigError`` where that context, its cluster or its user is not there, or not of the shape that it has to be.
    """
    prefixes = [f"{name}: " if len(configs) > 1 else "" for name, _ in configs]
    files = [(prefix, _file(prefix, value)) for prefix, (_, value) in zip(prefixes, configs, strict=True)]
    contexts = _entries(files, "contexts", "context")
    name = _chosen(files, contexts, asked)
    entry = contexts[name]
    context = _mapping(entry.path, entry.content)
    _check_cluster(_referred(files, "cluster", entry.path, context))
    if context.get("user"):
        _check_user(_referred(files, "user", entry.path, context))
    return UsedContext(name, _text(entry.path, context, "namespace") or "")


def _chosen(
    files: Sequence[tuple[str, Mapping[str, object]]], contexts: Mapping[str, _Entry], asked: str | None
) -> str:
    there = f"there are {_names(contexts)}" if contexts else "there is none at all"
    if asked is not None:
        if asked not in contexts:
            raise KubeconfigError(f"there is no context {one_line(asked)}; {there}")
        return asked
    for prefix, config in files:
        current = _text(prefix, config, "current-context")
        if current and current not in contexts:
            raise KubeconfigError(
                f"{prefix}current-context: there is no context {one_line(current)}; {there}"
            )
        if current:
            return current
    raise KubeconfigError(f"it has no current-context, and none was named; {there}")


def _referred(
    files: Sequence[tuple[str, Mapping[str, object]]], kind: str, path: str, context: Mapping[str, object]
) -> _Entry:
    """Return the entry of *kind* that *context* names."""
    name = _text(path, context, kind)
    if not name:
        raise KubeconfigError(f"{path}.{kind} is missing")
    entries = _entries(files, f"{kind}s", kind)
    if name not in entries:
        there = f"; there are {_names(entries)}" if entries else ""
        raise KubeconfigError(f"{path}.{kind}: there is no {kind} {one_line(name)}{there}")
    return entries[name]


def _entries(files: Sequence[tuple[str, Mapping[str, object]]], field: str, kind: str) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    for prefix, config in files:
        listed = config.get(field)
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise KubeconfigError(f"{prefix}{field}: a list is wanted, but this is {shape_of(listed)}")
        for index, one in enumerate(listed):
            path = f"{prefix}{field}[{index}]"
            entry = _mapping(path, one)
            name = _text(path, entry, "name")
            if not name:
                raise KubeconfigError(f"{path}.name is missing")
            found.setdefault(name, _Entry(f"{path}.{kind}", entry.get(kind)))
    return found


def _check_cluster(entry: _Entry) -> None:
    cluster = _mapping(entry.path, entry.content)
    if not _text(entry.path, cluster, "server"):
        raise KubeconfigError(f"{entry.path}.server is missing: the cluster has no server")
    for field in _TEXTS_OF_CLUSTER:
        _text(entry.path, cluster, field)
    proxy = _text(entry.path, cluster, "proxy-url")
    if proxy and not _is_proxy(proxy):
        raise KubeconfigError(
            f"{entry.path}.proxy-url is no URL of a proxy, such as http://proxy.example.com:3128"
        )


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_user(entry: _Entry) -> None:
    user = _mapping(entry.path, entry.content)
    for field in _TEXTS_OF_USER:
        _text(entry.path, user, field)
    token = _text(entry.path, user, "token")
    if token and not (token.strip().isascii() and token.strip().isprintable()):
        raise KubeconfigError(f"{entry.path}.token has other characters than printable ones of ASCII")
    plugin = user.get("exec")
    if plugin is not None:
        path = f"{entry.path}.exec"
        for field in ("command", "apiVersion"):
            if not _text(path, _mapping(path, plugin), field):
                raise KubeconfigError(f"{path}.{field} is missing")


def _file(prefix: str, value: object) -> Mapping[str, object]:
    if value is None:
        raise KubeconfigError(f"{prefix}it is empty")
    if not isinstance(value, dict):
        raise KubeconfigError(f"{prefix}an object is wanted, but this is {shape_of(value)}")
    return value


def _mapping(path: str, value: object) -> Mapping[str, object]:
    if value is None:
        raise KubeconfigError(f"{path} is missing")
    if not isinstance(value, dict):
        raise KubeconfigError(f"{path}: an object is wanted, but this is {shape_of(value)}")
    return value


def _text(path: str, values: Mapping[str, object], field: str) -> str | None:
    """Return a member that is text, None where it is not there."""
    value = values.get(field)
    if value is None or isinstance(value, str):
        return value
    # What has no path is of the file itself, which a prefix may name.
    dot = "." if path and not path.endswith(" ") else ""
    raise KubeconfigError(f"{path}{dot}{field}: text is wanted, but this is {shape_of(value)}")


def _names(entries: Mapping[str, _Entry]) -> str:
    return first_of(list(map(one_line, sorted(entries))), _NAMED)
