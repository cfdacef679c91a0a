"""The report of a migration as a document: what to read first stands first, and details have bounds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ingress.ctl.inputs.input import FieldOf, Place
from ingress.ctl.lint.finding import Finding, Level, Standing
from ingress.ctl.migrate.checklist import checklist
from ingress.ctl.migrate.migration import Asked, ConfigMapReport, Count, Entry, Matter, Migration, NotOurs
from ingress.ctl.migrate.outcome import Outcome
from ingress.ctl.migrate.patching.commands import quoted
from ingress.ctl.migrate.patching.patches import ObjectPatch, Patches
from ingress.ctl.migrate.writing_arguments import MOST_WORKLOADS, written_arguments
from ingress.ctl.pages.document import (
    Block,
    Code,
    Document,
    Heading,
    Line,
    Listing,
    Paragraph,
    Part,
    Points,
    Reference,
    Strong,
    Table,
    weight,
)
from ingress.model.cluster.objects import ObjectId
from ingress.model.cluster.problems import Reason
from ingress.wording import first_of, number_of

_NAMES: Final = re.compile(r"([\w./-]{1,253}(?:, [\w./-]{1,253}){0,20}): ")
_CLAUSE: Final = re.compile(r"[;:,] ")
NO_PLACES: Final[Mapping[FieldOf, Place]] = MappingProxyType({})
TITLE: Final = "Moving from ingress-nginx to txingress"
MOST_ROWS: Final = 200
"""Of a table or a list."""
MOST_NAMES: Final = 40
"""Objects that are named where a matter has many."""
MOST_PLACES: Final = 10
"""Where an object stands."""
MOST_CLASSES: Final = 10
"""Why objects are not served."""
MOST_OBJECTS: Final = 200
"""Objects that are written about each."""
MOST_POINTS: Final = 20
"""What is said of one object."""
MOST_BYTES: Final = 2_500_000
"""What is written about objects each, altogether; the rest is counted."""
MOST_PATCH_CHARACTERS: Final = 4_000
"""Of a patch that is shown."""


def write(
    migration: Migration, asked: Asked, patches: Patches, places: Mapping[FieldOf, Place] = NO_PLACES
) -> Document:
    """Return the page; *patches* and *places*, of fields, are those of the entries in detail, at least."""
    return Document(TITLE, tuple(_Page(migration, asked, patches, places).blocks()))


def entries_in_detail(migration: Migration) -> Iterator[Entry]:
    """Yield the objects that are written about each, the worst first, without looking at bounds.

    These are the ones that need a change, and those with which something is the matter that no other has.
    """
    for entry in migration.entries:
        alone = any(len(migration.matters[place].objects) == 1 for place in entry.matters)
        if alone or entry.outcome >= Outcome.NEEDS_CHANGE:
            yield entry


class _Page:
    def __init__(
        self, migration: Migration, asked: Asked, patches: Patches, places: Mapping[FieldOf, Place]
    ) -> None:
        self._places = places
        self._migration = migration
        self._asked = asked
        self._patches = {(one.entry.place, one.entry.object_id): one for one in patches.objects}
        self._diff_of = patches.diff_of
        self._shared = {
            place: f"matter{place + 1}"
            for place, matter in enumerate(migration.matters)
            if len(matter.objects) > 1
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the page from top to bottom."""
        yield Paragraph((Strong(verdict(self._migration.count)),))
        yield from self._besides()
        if self._migration.count.whole:
            yield Heading(2, ("What to do first",), "first")
            yield Points(tuple(checklist(self._migration)), numbered=True)
        yield from self._by_owner()
        yield from self._matters()
        yield from self._objects()
        yield from self._annotations()
        yield from self._arguments()
        yield from self._config_map()
        yield from self._others()
        yield from self._not_checked()
        yield from self._made_by()

    def _besides(self) -> Iterator[Block]:
        migration = self._migration
        if migration.mistaken:
            some = number_of(migration.mistaken, "Ingress has", "Ingresses have")
            yield Paragraph(
                (
                    f"{some} something that is as wrong in ingress-nginx: moving neither makes it nor mends it.",
                )
            )
        if migration.not_ours:
            whys = migration.not_ours
            one = number_of(sum(why.count for why in whys), "more is", "more are")
            yield Paragraph((f"{one} not counted, and not served by this controller:",))
            yield Points(tuple((_not_ours(why),) for why in whys[:MOST_CLASSES]))
            yield from self._more(len(whys) - MOST_CLASSES, "more reasons", "--output json")

    def _by_owner(self) -> Iterator[Block]:
        migration = self._migration
        if not migration.rows:
            return
        what = f"namespace and owner (label {migration.label})" if migration.label else "namespace"
        yield Heading(2, (f"By {what}",), "owners")
        columns = [
            "Namespace",
            "Owner",
            "Ingresses",
            "Work",
            "Differ",
            "Need a change",
            "of these answer 503",
        ]
        if not migration.label:
            columns.remove("Owner")
        rows: list[tuple[Line, ...]] = []
        for row in migration.rows[:MOST_ROWS]:
            cells: list[Line] = [(Code(row.namespace),)]
            if migration.label:
                cells.append((Code(row.owner),) if row.owner else ("none",))
            rows.append((*cells, *_cells(row.count)))
        first = len(columns) - 5
        yield Table("The worst first", tuple(columns), tuple(rows), frozenset(range(first, first + 5)))
        yield from self._more(len(migration.rows) - MOST_ROWS, "more rows", "--output json")

    def _matters(self) -> Iterator[Block]:
        shared = [(place, self._migration.matters[place]) for place in self._shared]
        if not shared:
            return
        yield Heading(2, ("What several have in common",), "common")
        yield Paragraph(
            (
                "Each is said once, the worst first, with the Ingresses that have it. ",
                Code(self._command("--patches DIRECTORY")),
                " writes their patches.",
            )
        )
        for place, matter in shared[:MOST_ROWS]:
            how_many = number_of(len(matter.objects), "Ingress")
            yield Heading(3, (f"{_title(matter)} ({how_many})",), self._shared[place])
            yield Paragraph(_sentence(matter, whole=False))
            yield Paragraph(tuple(_names(matter.objects)))
        yield from self._more(len(shared) - MOST_ROWS, "more of these", "--output json")

    def _objects(self) -> Iterator[Block]:
        entries = list(entries_in_detail(self._migration))
        if not entries:
            return
        yield Heading(2, ("One by one",), "objects")
        yield Paragraph(
            ("Those that need a change, and those with something that no other has, the worst first.",)
        )
        room = MOST_BYTES
        for done, entry in enumerate(entries):
            blocks = list(self._object(entry))
            room -= weight(blocks)
            if done == MOST_OBJECTS or room < 0:
                yield from self._more(
                    len(entries) - done, "more Ingresses are not written about here", "--output json"
                )
                return
            yield from blocks

    def _object(self, entry: Entry) -> Iterator[Block]:
        kind, key = entry.object_id
        yield Heading(3, (f"{kind} ", Code(str(key))))
        is_wrong = any(self._migration.matters[place].is_mistake for place in entry.matters)
        unchanged = entry.outcome is Outcome.WORKS and is_wrong
        about: list[Part] = [Strong("nothing changes by moving" if unchanged else entry.outcome.words)]
        if entry.owner:
            about += ["; owner ", Code(entry.owner)]
        if entry.place.file:
            about += ["; in ", Code(str(entry.place))]
        yield Paragraph(tuple(about))
        points: list[Line] = []
        for place, field in zip(entry.matters, entry.fields, strict=True):
            spot = str(self._places.get((entry.place, entry.object_id, field), "")) or field
            matter = self._migration.matters[place]
            anchor = self._shared.get(place)
            if anchor is not None:
                points.append((Reference(_title(matter), anchor), " (said above)"))
            else:
                points.append(_sentence(matter, "" if spot == str(entry.place) else spot))
        yield Points(tuple(points[:MOST_POINTS]))
        yield from self._more(len(points) - MOST_POINTS, "more findings", "--output json")
        patch = self._patches.get((entry.place, entry.object_id))
        if patch is not None:
            yield from self._patch(patch)

    def _patch(self, patch: ObjectPatch) -> Iterator[Block]:
        if patch.entry.by_hand:
            yield Paragraph(("The patch is not all that is needed: the rest is for its owner to decide.",))
        diff = self._diff_of(patch)
        if diff and len(diff) <= MOST_PATCH_CHARACTERS:
            yield Paragraph(("The patch of its file:",))
            yield Listing(diff.rstrip("\n"), "diff")
        elif patch.why_not:
            yield Paragraph(("There is no patch of its file, for ", patch.why_not, "."))
        text = "\n".join(patch.commands)
        if patch.entry.otherwise:
            places = first_of([str(one) for one in patch.entry.otherwise], MOST_PLACES)
            yield Paragraph(
                (
                    "There is no command for the cluster, for it stands otherwise in each of ",
                    Code(places),
                    ".",
                )
            )
        elif len(text) <= MOST_PATCH_CHARACTERS:
            yield Paragraph(("The same in the cluster:" if diff else "In the cluster:",))
            yield Listing(text, "sh")
        else:
            yield Paragraph(
                ("It is too long to be shown; ", Code(self._command("--patches DIRECTORY")), " writes it.")
            )

    def _annotations(self) -> Iterator[Block]:
        annotations = self._migration.annotations
        if not annotations:
            return
        yield Heading(2, ("Annotations",), "annotations")
        rows = tuple(
            ((Code(one.name),), (str(one.count),), (_standings(one.standings),))
            for one in annotations[:MOST_ROWS]
        )
        yield Table(
            "By how many Ingresses have each, with what becomes of it",
            ("Annotation", "Ingresses", "What becomes of it"),
            rows,
            frozenset({1}),
        )
        yield from self._more(len(annotations) - MOST_ROWS, "more annotations", "--output json")

    def _arguments(self) -> Iterator[Block]:
        reports = self._migration.arguments
        yield Heading(2, ("The arguments of ingress-nginx",), "arguments")
        yield from written_arguments(reports, is_live="--live" in self._asked.given)
        yield from self._more(len(reports) - MOST_WORKLOADS, "more of these", "--output json")

    def _config_map(self) -> Iterator[Block]:
        report = self._migration.config_map
        yield Heading(2, ("The ConfigMap of ingress-nginx",), "configmap")
        if report is None:
            yield Paragraph(
                (
                    "None was found, so the defaults count. Name the file that has it beside the others, or ",
                    Code("-o configmap=NAMESPACE/NAME"),
                    " where it has a name of its own.",
                )
            )
            return
        yield from _keys(report)
        yield from self._more(len(report.keys) - MOST_ROWS, "more keys", "--output json")

    def _others(self) -> Iterator[Block]:
        others = [one for one in self._migration.others if one.level is not Level.NOTE]
        if others:
            yield Heading(2, ("Files and other objects",), "others")
            yield Points(tuple(map(_other, others[:MOST_ROWS])))
            yield from self._more(len(others) - MOST_ROWS, "more of these", "--output json")

    def _not_checked(self) -> Iterator[Block]:
        yield Heading(2, ("What was not checked",), "unchecked")
        points: list[Line] = [
            (_clipped(sentence, 600), ".") for sentence in self._migration.not_checked[:MOST_ROWS]
        ]
        points.append(("How anything answers: that is for requests to show.",))
        if not self._migration.arguments:
            points.append(("What ingress-nginx was started with (its arguments), and TCP and UDP services.",))
        yield Points(tuple(points))

    def _made_by(self) -> Iterator[Block]:
        asked = self._asked
        yield Heading(2, ("How this page was made",), "made")
        points: list[Line] = [
            (f"txingress {asked.version}; nothing was sent to anybody but whom the command names.",)
        ]
        points.append((Code(self._command("")),))
        label = self._migration.label
        points.append(
            ("Owners are told by the label ", Code(label), ".")
            if label
            else ("No Ingress has a label that says whose it is; ", Code("--owner-label NAME"), " names one.")
        )
        yield Points(tuple(points))

    def _command(self, more: str) -> str:
        asked = self._asked
        words = ["ingressctl", "migrate"]
        words += [f"--option={option}" for option in asked.options]
        words += [f"--owner-label={label}" for label in asked.owner_labels]
        words += asked.given
        return " ".join([*map(quoted, words), *([more] if more else [])])

    def _more(self, how_many: int, what: str, option: str) -> Iterator[Block]:
        if how_many > 0:
            yield Paragraph((f"{how_many:,} {what}; ", Code(self._command(option)), " has all."))


