"""The conversations of the other modules once more, on connections of the epoll set.

Channel and upstream connection must not be able to tell the transports apart, so
each of their tests holds for both.
"""

from types import ModuleType

from ingress.proxy.transport.epoll.stream import StreamTransport
from tests.proxy.dispatch import test_resource
from tests.proxy.downstream import (
    test_back_pressure,
    test_channel,
    test_channel_deadlines,
    test_channel_refusals,
    test_negotiating,
)
from tests.proxy.exchange import test_exchange, test_tunnel
from tests.proxy.listening import test_passthrough
from tests.proxy.playing import GET, ProxyCase
from tests.proxy.upstream import test_connection as test_upstream
from tests.proxy.upstream import test_pool


def on_epoll(module: ModuleType) -> dict[str, type[ProxyCase]]:
    """Return the cases of *module*, each as one on the epoll set."""
    found = {}
    for name, case in vars(module).items():
        if isinstance(case, type) and issubclass(case, ProxyCase) and case is not ProxyCase:
            place = f"{module.__name__.rpartition('test_')[2].title().replace('_', '')}{name}"
            found[place] = type(
                place, (case,), {"on_epoll": True, "__module__": __name__, "__doc__": case.__doc__}
            )
    return found


for each in (
    test_back_pressure,
    test_channel,
    test_channel_deadlines,
    test_channel_refusals,
    test_exchange,
    test_negotiating,
    test_passthrough,
    test_pool,
    test_resource,
    test_tunnel,
    test_upstream,
):
    globals().update(on_epoll(each))


class EpollSetTests(ProxyCase):
    """The stage of this module."""

    on_epoll = True

    def test_transports(self) -> None:
        """Both connections of an exchange are those of the epoll set."""
        down = self.stage.open()
        down.say(GET)
        for peer in (down, self.upstream()):
            self.assertIsInstance(peer.transport, StreamTransport)

    def test_all_are_here(self) -> None:
        """Every case of the other modules is here too."""
        cases = [
            name for name, case in globals().items() if isinstance(case, type) and issubclass(case, ProxyCase)
        ]
        self.assertGreater(len(cases), 25)
        self.assertIn("ChannelDeadlinesDeadlineTests", cases)
