"""The Secrets and ConfigMaps of a cluster that its objects refer to, and no others.

ConfigMaps are read by their names.  Of Secrets there are two questions: whether they exist, which is asked so that no
content leaves the API server, or what stands below the keys that are needed.  Few of a namespace are asked for by name, so
that nothing of any other is sent; many by one list, where that is allowed, of certificates alone if it is for content.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from ingress.cluster.kinds import CONFIG_MAPS, KINDS, SECRETS
from ingress.cluster.projecting.project import project
from ingress.cluster.secrets.secret_references import ObjectReferences
from ingress.cluster.secrets.secret_rights import forbidden_problem
from ingress.ctl.inputs.input import Unread
from ingress.ctl.inputs.live.api_server import TABLE, ApiServer, Forbidden, items_of, names_in_table
from ingress.ctl.inputs.live.live_cluster import SecretReading
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.secrets import Needs
from ingress.model.frozen import frozen
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import KindRead
from ingress.wording import first_of

MOST_BY_NAME: Final = 4
"""How many Secrets of a namespace are asked for one by one; of more, a list of the namespace comes first."""

ASK_FOR_CONTENT: Final = "only whether they exist was asked; --secrets content reads what is needed of them"
LEFT_ALONE: Final = "--secrets none"


@frozen
class Referred:
    """What was read: *whole* are the kinds of which an object that is referred to and not there is missing."""

    objects: Mapping[ObjectId, Projection]
    whole: frozenset[Kind]
    unread: tuple[Unread, ...]


def read_referred_to(
    server: ApiServer,
    objects: Mapping[ObjectId, Projection],
    options: TranslateOptions,
    secrets: SecretReading,
    always: Collection[ObjectKey],
) -> Referred:
    """Read what *objects* and *options* refer to, and the ConfigMaps *always*."""
    found: dict[ObjectId, Projection] = {}
    refused: dict[ObjectKey, str] = {}
    for key in sorted({*_needs(objects, options, Kind.CONFIG_MAP), *always}):
        _keep(server, CONFIG_MAPS, key, frozenset(), found, refused)
    unread = _told(CONFIG_MAPS, refused)
    needs = _needs(objects, options, Kind.SECRET)
    if secrets is SecretReading.NONE:
        if needs:
            unread.append(Unread(_count(len(needs)), LEFT_ALONE))
        return Referred(found, frozenset({Kind.CONFIG_MAP}), tuple(unread))
    refused = {}
    by_namespace: dict[str, list[ObjectKey]] = {}
    for key in sorted(needs):
        by_namespace.setdefault(key.namespace, []).append(key)
    for namespace, keys in by_namespace.items():
        if secrets is SecretReading.NAMES:
            _look_for(server, namespace, keys, found, refused)
        else:
            _read(server, namespace, {key: needs[key] for key in keys}, found, refused)
    unread += _told(SECRETS, refused)
    if secrets is SecretReading.NAMES:
        there = sum(kind is Kind.SECRET and key not in refused for kind, key in found)
        if there:
            unread.append(Unread(f"the content of {_count(there)}", ASK_FOR_CONTENT))
    return Referred(found, frozenset({Kind.CONFIG_MAP, Kind.SECRET}), tuple(unread))


def _needs(objects: Mapping[ObjectId, Projection], options: TranslateOptions, kind: Kind) -> Needs:
    references = ObjectReferences(options, KINDS.routes, kind)
    references.changed(objects)
    return references.begin_at_once()


def _keep(
    server: ApiServer,
    read: KindRead,
    key: ObjectKey,
    keys: frozenset[str],
    found: dict[ObjectId, Projection],
    refused: dict[ObjectKey, str],
) -> None:
    """Read one object by its name into *found*, or why it may not be read into *refused*."""
    raw = server.single(read.object_path(key))
    if isinstance(raw, Forbidden):
        refused[key] = raw.why
        found[read.kind, key] = _not_read(read, key)
    elif raw is not None:
        found[read.kind, key] = project(read, raw, "", keys, key)[1]


def _not_read(read: KindRead, key: ObjectKey) -> Projection:
    """Return what stands for an object that may be there, and whose content is not known."""
    return Projection(None, (forbidden_problem(read, key),))


def _look_for(
    server: ApiServer,
    namespace: str,
    keys: Iterable[ObjectKey],
    found: dict[ObjectId, Projection],
    refused: dict[ObjectKey, str],
) -> None:
    """Find out which of *keys* exist."""
    wanted = list(keys)
    if len(wanted) > MOST_BY_NAME:
        names = server.listed(SECRETS.path(namespace), names_in_table, accept=TABLE)
        if not isinstance(names, Forbidden):
            there = set(names)
            found.update({(Kind.SECRET, key): _not_read(SECRETS, key) for key in wanted if key.name in there})
            return
    for key in wanted:
        answer = server.exists(SECRETS.object_path(key))
        if isinstance(answer, Forbidden):
            refused[key] = answer.why
        if answer is not False:
            found[Kind.SECRET, key] = _not_read(SECRETS, key)


def _read(
    server: ApiServer,
    namespace: str,
    needs: Needs,
    found: dict[ObjectId, Projection],
    refused: dict[ObjectKey, str],
) -> None:
    """Read what is needed of the Secrets *needs*, all in *namespace*."""
    if len(needs) > MOST_BY_NAME:

        def take(page: dict[str, Any]) -> list[tuple[ObjectId, Projection]]:
            named = ((_key_of(raw), raw) for raw in items_of(page))
            return [
                ((Kind.SECRET, key), project(SECRETS, raw, "", needs[key], key)[1])
                for key, raw in named
                if key in needs
            ]

        listed = server.listed(SECRETS.path(namespace), take, selector=SECRETS.field_selector)
        if not isinstance(listed, Forbidden):
            found.update(listed)
    for key, keys in needs.items():
        if (Kind.SECRET, key) not in found:
            _keep(server, SECRETS, key, keys, found, refused)


def _key_of(raw: object) -> ObjectKey:
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict):
        return ObjectKey("", "")
    return ObjectKey(str(metadata.get("namespace")), str(metadata.get("name")))


def _told(read: KindRead, refused: Mapping[ObjectKey, str]) -> list[Unread]:
    if not refused:
        return []
    keys = list(refused)
    return [Unread(f"{read.kind} {first_of(list(map(str, keys)), 1)}", refused[keys[0]])]


def _count(number: int) -> str:
    return "one Secret that is referred to" if number == 1 else f"{number} Secrets that are referred to"