def _not_ours(one: NotOurs) -> str:
    # No full stop: advice ends in what is typed.
    advice = f". {one.advice[:1].upper()}{_clipped(one.advice[1:], 600)}" if one.advice else ""
    return f"{one.count:,}: {_clipped(one.why, 200)}{advice}"


def _cells(count: Count) -> Iterator[Line]:
    for one in (count.whole, count.works, count.differs, count.needs_change, count.closed):
        yield (f"{one:,}",)


def _title(matter: Matter) -> str:
    return f"{_clipped(_about(matter)[0], 120)}: {_words(matter)}"


def _words(matter: Matter) -> str:
    if matter.rule == Reason.UNKNOWN_ANNOTATION:
        return "never existed"
    if matter.is_mistake:
        return "as in ingress-nginx"
    return "worth knowing" if matter.outcome is Outcome.WORKS else matter.outcome.words


def _about(matter: Matter) -> tuple[str, str]:
    """Return how a matter is called, and what its call does not say: annotations and the rest, or else a clause and all of it."""
    names = _NAMES.match(matter.message)
    if names is not None:
        return names[1], matter.message[names.end() :]
    return _CLAUSE.split(matter.message, maxsplit=1)[0], matter.message


def _as_sentence(text: str) -> str:
    """Return *text* with a capital and an end, but for the name of an annotation, which is written as it is."""
    is_name = "-" in text.partition(" ")[0]
    begun = text if is_name else text[:1].upper() + text[1:]
    return begun if begun.endswith("?") else f"{begun}."


