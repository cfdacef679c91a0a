"""What becomes of an ingress-nginx ConfigMap, key by key.

It is the one that the option ``configmap`` names, or one of the input that has a name by which ingress-nginx is usually
installed.  Of its values only those are repeated that cannot be read, for some keys hold what is nobody's to know.
"""

from typing import Final

from attrs import evolve

from ingress.annotations.firewall.family import OPTION
from ingress.ctl.inputs.ingress_nginx.usual_config_map import find_config_map
from ingress.ctl.inputs.input import Input
from ingress.ctl.migrate.migration import ConfigMapReport, Key
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason
from ingress.options.config_map import read_config_map
from ingress.options.config_map_keys import KEYS
from ingress.options.merging import merge
from ingress.options.option import DEFAULTS
from ingress.options.table import SPELLINGS

HONORED: Final = "honored"
NOTHING: Final = "changes nothing"
NOTE: Final = "differs"
NOT_HONORED: Final = "not honored"

_STANDINGS: Final = {
    Reason.OPTION_NOTE: NOTE,
    Reason.OPTION_AT_START: HONORED,
    Reason.OPTION_OVERRIDDEN: NOTE,
}


def config_map_report(given: Input) -> ConfigMapReport | None:
    """Return what becomes of the ConfigMap that is meant; None where *given* has none."""
    found = find_config_map(given)
    if found is None:
        return None
    names = (OPTION,) if given.settings.translate.firewall.processes else ()
    texts = read_config_map(found.key, found.content, names)
    by_key: dict[str, list[Problem]] = {}
    for problem in merge(DEFAULTS, (), texts).problems:
        by_key.setdefault(problem.field.removeprefix("data."), []).append(problem)
    keys = sorted((_key(name, by_key.get(name, [])) for name in found.content), key=_order)
    return ConfigMapReport((Kind.CONFIG_MAP, found.key), tuple(keys))


def naming_config_map(given: Input) -> Input:
    """Return *given* with the option that names the ConfigMap which has a usual name, where no option names one."""
    found = find_config_map(given)
    if found is None or given.settings.config_map is not None:
        return given
    return evolve(given, settings=evolve(given.settings, config_map=found.key))


def _key(name: str, problems: list[Problem]) -> Key:
    if problems:
        standing = min((_STANDINGS.get(one.reason, NOT_HONORED) for one in problems), key=_WORST.index)
        return Key(
            name, standing, "; ".join(one.message.removeprefix("is not honored: ") for one in problems)
        )
    row = KEYS.get(name)
    option = name if name in SPELLINGS else "" if row is None else row.option
    if not option:
        return Key(name, NOTHING)
    return Key(name, HONORED, "" if option == name else f"it is the option {option} here")


_WORST: Final = (NOT_HONORED, NOTE, NOTHING, HONORED)


def _order(key: Key) -> tuple[int, str]:
    return _WORST.index(key.standing), key.name
