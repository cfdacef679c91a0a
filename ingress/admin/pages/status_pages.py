"""The pages about the process as a whole: how it is, and who leads.  All of it is small."""

from typing import Final

from ingress.admin.contract.answers import Answer, as_json
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import V1, PageRow, alias
from ingress.admin.contract.page_sources import PageSources, Published
from ingress.admin.contract.schemas import (
    Schema,
    fields_of,
    list_of,
    moment,
    or_null,
    text,
    truth,
    whole_number,
)
from ingress.process.timestamps import rfc3339

LEADER: Final[Schema] = fields_of(
    {
        "identity": text("The name by which this replica is a candidate."),
        "leading": truth("Whether it leads."),
        "lease": text("`NAMESPACE/NAME` of the Lease."),
        "leader": text("Who leads, as far as is known here; empty where nobody does."),
        "renewed": text("When the Lease was renewed last, as it says itself; empty before it was seen."),
        "transitions": whole_number("How often it went from one to another."),
        "addresses": or_null(
            list_of(text()),
            "What is written into statuses; null where nothing is, and those of Nodes unless this replica leads.",
        ),
        "statusesPending": whole_number("Statuses that wait to be written."),
        "eventsPending": whole_number("Events that wait to be written."),
    }
)

STATUS: Final[Schema] = fields_of(
    {
        "version": text("Of txingress; empty where it is not installed as a package."),
        "code": text(
            "`compiled` where the hot path is machine code, as in wheels; `plain` where it is Python."
        ),
        "started": moment("When the process began to serve its pages."),
        "pod": text("The name of the pod, or of the machine."),
        "ready": truth("What `/readyz` says."),
        "missing": list_of(text(), "What keeps it from being ready."),
        "snapshot": fields_of(
            {
                "number": whole_number("How many there have been; 0 before the first."),
                "published": or_null(moment("When it was made current.")),
                "routes": whole_number(),
                "hosts": whole_number("A wildcard counts as one."),
                "problems": whole_number(),
                "certificates": whole_number(),
            },
            "What is served.",
        ),
        "leader": or_null(LEADER, "What is known of the election; null where there is none."),
        "workers": or_null(whole_number("How many processes serve; null where this one does.")),
    }
)


def status_as_data(sources: PageSources, published: Published) -> dict[str, object]:
    """Return how the controller is."""
    snapshot = published.snapshot
    missing = sources.readiness()
    return {
        "version": sources.version,
        "code": sources.code,
        "started": rfc3339(sources.started),
        "pod": sources.pod,
        "ready": not missing,
        "missing": list(missing),
        "snapshot": {
            "number": published.number,
            "published": None if published.at is None else rfc3339(published.at),
            "routes": snapshot.route_count,
            "hosts": snapshot.host_count,
            "problems": sources.metrics.snapshots.problems,
            "certificates": sources.metrics.snapshots.certificates,
        },
        "leader": None if sources.leader is None else sources.leader(),
        "workers": len(sources.workers.states()) or None,
    }


def _status(asked: PageRequest) -> Answer:
    return as_json(status_as_data(asked.sources, asked.published))


def _leader(asked: PageRequest) -> Answer:
    return as_json({} if asked.sources.leader is None else asked.sources.leader())


def _has_election(sources: PageSources) -> bool:
    return sources.leader is not None


STATUS_ROW: Final = PageRow(f"{V1}status", "how the controller is, in short", _status, (), STATUS)
_LEADER_ROW: Final = PageRow(
    f"{V1}leader",
    "which replica reports to the cluster, and what",
    _leader,
    (),
    LEADER,
    is_there=_has_election,
)
LEADER_ROWS: Final = (_LEADER_ROW, alias(_LEADER_ROW, _leader))
