"""What is to be reported about objects: made of the objects, their problems and our addresses.  Pure.

Each kind of object whose status is ours to write has a row (``ReportedKind``): where its status is and which
part of it is ours, which objects of the kind are ours, and what its conditions are made of.
A kind that has nothing but conditions, each broken by problems, needs no more than its row.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from attrs import Factory, evolve

from ingress.model.cluster.object_meta import Address, Condition
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.reporting.reports import Event, Report, StatusDocument
from ingress.model.reporting.writes import KindWrite, StatusField, StatusShape
from ingress.translate.options import TranslateOptions

MOST_MESSAGE_CHARACTERS = 32768
"""What the API allows in the message of a condition."""
MOST_STATUS_CHARACTERS = 256 * 1024
"""Those of all messages of a status together: an object of more than 1.5 MiB is not stored."""


@frozen
class ConditionRule:
    """A condition that holds, by *reason*, unless there is a problem for one of the reasons in *broken_by*.

    These have the words that the API of the kind wants for them.  Of several the first in the order of
    *broken_by* is the reason, and all are in the message.
    """

    type: str
    reason: str
    broken_by: Mapping[Reason, str] = Factory(dict)


@frozen
class Attached:
    """Which routes are attached where.

    *counts* has how many routes each listener has, by its object and its name; *gateways_of* returns the Gateways, oldest first, from
    which routes lead to a Service.
    """

    counts: Mapping[tuple[Owner, str], int] = Factory(dict)
    gateways_of: Callable[[ObjectKey], Collection[Owner]] = lambda service: ()


@frozen
class ReportFacts:
    """What the status of the object *key* is made of: the *problems* are its own, *state* and *options* are all there is.

    *addresses* are those that we publish, None while they are not known.  *problems_of* returns the problems of any object with
    conditions.
    """

    key: ObjectKey
    state: ClusterState
    options: TranslateOptions
    problems: Collection[Problem]
    addresses: tuple[Address, ...] | None = None
    attached: Attached = Attached()
    problems_of: Callable[[ObjectId], Collection[Problem]] = lambda of: ()


@frozen
class ReportedKind:
    """How objects of a kind say what became of them.

    *plural* and *loss* are for the log: what the objects are called, and what they lack when nothing
    may be written.  *keys* gives those that there are, and *is_ours* judges one, None when there is
    no such object.  Of changes of an object of the kinds *decided_by*, all are looked at.
    """

    kind: Kind
    plural: str
    loss: str
    write: KindWrite
    field: StatusField
    keys: Callable[[ClusterState], Iterable[ObjectKey]]
    is_ours: Callable[[ObjectKey, ClusterState, TranslateOptions], bool | None]
    decided_by: frozenset[Kind] = frozenset()
    conditions: tuple[ConditionRule, ...] = ()
    shape: StatusShape = StatusShape()
    """Of a kind whose status is more than *conditions*: which parts of it are ours, and what these say."""
    document: Callable[[ReportFacts], StatusDocument] | None = None
    looks_with: Mapping[Kind, Callable[[ObjectKey, ClusterState], Iterable[ObjectKey]]] = Factory(dict)
    """By kind: the objects whose statuses say something of an object of that kind."""

    @property
    def written(self) -> StatusShape:
        """Which parts of a status are ours."""
        return self.shape if self.document else StatusShape(frozenset(rule.type for rule in self.conditions))


def report_of(reported: ReportedKind, facts: ReportFacts) -> Report | None:
    """Return what the status of an object is to say, None when there is no such object."""
    key = facts.key
    is_ours = reported.is_ours(key, facts.state, facts.options)
    if is_ours is None:
        return None
    if reported.field is StatusField.ADDRESSES:
        return Report((reported.kind, key), is_ours, facts.addresses)
    if not is_ours:
        return Report((reported.kind, key), is_ours)
    if reported.document is not None:
        document = reported.document(facts)
    else:
        document = StatusDocument(conditions_of(reported.conditions, facts.problems))
    return Report((reported.kind, key), is_ours, (), _bounded(document))


def _bounded(document: StatusDocument) -> StatusDocument:
    """Return *document* with messages that are not too long together: a route may have 32 parents, each with all of its problems."""
    of_entries = [one.conditions for listed in document.lists.values() for one in listed]
    messages = [one.message for some in (document.conditions, *of_entries) for one in some if one.message]
    if sum(map(len, messages)) <= MOST_STATUS_CHARACTERS:
        return document
    most = _share(MOST_STATUS_CHARACTERS, map(len, messages))

    def bounded(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
        return tuple(one._replace(message=_shortened(one.message, most)) for one in conditions)

    lists = {
        name: tuple(evolve(one, conditions=bounded(one.conditions)) for one in listed)
        for name, listed in document.lists.items()
    }
    return evolve(document, conditions=bounded(document.conditions), lists=lists)


def _share(room: int, lengths: Iterable[int]) -> int:
    """Return how long each may be for all to fit into *room*: what short ones leave is for the others."""
    in_order = sorted(lengths)
    for number, length in enumerate(in_order):
        share = room // (len(in_order) - number)
        if length > share:
            return share
        room -= length
    return in_order[-1]


def _shortened(message: str, most: int) -> str:
    return message if len(message) <= most else f"{message[: most - 3]}..."


def conditions_of(rules: Iterable[ConditionRule], problems: Collection[Problem]) -> tuple[Condition, ...]:
    """Return the conditions that *rules* make of the *problems* of one object."""
    return tuple(_condition(rule, problems) for rule in rules)


def _condition(rule: ConditionRule, problems: Collection[Problem]) -> Condition:
    order = list(rule.broken_by)
    broken = sorted(
        (problem for problem in problems if problem.reason in rule.broken_by),
        key=lambda problem: (order.index(problem.reason), ORDER(problem)),
    )
    if not broken:
        return Condition(rule.type, "True", rule.reason)
    return Condition(rule.type, "False", rule.broken_by[broken[0].reason], told(broken))


def told(problems: Iterable[Problem]) -> str:
    """Return what *problems* say, as the message of a condition."""
    message = "; ".join(
        f"{problem.field}: {problem.message}" if problem.field else problem.message for problem in problems
    )
    return _shortened(message, MOST_MESSAGE_CHARACTERS)


def event_of(problem: Problem, uid: str) -> Event | None:
    """Return what is told of *problem* to those who look at its object; None for a note, and when that is the operator's matter."""
    if problem.is_the_operators or problem.is_note:
        return None
    key = ObjectKey(problem.namespace, problem.name)
    return Event(problem.kind, key, uid, problem.reason.value, problem.message, problem.field)
