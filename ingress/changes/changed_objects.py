"""Tells which objects came, went and changed, and what that did to routes, endpoints and certificates.

    published ──▶ window: a second at least ──▶ found in slices ──▶ told: each by itself, or, of very many, by kind

One look a second at most: what is published within it is told together, as of its end.  The log's line of each second
(``ingress.history.publication_log``) counts what is told here one by one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.changes.certificate_effects import Renewed, certificate_effects
from ingress.changes.endpoint_effects import EndpointsChanged, endpoint_effects
from ingress.changes.replaced_values import replaced
from ingress.changes.route_effects import Effect, Effects, route_effects
from ingress.history.publication_log import REPORT_SECONDS, all_joined
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.stepwise import let_go
from ingress.process.in_slices import SLICE_SECONDS
from ingress.translate.snapshot import Snapshot
from ingress.wording import first_of, number_of

log = Logger()

MOST_TOLD: Final = 20
"""So many changes of one sort are told one by one at a time; of more objects there is one change for each kind."""

Tell = Callable[[Mark, str], object]


class ChangedObjects:
    """Is told of each snapshot, and has *tell* called with changes; *clock* delays.  Reactor thread."""

    def __init__(self, clock: IReactorTime, tell: Tell) -> None:
        self._clock = clock
        self._tell = tell
        self._before: Snapshot | None = None
        """What the window began with; None where nothing was published since the last one."""
        self._after: Snapshot | None = None
        self._objects: list[Mapping[ObjectId, str]] = []
        """What became of objects, by each of the snapshots since."""
        self._told_at: float | None = None
        self._looking: Iterator[None] | None = None
        self._call: IDelayedCall | None = None

    def began(self, snapshot: Snapshot, served: Mapping[Kind, int]) -> None:
        """Tell of the first *snapshot*, and how many objects are *served* by it."""
        what = [number_of(count, kind) for kind, count in sorted(served.items()) if count]
        routes = f"{number_of(snapshot.route_count, 'route')} of {number_of(snapshot.host_count, 'host')}"
        text = f"The first snapshot: {', '.join(what) or 'no object'}; {routes}"
        self._tell(Mark(ChangeSort.OBJECT, "came"), text)

    def published(self, before: Snapshot, after: Snapshot, objects: Mapping[ObjectId, str]) -> None:
        """Tell soon what *after* has otherwise than *before*; *objects*, which stays as it is, has what became of those that matter."""
        if self._before is None:
            self._before = before
        self._after = after
        if objects:
            self._objects.append(objects)
        if self._call is None:
            now = self._clock.seconds()
            rest = 0.0 if self._told_at is None else self._told_at + REPORT_SECONDS - now
            self._call = self._clock.callLater(min(max(rest, 0.0), REPORT_SECONDS), self._look)

    def stop(self) -> None:
        """Tell nothing any more."""
        if self._call is not None:
            self._call.cancel()
            self._call = None
        self._looking = self._before = self._after = None
        self._objects = []

    def _look(self) -> None:
        """Go on for a slice; begin with what was published since, if there is nothing to go on with."""
        self._call = None
        if self._looking is None:
            before, after, objects = self._before, self._after, self._objects
            assert before is not None and after is not None, "published() has put them there"
            self._before, self._after, self._objects = None, None, []
            self._told_at = self._clock.seconds()
            self._looking = self._changes(before, after, objects)
            del before, after, objects
        began = self._clock.seconds()
        try:
            for _ in self._looking:
                if not 0 <= self._clock.seconds() - began < SLICE_SECONDS:
                    self._call = self._clock.callLater(0, self._look)
                    return
        except Exception:
            log.failure("What changed could not be told, which is a bug; all is served as it should")
        self._looking = None
        if self._before is not None:
            rest = (
                self._told_at + REPORT_SECONDS - self._clock.seconds() if self._told_at is not None else 0.0
            )
            self._call = self._clock.callLater(max(rest, 0.0), self._look)

    def _changes(
        self, before: Snapshot, after: Snapshot, taken: list[Mapping[ObjectId, str]]
    ) -> Iterator[None]:
        objects = yield from all_joined(taken)
        routes = Effects(objects if len(objects) <= MOST_TOLD else ())
        endpoints: list[EndpointsChanged] = []
        certificates: dict[ObjectKey, Renewed] = {}
        yield from route_effects(before, after, routes)
        yield from endpoint_effects(before, after, endpoints)
        yield from certificate_effects(before, after, certificates)
        if len(objects) > MOST_TOLD:
            yield from self._tell_summed(objects, routes)
        else:
            for object_id in sorted(objects):
                if object_id[0] is not Kind.SECRET or object_id[1] not in certificates:
                    self._tell_object(object_id, objects[object_id], routes.of.get(object_id))
                yield
            yield from self._tell_affected(objects, routes)
        yield from self._tell_endpoints(endpoints)
        yield from self._tell_certificates(certificates)
        del objects
        gone = yield from replaced(before, after)
        gone += endpoints
        del before, after, endpoints
        yield from let_go(gone)

    def _tell_affected(self, objects: Mapping[ObjectId, str], routes: Effects) -> Iterator[None]:
        """Tell of others than *objects* that have routes of a host now, or lost some."""
        others = [one for one in routes.of if one is not None and one not in objects]
        for object_id in others[:MOST_TOLD]:
            self._tell_object(object_id, "affected", routes.of[object_id])
            yield
        if routes.has_more or len(others) > MOST_TOLD:
            text = f"Further objects affected; together {_counted(routes.counts)}"
            self._tell(Mark(ChangeSort.OBJECT, "affected"), text)

    def _tell_object(self, object_id: ObjectId, verb: str, effect: Effect | None) -> None:
        kind, key = object_id
        what = "" if effect is None else f": {effect}"
        hosts = () if effect is None else effect.hosts
        self._tell(Mark(ChangeSort.OBJECT, verb, kind, str(key), hosts), f"{kind} {key} {verb}{what}")

    def _tell_summed(self, objects: Mapping[ObjectId, str], routes: Effects) -> Iterator[None]:
        """Tell how many objects of which kinds came, went and changed."""
        counts: Counter[tuple[str, str]] = Counter()
        for number, ((kind, _), verb) in enumerate(objects.items()):
            counts[verb, kind] += 1
            if not number % 200:
                yield
        yield
        for (verb, name), count in sorted(counts.items()):
            self._tell(Mark(ChangeSort.OBJECT, verb, name), f"{number_of(count, name)} {verb}")
        if any(routes.counts):
            self._tell(Mark(ChangeSort.OBJECT, "changed"), f"Together: {_counted(routes.counts)}")

    def _tell_endpoints(self, endpoints: list[EndpointsChanged]) -> Iterator[None]:
        # Those that nobody can be sent to any more come first.
        endpoints.sort(key=lambda one: not one.is_out)
        for one in endpoints[:MOST_TOLD]:
            backend = one.backend
            mark = Mark(
                ChangeSort.OBJECT,
                "endpoints",
                backend.kind,
                f"{backend.namespace}/{backend.name}",
                is_trouble=one.is_out,
            )
            self._tell(mark, f"Endpoints of {backend}: {one}")
            yield
        if len(endpoints) > MOST_TOLD:
            out = sum(one.is_out for one in endpoints[MOST_TOLD:])
            more = number_of(len(endpoints) - MOST_TOLD, "more backend has", "more backends have")
            text = f"{more} other endpoints" + (
                f"; {out} of them {'has' if out == 1 else 'have'} none left" if out else ""
            )
            self._tell(Mark(ChangeSort.OBJECT, "endpoints", is_trouble=bool(out)), text)

    def _tell_certificates(self, certificates: Mapping[ObjectKey, Renewed]) -> Iterator[None]:
        for secret, renewed in islice(certificates.items(), MOST_TOLD):
            mark = Mark(ChangeSort.CERTIFICATE, "renewed", Kind.SECRET, str(secret), tuple(renewed.hosts))
            log.info(
                "The certificate of Secret {secret}, shown for {hosts}, is another: it ends at {after}, and did at {before}",
                secret=str(secret),
                hosts=first_of(renewed.hosts, 3) or "names without a certificate of their own",
                after=f"{renewed.after.not_after:%Y-%m-%dT%H:%M:%SZ}",
                before=f"{renewed.before.not_after:%Y-%m-%dT%H:%M:%SZ}",
                change=mark,
            )
            yield
        if len(certificates) > MOST_TOLD:
            text = "{more}; /api/v1/certificates shows all"
            more = number_of(
                len(certificates) - MOST_TOLD, "more certificate is another", "more certificates are others"
            )
            log.info(text, more=more, change=Mark(ChangeSort.CERTIFICATE, "renewed", Kind.SECRET))


def _counted(counts: Sequence[int]) -> str:
    """Say how many routes came, went and changed."""
    words = ("came", "went", "changed")
    parts = [f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count]
    return f"routes: {', '.join(parts)}"
