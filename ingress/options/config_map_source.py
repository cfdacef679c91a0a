"""The operator's ConfigMap as a source of options, which it says as they change.

What it said last stays in force while it is gone: a guard must not be open meanwhile.
"""

from collections.abc import Collection
from functools import partial
from typing import Final

from attrs import evolve
from twisted.internet.interfaces import IReactorTime

from ingress.cluster.source import Sink
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.options.config_map import config_map_in_steps, nothing_said
from ingress.options.followed_config_map import FollowedConfigMap
from ingress.options.merging import OptionTexts

_GONE: Final = "does not exist any more; what it said last stays in force until it is there again or the process starts anew"
_MISSING: Final = (
    "does not exist, so the command line and the defaults count; it is read as soon as it is there"
)


def config_map_source(
    key: ObjectKey, sink: Sink, clock: IReactorTime, given: Collection[str] = ()
) -> FollowedConfigMap[OptionTexts]:
    """Return what says the options that the ConfigMap *key* has; *given* are those of the command line."""
    return FollowedConfigMap(
        key,
        sink,
        clock,
        read=partial(config_map_in_steps, key, given=given),
        missing=partial(_missing, key),
        nothing=OptionTexts({}),
    )


def _missing(key: ObjectKey, before: OptionTexts | None) -> OptionTexts:
    if before is None:
        return nothing_said(key, Reason.CONFIG_MAP_NOT_FOUND, _MISSING)
    gone = Problem(Kind.CONFIG_MAP, key.namespace, key.name, Reason.CONFIG_MAP_NOT_FOUND, _GONE)
    return evolve(before, problems=(*before.problems, gone))
