"""Reads what a controller would read of a cluster: once, with whatever rights the person has.

Kinds are listed in the whole cluster, or in the namespaces that were named.  Where the former is forbidden, each namespace
is tried that the person can see, or that of the context alone.  What may not be read is told as that, and is never taken
for absent (``Coverage``).
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from threading import Event
from typing import Any, Final

from attrs import evolve

from ingress.cluster.api.api_client import ApiAccess
from ingress.cluster.api.credentials import CredentialSource
from ingress.cluster.kinds import KINDS, REFERRED_TO, ObjectKinds
from ingress.cluster.projecting.project import project
from ingress.cluster.store import Store
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.beside import ROUTE_KINDS, Beside
from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input, Unread, Workload
from ingress.ctl.inputs.like import LikeOptions
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden, items_of
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.inputs.live.referring import read_referred_to
from ingress.ctl.inputs.live.workloads import FoundWorkloads, find_around, find_workloads, options_like
from ingress.ctl.inputs.selected import left_alone
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.secrets import is_secret_name
from ingress.settings import Settings
from ingress.translate.readers.gateway.kinds import VERSION
from ingress.translate.readers.gateway.objects.names import GROUP, NAMESPACE
from ingress.translate.readers.reader import KindRead
from ingress.wording import first_of, number_of, plural_of

CONNECT_SECONDS: Final = 5.0
SILENCE_SECONDS: Final = 30.0
_NAMESPACES: Final = "/api/v1/namespaces"
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAMED: Final = 3
_MOST_BY_NAME: Final = 100

_Found = tuple[ObjectKey | None, Projection]

_wait: Final = Event().wait


def read_live(
    asked: LiveCluster,
    settings: Settings,
    now: datetime,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = _wait,
    silence_seconds: float = SILENCE_SECONDS,
) -> Input:
    """Read the cluster *asked* for; raises ``Mistake`` where nothing can be said of it.

    *clock* returns monotonic seconds, *sleep* waits for so many, *silence_seconds* is how long an answer may say nothing.
    """
    with _server(asked, environ, clock, sleep, silence_seconds) as server:
        return _Reading(server, asked, settings).input(now)


def read_like(asked: LiveCluster) -> LikeOptions:
    """Read the options of the controller that *asked* names; raises ``Mistake``."""
    namespace, slash, name = asked.like.partition("/")
    if not slash or _NAMESPACE.fullmatch(namespace) is None or not is_secret_name(name):
        raise Mistake(f"--like {asked.like!r} is not of the form NAMESPACE/NAME")
    with _server(asked) as server:
        return options_like(server, ObjectKey(namespace, name))


def read_workloads(asked: LiveCluster, namespaces: Collection[str]) -> FoundWorkloads:
    """Look for ingress-nginx in the cluster *asked* for, or in *namespaces* alone where all of it is forbidden."""
    with _server(asked) as server:
        return find_workloads(server, namespaces)


def read_around(asked: LiveCluster, workloads: Collection[Workload]) -> FoundWorkloads:
    """Return *workloads*, which were named, with what may be around them in the cluster *asked* for."""
    with _server(asked) as server:
        return FoundWorkloads(tuple(workloads), *find_around(server, workloads))


@contextmanager
def _server(
    asked: LiveCluster,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = _wait,
    silence_seconds: float = SILENCE_SECONDS,
) -> Iterator[ApiServer]:
    """Have a connection to the API server of the cluster *asked* for."""
    for namespace in asked.namespaces:
        if _NAMESPACE.fullmatch(namespace) is None:
            raise Mistake(f"--namespace {namespace!r}: that is no name of a namespace")
    access = ApiAccess(
        CredentialSource(asked.kubeconfig, asked.context, asked.server, environ, clock=clock),
        connect_seconds=CONNECT_SECONDS,
        read_seconds=silence_seconds,
        clock=clock,
    )
    server = ApiServer(access, clock, sleep)
    try:
        yield server
    finally:
        server.close()


class _Reading:
    """One way through a cluster."""

    def __init__(self, server: ApiServer, asked: LiveCluster, settings: Settings) -> None:
        self._server = server
        self._asked = asked
        self._settings = settings
        self._prefix = settings.translate.annotations_prefix
        self._objects: dict[ObjectId, Projection] = {}
        self._beside = Beside(self._prefix)
        self._whole: set[Kind] = set()
        self._namespaces: dict[Kind, frozenset[str]] = {}
        self._unread: list[Unread] = []
        self._visible: tuple[str, ...] | None = None
        self._defined: frozenset[str] | None = None
        self._unlisted_namespaces: KindRead | None = None
        """How Namespaces are read, where a selector goes by their labels and they may not be listed."""

    def input(self, now: datetime) -> Input:
        """Read everything."""
        selector = self._settings.namespace_selector
        for kind, read in ObjectKinds(selects_namespaces=selector is not None).items():
            if read in REFERRED_TO or read.metadata_only:
                continue
            if read.definition and not self._is_served(read):
                # There is none of it, whatever the rights.
                self._whole.add(kind)
                continue
            self._read_kind(kind, read)
        self._expect_namespaces()
        unknown = self._read_namespaces_by_name()
        left, told = left_alone(self._objects, selector, unknown)
        self._unread += told
        for object_id in left:
            del self._objects[object_id]
        referred = read_referred_to(
            self._server,
            self._objects,
            self._settings.translate,
            self._asked.secrets,
            always=self._settings.config_maps,
        )
        self._objects.update(referred.objects)
        store = Store()
        store.changed(self._objects)
        # No selector hides a Secret here: each is asked for that is referred to.
        translating = evolve(self._settings.translate, from_manifests=False)
        return Input(
            state=store.state(),
            settings=evolve(self._settings, translate=translating, secret_field_selector=""),
            now=now,
            coverage=Coverage(frozenset(self._whole | referred.whole), self._namespaces),
            labels=self._beside.labels,
            strays=self._beside.strays,
            unknown=self._beside.unknown,
            unread=(*self._unread, *referred.unread),
        )

    def _is_served(self, read: KindRead) -> bool:
        """Whether the API server has a kind that needs a definition; everybody may ask for that."""
        if self._defined is None:
            self._defined = self._server.plurals(GROUP, VERSION)
        return read.definition.partition(".")[0] in self._defined

    def _read_kind(self, kind: Kind, read: KindRead) -> None:
        if not (read.namespaced and self._asked.namespaces):
            refusal = self._list(kind, read, "")
            if refusal is None:
                self._whole.add(kind)
                return
            if kind is NAMESPACE:
                self._unlisted_namespaces = read
                return
            if not read.namespaced:
                self._unread.append(Unread(plural_of(kind), refusal.why, kind in ROUTE_KINDS))
                return
        self._read_kind_by_namespace(kind, read)

    def _read_kind_by_namespace(self, kind: Kind, read: KindRead) -> None:
        known: list[str] = []
        refused: dict[str, str] = {}
        for namespace in self._asked.namespaces or self._visible_namespaces():
            refusal = self._list(kind, read, namespace)
            if refusal is None:
                known.append(namespace)
            else:
                refused[namespace] = refusal.why
        self._namespaces[kind] = frozenset(known)
        if not refused:
            return
        why = next(iter(refused.values()))
        if not known and kind in ROUTE_KINDS:
            hint = "" if self._asked.namespaces else "; name a namespace of yours with --namespace"
            raise Mistake(f"{plural_of(kind)} may not be read in {_named(refused)}: {why}{hint}")
        self._unread.append(Unread(f"{plural_of(kind)} in {_named(refused)}", why))

    def _visible_namespaces(self) -> tuple[str, ...]:
        """Return the namespaces to try where the whole cluster is forbidden."""
        if self._visible is None:
            found = self._server.listed(_NAMESPACES, _names)
            if isinstance(found, Forbidden) or not found:
                self._visible = (self._server.namespace,)
            else:
                self._visible = tuple(sorted(found))
        return self._visible

    def _read_namespaces_by_name(self) -> frozenset[str]:
        """Read each Namespace that has something, where they may not be listed; return those that may not be read either, and tell so.

        Whoever may read a namespace may mostly read its Namespace, too.
        """
        read = self._unlisted_namespaces
        if read is None:
            return frozenset()
        unread: dict[str, str] = {}
        names = {key.namespace for kind, key in self._objects if kind in KINDS.selected}
        for number, name in enumerate(sorted(names)):
            if number >= _MOST_BY_NAME:
                unread[name] = f"more than {_MOST_BY_NAME} of them are not read by their names"
                continue
            found = self._server.single(f"{_NAMESPACES}/{name}")
            if isinstance(found, Forbidden):
                unread[name] = found.why
            elif found is not None:
                key, projection = project(read, found, self._prefix)
                if key is not None:
                    self._objects[NAMESPACE, key] = projection
        if unread:
            why = f"--watch-namespace-selector goes by these, so all there is judged: {next(iter(unread.values()))}"
            self._unread.append(Unread(f"labels of {_named(unread)}", why))
        return frozenset(unread)

    def _list(self, kind: Kind, read: KindRead, namespace: str) -> Forbidden | None:
        """List *kind* in *namespace*, the empty one for the whole cluster; keep what comes, or say why it may not be read."""

        def take(page: dict[str, Any]) -> list[_Found]:
            found: list[_Found] = []
            for raw in items_of(page):
                key, projection = project(read, raw, self._prefix)
                found.append((key, projection))
                if key is not None:
                    self._beside.saw((kind, key), raw)
            return found

        listed = self._server.listed(read.path(namespace), take, selector=read.field_selector)
        if isinstance(listed, Forbidden):
            return listed
        self._objects.update(((kind, key), projection) for key, projection in listed if key is not None)
        nameless = [projection for key, projection in listed if key is None]
        if nameless:
            self._unread.append(_without_name(kind, namespace, nameless))
        return None

    def _expect_namespaces(self) -> None:
        """Tell of a namespace that was named, has nothing, and does not exist: its name is a slip."""
        inhabited = {key.namespace for _, key in self._objects}
        for namespace in self._asked.namespaces:
            if namespace not in inhabited and self._server.exists(f"{_NAMESPACES}/{namespace}") is False:
                raise Mistake(f"there is no namespace {namespace} at {self._server.url}")


def _without_name(kind: Kind, namespace: str, nameless: Collection[Projection]) -> Unread:
    """Return what is told of objects that cannot be told apart, and so are not read."""
    why = dict.fromkeys(_told(problem) for one in nameless for problem in one.problems[:1])
    where = f" in {namespace}" if namespace else ""
    return Unread(f"{number_of(len(nameless), kind)}{where}", first_of(list(why), _NAMED))


def _told(problem: Problem) -> str:
    field = f"{problem.field} {problem.message}" if problem.field else problem.message
    return f"{problem.name}: {field}" if problem.name else field


def _names(page: dict[str, Any]) -> list[str]:
    found = (raw["metadata"].get("name") for raw in items_of(page) if _has_metadata(raw))
    return [name for name in found if isinstance(name, str) and name]


def _has_metadata(raw: object) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("metadata"), dict)


def _named(namespaces: Iterable[str]) -> str:
    return first_of(sorted(namespaces), _NAMED, "namespaces")
