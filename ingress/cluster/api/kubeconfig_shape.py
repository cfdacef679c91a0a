"""Which entries of a kubeconfig count, and what is wrong with these.  Pure.

The loader of the ``kubernetes`` package trusts the shape of what it reads, takes a user that is not there for nobody, of several
files the last current context, a field without a value for one with, and the files that a user names for files beside those of the cluster.
Here it is as in kubectl: of several files the first one counts that says something, and files are beside the one that names them
(https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).  What no entry in use refers to is not judged,
nor given to the loader.

Messages name fields, and what contexts, clusters and users are called; nothing else is quoted, for a kubeconfig holds keys and tokens.
"""

import binascii
import re
from base64 import standard_b64decode
from collections.abc import Mapping, Sequence
from posixpath import join
from typing import Any, Final
from urllib.parse import quote, urlsplit

from ingress.cluster.api.api_status import one_line
from ingress.model.frozen import frozen
from ingress.object_fields import shape_of
from ingress.wording import first_of

_NAMED: Final = 20
_PROXIES: Final = frozenset({"http", "https", "socks4", "socks4a", "socks5", "socks5h"})
"""Schemes of proxies that the package knows."""
PROXY_EXAMPLE: Final = "such as http://proxy.example.com:3128"
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
    "as",
    "as-uid",
)
_AUTH_PROVIDERS: Final = ("gcp", "oidc")
"""Those that the package knows; it goes on as nobody with any other."""
_NAME_CHARACTERS: Final = "!#$&'*+^`|"
"""Those that the name of a header field may have besides letters, digits and ``-._~`` (RFC 9110, section 5.6.2), without ``%``."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class KubeconfigError(Exception):
    """A kubeconfig is not what it has to be; the text names the field and the reason, and quotes no secret."""


@frozen
class KubeconfigFile:
    """What is in a file called *name* in *folder*, an absolute path."""

    name: str
    folder: str
    content: object


@frozen
class UsedContext:
    """The context that counts; *namespace* is empty where it names none."""

    namespace: str
    config: dict[str, Any]
    """A kubeconfig with nothing else in it, which means the same wherever it is."""
    impersonation: tuple[tuple[str, str], ...]
    """Header fields, names with values, by which a request asks to be taken for one of the user whom the first one names; a name may come twice."""


@frozen
class _File:
    """A file; *prefix* names it in messages, where there are several."""

    prefix: str
    folder: str
    content: Mapping[str, object]


@frozen
class _Entry:
    """An entry of one of the lists; *path* is where its content stands, for messages, and *folder* that of its file."""

    path: str
    folder: str
    content: object


def used_context(configs: Sequence[KubeconfigFile], asked: str | None) -> UsedContext:
    """Return the context that *asked* names, or *configs* do.

    Raises ``KubeconfigError`` where that context, its cluster or its user is not there, or not of the shape that it has to be.
    """
    files = _files(configs)
    contexts = _entries(files, "contexts", "context")
    name = _chosen(files, contexts, asked)
    entry = contexts[name]
    context = _mapping(entry.path, entry.content)
    cluster = _cluster(_referred(files, "cluster", entry.path, context))
    user: dict[str, object] = {}
    impersonation: tuple[tuple[str, str], ...] = ()
    if context.get("user"):
        referred = _referred(files, "user", entry.path, context)
        user = _user(referred)
        impersonation = _impersonation(referred.path, user)
    config = {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
    }
    return UsedContext(_text(entry.path, context, "namespace") or "", config, impersonation)


def _files(configs: Sequence[KubeconfigFile]) -> list[_File]:
    """Return what is in *configs*; of several, one may be empty."""
    files = []
    for config in configs:
        prefix = f"{config.name}: " if len(configs) > 1 else ""
        content = config.content
        if content is None and not prefix:
            raise KubeconfigError("it is empty")
        if not isinstance(content, dict | None):
            raise KubeconfigError(f"{prefix}an object is wanted, but this is {shape_of(content)}")
        files.append(_File(prefix, config.folder, content or {}))
    return files


def _chosen(files: Sequence[_File], contexts: Mapping[str, _Entry], asked: str | None) -> str:
    there = f"there are {_names(contexts)}" if contexts else "there is none at all"
    if asked is not None:
        if asked not in contexts:
            raise KubeconfigError(f"there is no context {one_line(asked)}; {there}")
        return asked
    for file in files:
        prefix = file.prefix
        current = _text(prefix, file.content, "current-context")
        if current and current not in contexts:
            raise KubeconfigError(
                f"{prefix}current-context: there is no context {one_line(current)}; {there}"
            )
        if current:
            return current
    raise KubeconfigError(f"it has no current-context, and none was named; {there}")


def _referred(files: Sequence[_File], kind: str, path: str, context: Mapping[str, object]) -> _Entry:
    """Return the entry of *kind* that *context* names."""
    name = _text(path, context, kind)
    if not name:
        raise KubeconfigError(f"{path}.{kind} is missing")
    entries = _entries(files, f"{kind}s", kind)
    if name not in entries:
        there = f"; there are {_names(entries)}" if entries else ""
        raise KubeconfigError(f"{path}.{kind}: there is no {kind} {one_line(name)}{there}")
    return entries[name]


def _entries(files: Sequence[_File], field: str, kind: str) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    for file in files:
        prefix = file.prefix
        listed = file.content.get(field)
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
            # One without a value, such as of a user who needs nothing, is as one without fields.
            content = {} if kind in entry and entry[kind] is None else entry.get(kind)
            found.setdefault(name, _Entry(f"{path}.{kind}", file.folder, content))
    return found


def _cluster(entry: _Entry) -> dict[str, object]:
    cluster = _placed(entry, _mapping(entry.path, entry.content), _TEXTS_OF_CLUSTER)
    if not _text(entry.path, cluster, "server"):
        raise KubeconfigError(f"{entry.path}.server is missing: the cluster has no server")
    # The package would take any text, "false" too, for yes, and verify no certificate.
    _truth(entry.path, cluster, "insecure-skip-tls-verify")
    extensions = cluster.get("extensions")
    if extensions is not None and not isinstance(extensions, list):
        raise KubeconfigError(
            f"{entry.path}.extensions: a list is wanted, but this is {shape_of(extensions)}"
        )
    proxy = _text(entry.path, cluster, "proxy-url")
    if proxy and not is_proxy(proxy):
        raise KubeconfigError(f"{entry.path}.proxy-url is no URL of a proxy, {PROXY_EXAMPLE}")
    return cluster


def is_proxy(url: str) -> bool:
    """Whether *url* is that of a proxy which the package knows how to use."""
    try:
        parts = urlsplit(url)
        return parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _user(entry: _Entry) -> dict[str, object]:
    user = _placed(entry, _mapping(entry.path, entry.content), _TEXTS_OF_USER)
    token = _text(entry.path, user, "token")
    if token and not (token.strip().isascii() and token.strip().isprintable()):
        raise KubeconfigError(f"{entry.path}.token has other characters than printable ones of ASCII")
    if "auth-provider" in user:
        path = f"{entry.path}.auth-provider"
        name = _text(path, _mapping(path, user["auth-provider"]), "name")
        if name not in _AUTH_PROVIDERS:
            raise KubeconfigError(
                f"{path}.name: there is no auth provider {one_line(name or '')!r}; there are {', '.join(_AUTH_PROVIDERS)}."
                " A credential plugin (exec) does the same"
            )
    if "exec" in user:
        path = f"{entry.path}.exec"
        plugin = _mapping(path, user["exec"])
        for field in ("command", "apiVersion"):
            if not _text(path, plugin, field):
                raise KubeconfigError(f"{path}.{field} is missing")
        _truth(path, plugin, "provideClusterInfo")
        _text(path, plugin, "interactiveMode")
        command = str(plugin["command"])
        # One without a slash is looked for where all programs are.
        if "/" in command:
            user["exec"] = {**plugin, "command": join(entry.folder, command)}
    return user


def _impersonation(path: str, user: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the fields of ``UsedContext.impersonation``, as client-go sends them for *user*.

    https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/ has their names, and how keys of ``as-user-extra`` are
    written in them.
    """
    fields: list[tuple[str, str, object]] = [
        ("as", "User", user.get("as")),
        ("as-uid", "Uid", user.get("as-uid")),
    ]
    fields += (("as-groups", "Group", group) for group in _list(f"{path}.as-groups", user.get("as-groups")))
    extra = user.get("as-user-extra")
    for key, values in _mapping(f"{path}.as-user-extra", {} if extra is None else extra).items():
        name = f"Extra-{quote(str(key), safe=_NAME_CHARACTERS, errors='surrogatepass')}"
        fields += (("as-user-extra", name, value) for value in _list(f"{path}.as-user-extra", values))
    found = []
    for field, name, value in fields:
        if value is None:
            continue
        if not user.get("as"):
            raise KubeconfigError(f"{path}.as is missing, the user whom {field} belongs to")
        if not isinstance(value, str):
            raise KubeconfigError(f"{path}.{field}: texts are wanted, but here is {shape_of(value)}")
        if _CONTROL.search(value):
            raise KubeconfigError(f"{path}.{field} has control characters")
        found.append((f"Impersonate-{name}", value))
    return tuple(found)


def _list(path: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | None):
        raise KubeconfigError(f"{path}: a list is wanted, but this is {shape_of(value)}")
    return value or ()


def _placed(entry: _Entry, values: Mapping[str, object], texts: Sequence[str]) -> dict[str, object]:
    """Return those of *values* that say something, with the whole paths of files.  *texts* are the fields that are text."""
    for field in texts:
        text = _text(entry.path, values, field)
        if text and field.endswith("-data"):
            try:
                standard_b64decode(text)
            except (binascii.Error, ValueError):
                raise KubeconfigError(f"{entry.path}.{field} is no base64") from None
    placed = {field: value for field, value in values.items() if value not in (None, "")}
    for field in _FILES:
        if field in placed and field in texts:
            placed[field] = join(entry.folder, str(placed[field]))
    return placed


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


def _truth(path: str, values: Mapping[str, object], field: str) -> None:
    value = values.get(field)
    if value is not None and not isinstance(value, bool):
        raise KubeconfigError(f"{path}.{field}: true or false is wanted, but this is {shape_of(value)}")


def _names(entries: Mapping[str, _Entry]) -> str:
    return first_of(list(map(one_line, sorted(entries))), _NAMED)
