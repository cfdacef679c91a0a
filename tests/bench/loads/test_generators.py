"""What the generators are asked to do, and how their output is read."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.loads import generators
from bench.loads.catalog import LOADS, Generator, Load, Protocol
from bench.loads.generators import Outcome
from bench.setup.errors import BenchError

H2LOAD = """\
starting benchmark...
spawning thread #0: 32 total client(s). 20000 total requests
progress: 100% done

finished in 1.02s, 19600.12 req/s, 3.50MB/s
requests: 20000 total, 20000 started, 20000 done, 19990 succeeded, 10 failed, 0 errored, 0 timeout
status codes: 19990 2xx, 0 3xx, 4 4xx, 6 5xx
traffic: 3.57MB (3740000) total, 1.60MB (1680000) headers (space savings 0.00%), 1.91MB (2000000) data
"""

WRK = """\
Running 2s test @ http://plain.bench.test:40001/
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.02ms  310.11us   9.10ms   91.02%
    Req/Sec    31.20k     1.94k   34.10k    80.00%
  62122 requests in 2.00s, 11.02MB read
"""


def command(load: Load) -> list[str]:
    """The command of *load* with numbers that can be told apart."""
    return generators.command(load, 4001, 500, 7, Path("/body"), Path("/log"), Path("/certificate"))


class OutcomeTests(SynchronousTestCase):
    """What the generators print."""

    def test_h2load(self) -> None:
        """Only answers with status 2xx have succeeded."""
        self.assertEqual(generators.outcome(Generator.H2LOAD, H2LOAD), Outcome(19990, 10))

    def test_h2load_errored(self) -> None:
        """Requests that never got an answer have failed."""
        text = H2LOAD.replace("19990 2xx, 0 3xx, 4 4xx, 6 5xx", "15000 2xx, 0 3xx, 0 4xx, 0 5xx")
        self.assertEqual(generators.outcome(Generator.H2LOAD, text), Outcome(15000, 5000))

    def test_protocol(self) -> None:
        """What was agreed on by ALPN is told; without TLS nothing is."""
        self.assertIsNone(generators.outcome(Generator.H2LOAD, H2LOAD).protocol)
        for protocol in (Protocol.HTTP1, Protocol.HTTP2):
            text = f"Application protocol: {protocol.value}\n{H2LOAD}"
            self.assertIs(generators.outcome(Generator.H2LOAD, text).protocol, protocol)

    def test_own(self) -> None:
        """The programs of this repository end with their counts as JSON, whatever was printed before."""
        text = 'a warning\n{"succeeded": 7, "failed": 2, "reason": "GOAWAY"}\n'
        for generator in (
            Generator.UNIQUE,
            Generator.UNIQUE_HTTP1,
            Generator.GRPC_UNARY,
            Generator.GRPC_BIDI,
        ):
            self.assertEqual(generators.outcome(generator, text), Outcome(7, 2, "GOAWAY"))

    def test_wrk(self) -> None:
        """Without complaints, all requests have succeeded."""
        self.assertEqual(generators.outcome(Generator.WRK, WRK), Outcome(62122, 0))

    def test_wrk_complains(self) -> None:
        """Other statuses are taken off the requests; broken sockets were never among them."""
        text = (
            f"{WRK}  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 22\n"
        )
        self.assertEqual(generators.outcome(Generator.WRK, text), Outcome(62100, 32))

    def test_no_counts(self) -> None:
        """Output without counts is an error, not a load of nothing."""
        for generator in Generator:
            for text in ("unable to connect\n", "", "7\n", '{"succeeded": 7}\n'):
                self.assertRaises(BenchError, generators.outcome, generator, text)

    def test_latencies(self) -> None:
        """The third column of h2load's log is the time of a request; an empty line is none."""
        lines = ["1600000000000000\t200\t812", "1600000000000100\t200\t1398", ""]
        self.assertEqual(generators.latencies(lines), [812, 1398])


class CommandTests(SynchronousTestCase):
    """The command lines."""

    def test_h2load(self) -> None:
        """The name of the load goes into the URL, and the connection to loopback."""
        words = command(Load("x", "x", host="shop.test", path="/a", connections=12))
        self.assertEqual(words[0], "h2load")
        self.assertLessEqual(
            {"--h1", "--clients=12", "--requests=500", "--connect-to=127.0.0.1:4001", "http://shop.test/a"},
            set(words),
        )
        self.assertFalse([word for word in words if word.startswith(("--data", "--rps", "--log-file"))])

    def test_h2load_http2(self) -> None:
        """Over HTTP/2 nothing else is offered, and streams and fields are told; over HTTP/1.1 nothing but that."""
        words = command(
            Load("x", "x", protocol=Protocol.HTTP2, streams=10, fields=(("te", "trailers"),), scheme="https")
        )
        self.assertLessEqual(
            {"--npn-list=h2", "--max-concurrent-streams=10", "--header=te: trailers"}, set(words)
        )
        self.assertNotIn("--h1", words)
        for load in LOADS:
            if load.generator is Generator.H2LOAD:
                offered = "--h1" if load.protocol is Protocol.HTTP1 else "--npn-list=h2"
                self.assertIn(offered, command(load), load.name)

    def test_own(self) -> None:
        """The programs of this repository exist, and are told what they need."""
        for load in LOADS:
            if load.generator in (Generator.UNIQUE, Generator.GRPC_UNARY, Generator.GRPC_BIDI):
                words = command(load)
                module = words[words.index("-m") + 1]
                self.assertTrue(
                    (generators.SCRIPTS.parent / f"{module.removeprefix('bench.loads.')}.py").is_file()
                )
                self.assertLessEqual({"4001", load.host, str(load.streams), "500"}, set(words))
        unary = Load("x", "x", generator=Generator.GRPC_UNARY)
        self.assertEqual(command(unary)[3], "unary")
        self.assertIn("/certificate", command(unary))

    def test_upload(self) -> None:
        """A load that uploads sends the body."""
        self.assertIn("--data=/body", command(Load("x", "x", upload_bytes=5)))

    def test_fixed_rate(self) -> None:
        """The rate is shared between the connections, and every request is logged."""
        words = command(Load("x", "x", rate=2000, connections=32))
        self.assertLessEqual({"--rps=62.5", "--log-file=/log"}, set(words))

    def test_wrk(self) -> None:
        """wrk runs for its time, with a script that exists."""
        words = command(
            Load("x", "x", generator=Generator.WRK, scheme="https", host="a.test", script="close.lua")
        )
        self.assertEqual((words[0], words[-1]), ("wrk", "https://a.test:4001/"))
        self.assertIn("--duration=7s", words)

    def test_scripts_exist(self) -> None:
        """Every load of wrk names a script of this repository."""
        for load in LOADS:
            if load.generator is Generator.WRK:
                self.assertTrue((generators.SCRIPTS / load.script).is_file(), load.name)