def _sentence(matter: Matter, spot: str = "", *, whole: bool = True) -> Line:
    """Return the words of a matter; what its title has is left out unless they are to be the *whole* of it."""
    text = matter.message if whole else _about(matter)[1]
    parts: list[Part] = [_clipped(text, 1200)] if matter.rule else list(_marked(text))
    parts.append(".")
    if matter.advice:
        parts.append(f" {_as_sentence(_clipped(matter.advice, 600))}")
    notes: list[Part] = [matter.rule] if matter.rule else []
    if spot:
        notes += [", ", Code(spot)] if notes else [Code(spot)]
    return (*parts, " (", *notes, ")") if notes else tuple(parts)


def _marked(text: str) -> Iterator[Part]:
    """Yield what the table of annotations says, in which backquotes mark what is meant letter by letter."""
    for place, part in enumerate(text.split("`")):
        if part:
            yield Code(part) if place % 2 else part


def _names(objects: Sequence[ObjectId]) -> Iterator[Part]:
    for place, (_, key) in enumerate(objects[:MOST_NAMES]):
        if place:
            yield ", "
        yield Code(str(key))
    if len(objects) > MOST_NAMES:
        yield f" and {len(objects) - MOST_NAMES:,} more"


def _standings(standings: Mapping[Standing, int]) -> str:
    if len(standings) == 1:
        return next(iter(standings)).value
    return ", ".join(f"{standing.value} ({how_many:,})" for standing, how_many in standings.items())


