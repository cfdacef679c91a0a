"""The values of a report: what becomes of all objects by moving, and what is to be done about it."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field

from ingress.ctl.inputs.ingress_nginx.taken_arguments import Taken
from ingress.ctl.inputs.input import Place, Workload
from ingress.ctl.lint.finding import Change, Finding, Standing
from ingress.ctl.migrate.installation.carried import CarriedField
from ingress.ctl.migrate.outcome import Outcome
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen


@frozen
class Matter:
    """One thing that is the same with several objects, or with one, and is said once: a sentence without its full stop."""

    message: str
    outcome: Outcome
    rule: str = ""
    """The rule of the finding; empty for what is known of an annotation alone."""
    advice: str = ""
    is_mistake: bool = False
    """Whether it is wrong in either controller."""
    objects: tuple[ObjectId, ...] = ()
    """Whose it is, in order of their keys; twice where two layers have it."""


@frozen
class Before:
    """What an object has at a field, or in a member of a list, before it is changed: JSON that is not empty."""

    steps: tuple[str | int, ...]
    value: Any


@frozen
class Entry:
    """What becomes of one object that is ours to serve."""

    object_id: ObjectId
    place: Place
    owner: str
    outcome: Outcome
    matters: tuple[int, ...] = ()
    """The places in ``Migration.matters`` of all that is the matter with it, the worst first."""
    fields: tuple[str, ...] = ()
    """The field that each of these is about, empty for all of the object."""
    changes: tuple[Change, ...] = ()
    """What would do away with findings, as far as that can be said."""
    by_hand: bool = False
    """Whether something has to be changed that these do not."""
    before: tuple[Before, ...] = field(default=(), repr=False)
    """What these go by: of an object that has anything else there by now they would make something else."""
    otherwise: tuple[Place, ...] = ()
    """Where else the same object stands and would be changed otherwise, so that nobody can tell which one a cluster has."""


@frozen
class Count:
    """How many objects have each outcome; *whole* is all of them."""

    whole: int = 0
    works: int = 0
    differs: int = 0
    needs_change: int = 0
    """Those included that would answer 503."""
    closed: int = 0


@frozen
class Row:
    """The objects of one namespace and owner."""

    namespace: str
    owner: str
    count: Count


@frozen
class NotOurs:
    """How many objects are not served for the same reason: *why*, and what to do about it, which may be empty."""

    why: str
    advice: str
    count: int


@frozen
class Annotation:
    """How often one annotation is used, and what becomes of it, the worst first."""

    name: str
    count: int
    standings: Mapping[Standing, int]


@frozen
class Key:
    """One key of the ConfigMap: *standing* says what becomes of it, *why* what else there is to know."""

    name: str
    standing: str
    why: str = ""


@frozen
class ConfigMapReport:
    """What becomes of an ingress-nginx ConfigMap."""

    object_id: ObjectId
    keys: tuple[Key, ...]


@frozen
class Argument:
    """One argument of ingress-nginx, and what to *write* here; empty for nothing."""

    taken: Taken
    write: str


@frozen
class ArgumentsReport:
    """What becomes of an ingress-nginx's arguments and of what is around it, and what puts this controller into its place."""

    workload: Workload
    arguments: tuple[Argument, ...]
    """The worst first."""
    own: tuple[str, ...]
    """All arguments of this controller, as ``args`` has them."""
    around: tuple[CarriedField, ...]
    """Fields of its pods, Services and autoscaler, the worst first."""
    files: Mapping[str, str] = field(repr=False)
    """The texts of the files of a kustomization, by their names; the first is the one that names the others."""


@frozen
class Migration:
    """All that the page says."""

    count: Count
    mistaken: int
    """How many objects have something wrong that is as wrong in ingress-nginx."""
    not_ours: tuple[NotOurs, ...]
    """Objects that are not served, by why that is, the most first."""
    label: str
    """The label by which owners are told; empty where objects have none."""
    rows: tuple[Row, ...]
    """The worst first."""
    entries: tuple[Entry, ...]
    """All objects that are ours, the worst first."""
    matters: tuple[Matter, ...]
    """The worst first."""
    annotations: tuple[Annotation, ...]
    """By count, the most used first."""
    arguments: tuple[ArgumentsReport, ...]
    """Of each ingress-nginx that was found; objects are judged by those of the first."""
    config_map: ConfigMapReport | None
    others: tuple[Finding, ...]
    """What concerns files, Secrets and whatever else is no route object."""
    not_checked: tuple[str, ...]
    lacks_firewall: bool = False
    """Whether requests are to be inspected by ModSecurity, and no option says that anything does it."""


@frozen
class Asked:
    """What was asked for, so that a page says how it came to be; texts as they were given."""

    version: str
    given: Sequence[str]
    """What is meant, as words of the command: paths, or ``--live`` with what belongs to it."""
    options: Sequence[str]
    owner_labels: Sequence[str] = ()
