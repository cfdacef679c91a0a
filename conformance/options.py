"""What a run is told on its command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from conformance import binaries, suite


@dataclass(frozen=True)
class Options:
    """``tests`` and ``profiles`` are all where they are empty; tests may be features of Ingress."""

    command: str
    suite: str
    channel: str
    tests: tuple[str, ...]
    profiles: tuple[str, ...]
    impatient: bool

    @property
    def is_whole(self) -> bool:
        """Whether what comes out is a report."""
        return not (self.tests or self.profiles or self.impatient)


def read_arguments(arguments: Sequence[str]) -> Options:
    """Ends the program where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance", description="Run the official conformance tests."
    )
    parser.add_argument(
        "command",
        choices=("run", "up"),
        help="run the tests, or leave an API server and pods running for them",
    )
    parser.add_argument(
        "--suite",
        choices=sorted(binaries.SUITE_MODULES),
        default="release",
        help="of the release that we claim, or of the next one",
    )
    parser.add_argument(
        "--channel", choices=("standard", "experimental"), default="standard", help="which CRDs there are"
    )
    parser.add_argument(
        "--tests",
        type=words,
        default=(),
        metavar="NAME,...",
        help="these tests or features of Ingress alone, and no report",
    )
    parser.add_argument(
        "--profiles",
        type=words,
        default=(),
        metavar="NAME,...",
        help=f"instead of {','.join(suite.PROFILES)}, and no report",
    )
    parser.add_argument(
        "--impatient",
        action="store_true",
        help="wait for nothing much longer than ten seconds, and write no report",
    )
    return Options(**vars(parser.parse_args(arguments)))


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)