def _keys(report: ConfigMapReport) -> Iterator[Block]:
    yield Paragraph((Code(str(report.object_id[1])), f" has {number_of(len(report.keys), 'key')}."))
    rows = tuple(
        ((Code(key.name),), (key.standing,), (_clipped(key.why, 400),)) for key in report.keys[:MOST_ROWS]
    )
    if rows:
        yield Table(
            "What becomes of each key, the worst first", ("Key", "What becomes of it", "Remark"), rows
        )


def _other(finding: Finding) -> Line:
    kind, key = finding.object_id
    return (f"{kind} ", Code(str(key)), ": ", _clipped(finding.message, 1200), f" ({finding.rule})")


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def verdict(count: Count) -> str:
    """Return the sentence that says most: how many work, differ, and need a change."""
    if not count.whole:
        return "There is no Ingress here that this controller would serve."
    if count.works == count.whole > 1:
        return f"All {count.whole:,} Ingresses work as they are."
    if count.whole == 1:
        return f"The only Ingress {_of_one(count)}."
    parts = [
        f"{count.works:,} {'works as it is' if count.works == 1 else 'work as they are'}",
        f"{count.differs:,} {'differs' if count.differs == 1 else 'differ'} in something",
        f"{count.needs_change:,} {'needs' if count.needs_change == 1 else 'need'} a change before the switch",
    ]
    closed = f"; {count.closed:,} would answer 503" if count.closed else ""
    return f"Of {number_of(count.whole, 'Ingress')}, {parts[0]}, {parts[1]}, {parts[2]}{closed}."


def _of_one(count: Count) -> str:
    if count.closed:
        return "needs a change before the switch: it would answer 503"
    if count.needs_change:
        return "needs a change before the switch"
    return "differs in something" if count.differs else "works as it is"
