"""The options about where requests may be sent."""

from typing import ClassVar

from ingress.cli import option_values
from ingress.cli.option_rows import RepeatableOptions


class BackendOptions(RepeatableOptions):
    """What Services and their endpoints may be."""

    repeatables: ClassVar[tuple[str, ...]] = ("allow-endpoint-networks",)
    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "allow-external-name",
            None,
            "Send requests to Services of type ExternalName; otherwise they answer 503.",
        ],
        ["service-upstream", None, "Send requests to the cluster IP of a Service instead of to its pods."],
    ]

    def opt_allow_endpoint_networks(self, text: str) -> None:
        """Network in which pods may be, although its addresses are this host's, the link's or the API server's."""
        self._add("allow-endpoint-networks", option_values.read_network, text)
