"""The operator's ConfigMaps, where the input has them: what they say counts as it does in a running process.  Pure."""

from collections.abc import Collection, Mapping

from attrs import evolve

from ingress.ctl.inputs.input import Input, Unread
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey
from ingress.model.cluster.port_services import PortServices
from ingress.options.config_map import read_config_map
from ingress.options.merging import merge
from ingress.options.port_services import read_port_services
from ingress.settings import Settings


def with_config_map(given: Input, names: Collection[str]) -> Input:
    """Return *given* with what the ConfigMap of ``--configmap`` says beside the options *names* of the command line.

    Those that list TCP and UDP services count, too.  Where the input has no such ConfigMap its options stay as they are, and that
    is told.
    """
    key = given.settings.config_map
    if key is not None:
        content = _content_of(key, given)
        if content is None:
            given = _without(given, key, "so the options of the command line and the defaults count")
        else:
            merged = merge(given.settings, names, read_config_map(key, content, names))
            given = with_settings(given, merged.settings)
            given = evolve(given, problems=(*given.problems, *merged.problems))
    return _with_services(given)


def _with_services(given: Input) -> Input:
    for key, is_udp in ((given.settings.tcp_services, False), (given.settings.udp_services, True)):
        if key is None:
            continue
        content = _content_of(key, given)
        if content is None:
            given = _without(given, key, f"so no {'UDP' if is_udp else 'TCP'} service is served")
            continue
        listed: PortServices = read_port_services(key, content, is_udp=is_udp)
        translating = given.settings.translate
        translating = (
            evolve(translating, udp_services=listed) if is_udp else evolve(translating, tcp_services=listed)
        )
        given = with_settings(given, evolve(given.settings, translate=translating))
    return given


def _content_of(key: ObjectKey, given: Input) -> Mapping[str, str] | None:
    found = (layer.state.of(Kind.CONFIG_MAP).get(key) for layer in given.layers)
    return next((one.content for one in found if isinstance(one, ConfigMap)), None)


def _without(given: Input, key: ObjectKey, consequence: str) -> Input:
    told = Unread(f"ConfigMap {key}", f"is not in the input, {consequence}")
    return evolve(given, unread=(*given.unread, told))


def with_settings(given: Input, settings: Settings) -> Input:
    """Return *given* with *settings*, in all layers."""
    others = tuple(evolve(one, settings=settings) for one in given.others)
    return evolve(given, settings=settings, others=others)
