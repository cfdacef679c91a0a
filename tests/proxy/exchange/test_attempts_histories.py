"""Whatever endpoints do: what may be repeated succeeds while one of them is well, and nothing else is done twice."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from tests.fakes.transports import Peer
from tests.properties import examples
from tests.proxy.playing import OK, ONE, THREE, TWO, ProxyCase, Stage, body_of

MOODS = ("well", "refuses", "swallows", "ends", "resets", "nonsense")
REPEATABLE = (b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS")


class Request(NamedTuple):
    """A request, the moods of two of the three endpoints meanwhile, and the seconds before the next one."""

    method: bytes
    moods: tuple[str, str]
    pause: int


REQUESTS = st.builds(
    Request,
    st.sampled_from((*REPEATABLE, b"POST", b"PATCH")),
    st.tuples(st.sampled_from(MOODS), st.sampled_from(MOODS)),
    st.sampled_from((0, 0, 0, 1, 4, 12)),
)


class HistoryTests(ProxyCase):
    """Many requests, with endpoints that change their mood between any two."""

    on_epoll = True

    def react(self, peer: Peer, mood: str) -> None:
        """Do with a request what an endpoint of this mood does."""
        if mood == "ends":
            peer.finish()
        elif mood == "resets":
            peer.reset()
        elif mood == "nonsense":
            peer.say(b"nonsense\r\n\r\n")
        else:
            peer.say(OK.replace(b"ok", b"") if peer.received.startswith(b"HEAD") else OK)

    def play(self, request: Request, number: int) -> tuple[int, list[str]]:
        """Play one request; its status, and the moods of the endpoints that got it, in order."""
        moods = {ONE: request.moods[0], TWO: request.moods[1], THREE: "well"}
        self.connector.unreachable = {
            endpoint: REFUSED if mood == "refuses" else TIMED_OUT
            for endpoint, mood in moods.items()
            if mood in ("refuses", "swallows")
        }
        down = self.stage.open()
        body = b"%08d" % number
        down.say(b"%b / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 8\r\n\r\n%b" % (request.method, body))
        met = []
        while not down.received:
            [peer] = [each for each in self.connector.peers if each.received and not each.closed]
            self.assertEqual(body_of(peer.received), body)
            mood = moods[peer.protocol.endpoint]  # type: ignore[attr-defined]
            met.append(mood)
            self.assertLess(len(met), 7)
            received = peer.received
            self.react(peer, "well" if mood in ("refuses", "swallows") else mood)
            self.assertEqual(peer.take(), received)
        self.assertEqual(down.received.count(b"HTTP/1.1 "), 1)
        status = int(down.take()[9:12])
        down.finish()
        self.reactor.pass_time(request.pause)
        return status, met

    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    @given(st.lists(REQUESTS, min_size=1, max_size=25))
    def test_histories(self, requests: list[Request]) -> None:
        """Each request ends once; repeatable ones succeed unless upstream talks nonsense; others are seen once."""
        self.stage = Stage(on_epoll=True)
        self.reactor, self.connector = self.stage.reactor, self.stage.connector
        self.stage.publish((ONE, TWO, THREE))
        statuses = []
        for number, request in enumerate(requests):
            status, met = self.play(request, number)
            statuses.append(status)
            if "nonsense" in met:
                self.assertEqual((status, met[-1]), (502, "nonsense"))
            elif request.method in REPEATABLE:
                self.assertEqual(status, 200)
            else:
                self.assertEqual(len(met), 1)
                self.assertEqual(status, 200 if met[0] in ("well", "refuses", "swallows") else 502)
        self.assertEqual([status for _, status, _ in self.stage.metrics.ended], statuses)
