"""Throws mutated conversations at the proxy for a while: ``python -m tests.fuzz --seconds 60``.

Each conversation has a number, which is its seed; the number that failed is all that is
needed to see it again: ``python -m tests.fuzz --only NUMBER``.
"""

import argparse
import sys
from random import Random
from time import monotonic

from tests.corpus.judge import WrongError
from tests.fuzz.alike_heads import fuzz_heads
from tests.fuzz.field_blocks import agree, generated
from tests.fuzz.mutations import conversation
from tests.fuzz.parsers import parse_one
from tests.fuzz.relayed_sessions import fuzz_relayed
from tests.fuzz.sessions import acts_of, fuzz_session
from tests.fuzz.streams import fuzz_one

_TOLD_SECONDS = 5.0


def main() -> int:
    """Run until the time is over or something is wrong."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=main.__doc__)
    options.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    options.add_argument("--first", type=int, default=0, help="number of the first conversation")
    options.add_argument("--only", type=int, help="play this conversation alone, and show it")
    chosen = options.parse_args()
    if chosen.only is not None:
        return _play(chosen.only, shows=True)
    started = told = monotonic()
    number = chosen.first
    while (now := monotonic()) - started < chosen.seconds:
        if _play(number):
            return 1
        number += 1
        if now - told >= _TOLD_SECONDS:
            told = now
            sys.stdout.write(f"{number - chosen.first} conversations in {now - started:.0f} s, all well\n")
            sys.stdout.flush()
    sys.stdout.write(f"{number - chosen.first} conversations, all well; go on with --first {number}\n")
    return 0


def _play(number: int, shows: bool = False) -> int:
    try:
        case, outcome = fuzz_one(number)
        parse_one(case.sent)
        agree(generated(Random(number), 0.25))
        fuzz_heads(number)
        told = fuzz_session(number)
        fuzz_relayed(number)
    except WrongError as error:
        case = conversation(Random(number))
        sys.stdout.write(
            f"conversation {number} is wrong: {error}\nsent: {case.sent!r}\nanswers: {case.answers!r}\n"
            f"session: {acts_of(number)!r}\n"
        )
        return 1
    if shows:
        sys.stdout.write(f"sent: {case.sent!r}\nanswers: {case.answers!r}\n{outcome}\n")
        sys.stdout.write(f"session: {acts_of(number)!r}\n{told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
