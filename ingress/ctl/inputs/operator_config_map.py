"""The operator's ConfigMap, where the input has it: its options count as they do in a running process.  Pure."""

from collections.abc import Collection

from attrs import evolve

from ingress.ctl.inputs.input import Input, Unread
from ingress.model.objects import ConfigMap, Kind
from ingress.options.config_map import read_config_map
from ingress.options.merging import merge


def with_config_map(given: Input, names: Collection[str]) -> Input:
    """Return *given* with what the ConfigMap of ``--configmap`` says beside the options *names* of the command line.

    Where the input has no such ConfigMap its options stay as they are, and that is told.
    """
    key = given.settings.config_map
    if key is None:
        return given
    found = (layer.state.of(Kind.CONFIG_MAP).get(key) for layer in given.layers)
    content = next((one.content for one in found if isinstance(one, ConfigMap)), None)
    if content is None:
        why = "is not in the input, so the options of the command line and the defaults count"
        return evolve(given, unread=(*given.unread, Unread(f"ConfigMap {key}", why)))
    merged = merge(given.settings, names, read_config_map(key, content, names))
    return evolve(
        given,
        settings=merged.settings,
        problems=(*given.problems, *merged.problems),
        others=tuple(evolve(one, settings=merged.settings) for one in given.others),
    )
