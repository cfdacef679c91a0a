"""The options in force while the process runs: whoever says some of them is heard, and what follows is told to whom it concerns.

The command line is there from the start.  A second source, such as the operator's ConfigMap, may say others whenever it likes; those
that are decided once, it may say until the listeners open.
"""

from collections.abc import Collection
from itertools import chain
from typing import TYPE_CHECKING, Any

from attrs import evolve
from twisted.logger import Logger

from ingress.cluster.own_node import OwnNode
from ingress.cluster.source import Sink
from ingress.controller import Controller
from ingress.data_plane import DataPlane
from ingress.model.cluster.locality import Locality
from ingress.model.cluster.port_services import PortServices
from ingress.model.cluster.problems import Problem
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.options.merging import Merged, OptionSource, OptionTexts, merge
from ingress.process.systemd.sockets import HandedOver
from ingress.proxy.listening.reach import endpoint_rules
from ingress.settings import Settings, translate_options
from ingress.translate.options import TranslateOptions

if TYPE_CHECKING:
    # Megabytes of modules, for who has one.
    from ingress.cluster.api_server import ApiServerSource
    from ingress.options.followed_config_map import FollowedConfigMap


class OptionsInForce:
    """What *settings* and a second source come to, which has no say about what is *given* on the command line.

    *api_server* is where objects come from, if one is; *handed_over* are the sockets that were open before the process.  *options* is the
    second source, unless the settings name a ConfigMap.  *node* is the Node that we run on, empty where that does not matter.
    """

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        given: Collection[str],
        reactor: Any,
        api_server: "ApiServerSource | None",
        handed_over: HandedOver,
        options: OptionSource | None,
        node: str,
    ) -> None:
        self._settings = settings
        self._given = given
        self._reactor = reactor
        self._api_server = api_server
        self._handed_over = handed_over
        self._second = options
        self._node = node
        self._zone = settings.zone
        self._controller: Controller | None = None
        self._data_plane: DataPlane | None = None
        self._beginning = settings
        """What is decided at the start: these, or what the second source says before anybody is served."""
        self._started_with: Settings | None = None
        """That, once the listeners open."""
        self._merged = Merged(settings)
        self._process_problems: dict[str, tuple[Problem, ...]] = {}
        self._port_sources: list[FollowedConfigMap[PortServices]] = []
        self._tcp_services: PortServices | None = None
        self._udp_services: PortServices | None = None

    def __repr__(self) -> str:
        return f"<OptionsInForce {', '.join(self._merged.in_force) or 'of the command line'}>"

    def govern(self, controller: Controller, data_plane: DataPlane) -> Sink:
        """Tell *controller* and *data_plane* from now on; return the sink of objects, which passes them on to *controller*.

        ConfigMaps that the settings name are seen there, on their way.
        """
        self._controller, self._data_plane = controller, data_plane
        sink: Sink = controller
        settings = self._settings
        if settings.config_map is not None:
            from ingress.options.config_map_source import config_map_source

            from_config_map = config_map_source(settings.config_map, sink, self._reactor, self._given)
            self._second = sink = from_config_map
        for key, is_udp in ((settings.tcp_services, False), (settings.udp_services, True)):
            if key is not None:
                from ingress.options.port_services_source import port_services_source

                source = sink = port_services_source(key, sink, self._reactor, is_udp=is_udp)
                self._port_sources.append(source)
        if settings.topology_aware and not self._zone:
            if self._node:
                sink = OwnNode(self._node, sink, self._located)
            else:
                self.log.warn(
                    "--enable-topology-aware-routing does nothing: there is no --zone, and no NODE_NAME in the environment"
                )
        return sink

    def start(self) -> None:
        """Hear whoever says options."""
        if self._second is not None:
            self._second.start(self._said)
        for source in self._port_sources:
            source.start(self._port_services_said)

    def stop(self) -> None:
        """Hear nobody any more."""
        if self._second is not None:
            self._second.stop()
        for source in self._port_sources:
            source.stop()

    def keep_beginning(self) -> None:
        """Have what is decided at the start stay as it is: the listeners open."""
        self._started_with = self._beginning

    def tell_of(self, part: str, problems: tuple[Problem, ...]) -> None:
        """Have the operator know just these *problems* of a *part* of the process."""
        self._process_problems[part] = problems
        self.apply()

    def apply(self) -> TranslateOptions:
        """Have what was said in force, also after the surroundings changed; return what translation goes by."""
        assert self._controller is not None, "govern() comes first"
        merged = self._merged
        options = self.translation(merged.settings)
        problems = (*merged.problems, *chain.from_iterable(self._process_problems.values()))
        self._controller.configure(options, merged.settings.serving, problems)
        return options

    def translation(self, settings: Settings) -> TranslateOptions:
        """Return what translation goes by with *settings*, and with what this process knows of its surroundings."""
        options = translate_options(settings)
        api_server = self._api_server
        rules = endpoint_rules(
            settings.listeners,
            options.endpoint_networks,
            tuple if api_server is None else api_server.endpoints,
            allows_local=options.from_manifests,
            handed_over=self._handed_over,
        )
        is_somewhere = settings.topology_aware and bool(self._zone or self._node)
        return evolve(
            options,
            endpoint_rules=rules,
            tcp_services=self._tcp_services,
            udp_services=self._udp_services,
            locality=Locality(self._zone, self._node) if is_somewhere else None,
        )

    def _located(self, zone: str) -> None:
        self._zone = zone
        self.log.info("This process runs in {locality}", locality=Locality(zone, self._node))
        self.apply()

    def _said(self, said: OptionTexts) -> None:
        assert self._data_plane is not None, "govern() comes first"
        self._merged = merged = merge(self._settings, self._given, said, self._started_with)
        if self._started_with is None:
            self._beginning = merged.settings
            self._data_plane.begin_with(merged.settings)
        options = self.apply()
        if self._api_server is not None:
            # Not now: this may be amid what the source hands over.
            self._reactor.callLater(0, self._api_server.refer, options)
        self.log.info(
            "{kind} {namespace}/{object} decides {options}",
            kind=said.kind,
            namespace=said.namespace,
            object=said.name,
            options=", ".join(merged.in_force) or "no option",
            change=Mark(ChangeSort.OPTION, "changed", said.kind, f"{said.namespace}/{said.name}"),
        )

    def _port_services_said(self, services: PortServices) -> None:
        if services.is_udp:
            self._udp_services = services
        else:
            self._tcp_services = services
        self.apply()
