"""A family of the tests' own that refers to a Secret and to ConfigMaps, by annotations and as the operator."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from attrs import field, frozen

from ingress.annotations.contract.references import Found, Reference
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark
from ingress.filters import Filter, FilterSpec, Phase, Services
from ingress.model.cluster.objects import Kind, ObjectKey


def parse_key(text: str) -> ObjectKey:
    """Read ``name`` or ``namespace/name``."""
    namespace, _, name = text.rpartition("/")
    return ObjectKey(namespace, name)


@frozen
class BadgeSettings:
    """What the annotations of one Ingress say about badges."""

    secret: ObjectKey | None = None
    config: ObjectKey | None = None
    everywhere: ObjectKey | None = None
    """What the operator says."""


@frozen
class Badge:
    """Carries what was found."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "badge"

    secret: bytes | None = field(repr=False)
    config: tuple[tuple[str, str], ...] | None = None
    everywhere: str | None = None

    def describe(self) -> str:
        """Say so."""
        return "carries a badge"

    def make(self, services: Services) -> Filter:
        """Make a filter that does nothing."""
        return Filter()


def badge_references(settings: BadgeSettings, asking: ObjectKey) -> Iterator[Reference]:
    """Name what is needed."""
    if settings.secret is not None:
        key = ObjectKey(settings.secret.namespace or asking.namespace, settings.secret.name)
        yield Reference(
            Kind.SECRET, key, "badge-secret", frozenset({"tls.crt"}), without="its paths answer 503"
        )
    if settings.config is not None:
        key = ObjectKey(settings.config.namespace or asking.namespace, settings.config.name)
        yield Reference(Kind.CONFIG_MAP, key, "badge-config")
    if settings.everywhere is not None:
        yield Reference(Kind.CONFIG_MAP, settings.everywhere, "badge-everywhere", is_operators=True)


def badge_filters(settings: BadgeSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return one badge for whoever asks."""
    asking = ObjectKey("", "") if facts.owner is None else facts.owner.key
    secret: bytes | None = None
    config: tuple[tuple[str, str], ...] | None = None
    everywhere: str | None = None
    for reference in badge_references(settings, asking):
        if reference.kind is Kind.SECRET:
            content = facts.found.secret(reference)
            secret = None if content is None else content.get("tls.crt", b"")
        else:
            data = facts.found.config_map(reference)
            if reference.is_operators:
                everywhere = None if data is None else data.get("a")
            else:
                config = None if data is None else tuple(sorted(data.items()))
    return (Badge(secret, config, everywhere),) if settings != BadgeSettings() else ()


def badge_contents(settings: BadgeSettings, asking: ObjectKey, found: Found) -> Iterable[Remark]:
    """Remark on a ConfigMap without anything in it."""
    for reference in badge_references(settings, asking):
        if reference.kind is Kind.CONFIG_MAP and not found.config_map(reference):
            yield Remark(reference.annotation, f"ConfigMap {reference.key} is empty")


BADGES = Family(
    name="badges",
    settings=BadgeSettings(),
    acts="carries badges",
    annotations={
        "badge-secret": Annotation("secret", parse_key),
        "badge-config": Annotation("config", parse_key),
    },
    phases=(Phase.ANSWER,),
    filters=badge_filters,
    references=badge_references,
    contents=badge_contents,
)
"""By annotations alone."""

OPERATORS_BADGES = Family(
    name="badges",
    settings=BadgeSettings(everywhere=ObjectKey("other", "web")),
    acts="carries badges",
    annotations=BADGES.annotations,
    phases=(Phase.ANSWER,),
    filters=badge_filters,
    filters_unasked=True,
    references=badge_references,
    contents=badge_contents,
)
"""The operator names a ConfigMap for everybody."""
