"""The contract of filters, as its authors meet it."""

import subprocess
import sys
from collections.abc import Awaitable
from typing import ClassVar

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress import filters
from ingress.filters import (
    AnswerEdit,
    Facts,
    Filter,
    FilterSpec,
    Hook,
    Phase,
    Reply,
    Services,
    SubAnswer,
    cookie_value,
    query_value,
    used_hooks,
)


class Marks(Filter):
    """Marks answers."""

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        edit.put(b"X-Marked", b"yes")


class MarksAndRefuses(Marks):
    """Marks answers, and refuses requests once it has thought about them."""

    async def _refuse(self) -> Reply | None:
        return Reply(403)

    def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
        return self._refuse()


class Waits(Filter):
    """Has a hook that is a coroutine function."""

    async def on_request(self, facts: Facts) -> Reply | None:
        return None


@frozen
class MarksSpec:
    """A spec as an author writes it."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "marks"
    mark: bytes = b""

    def describe(self) -> str:
        return "marks answers"

    def make(self, services: Services) -> Filter:
        return Marks()


class HookTests(SynchronousTestCase):
    """Which hooks a filter uses."""

    def test_a_plain_filter_uses_none(self) -> None:
        """What overrides nothing is called for nothing."""
        self.assertEqual(used_hooks(Filter()), frozenset())

    def test_overridden_hooks_are_used(self) -> None:
        """A hook counts whether the class overrides it itself or inherits that, and whether or not it is a coroutine."""
        self.assertEqual(used_hooks(Marks()), {Hook.ANSWER})
        self.assertEqual(used_hooks(MarksAndRefuses()), {Hook.REQUEST, Hook.ANSWER})
        self.assertEqual(used_hooks(Waits()), {Hook.REQUEST})

    def test_every_hook_is_a_method(self) -> None:
        """The hooks are the methods of ``Filter`` whose names begin with ``on_``, all of them."""
        self.assertEqual({hook.value for hook in Hook}, {name for name in vars(Filter) if name[:3] == "on_"})


class SpecTests(SynchronousTestCase):
    """What a spec is."""

    def test_a_spec_needs_no_base_class(self) -> None:
        """A frozen class with the members of a spec is one; equal settings make equal specs."""
        spec: FilterSpec = MarksSpec(b"x")
        self.assertEqual((spec.phase, spec.name, spec.describe()), (Phase.ANSWER, "marks", "marks answers"))
        self.assertEqual(len({spec, MarksSpec(b"x"), MarksSpec(b"y")}), 2)

    def test_phases_follow_nginx(self) -> None:
        """Phases are compared by when nginx does such a thing, and no two stand at the same place."""
        order = (
            "HANDSHAKE",
            "SERVER",
            "PREFLIGHT",
            "REWRITE",
            "REDIRECT",
            "LIMITS",
            "ACCESS",
            "EDITS",
            "CODING",
            "ANSWER",
        )
        self.assertEqual(tuple(phase.name for phase in sorted(Phase)), order)
        self.assertEqual(len({int(phase) for phase in Phase}), len(order))


class PartTests(SynchronousTestCase):
    """What helps a filter to read."""

    def test_sub_answer_fields(self) -> None:
        """A field of a sub-answer is found in any spelling, the first one of several; an absent one is empty."""
        answer = SubAnswer(200, ((b"X-User", b"ann"), (b"x-user", b"bob")))
        self.assertEqual((answer.field(b"x-user"), answer.field(b"x-none")), (b"ann", b""))

    def test_cookies(self) -> None:
        """The first cookie of exactly that name counts, whatever stands around it."""
        field = b"A=1; a=2;b ; a=3; c=x=y"
        found = [cookie_value(field, name) for name in (b"a", b"A", b"b", b"c", b"d", b"")]
        self.assertEqual(found, [b"2", b"1", b"", b"x=y", b"", b""])

    def test_parameters(self) -> None:
        """The first parameter of that name in any case counts, and nothing of it is decoded."""
        found = [query_value(b"/p?A=1&a=2&b&c=%41&d==", name) for name in (b"a", b"b", b"C", b"d", b"e")]
        self.assertEqual(found, [b"1", b"", b"%41", b"=", b""])
        self.assertEqual(query_value(b"/a=1", b"a"), b"")


class ModuleTests(SynchronousTestCase):
    """The module as a whole."""

    def test_public_names_are_documented(self) -> None:
        """Every public name is there and says what it is for, and the module's docstring names the main ones."""
        assert filters.__doc__ is not None
        for name in filters.__all__:
            self.assertTrue(getattr(filters, name).__doc__, name)
        for name in (
            "Filter",
            "Facts",
            "Reply",
            "RequestEdit",
            "AnswerEdit",
            "BodyStage",
            "FilterSpec",
            "Phase",
        ):
            self.assertIn(f"``{name}``", filters.__doc__)

    def test_importing_it_is_cheap(self) -> None:
        """Neither Twisted nor ``kubernetes`` nor OpenSSL is imported with it."""
        script = "import sys, ingress.filters; print(*sorted(n.partition('.')[0] for n in sys.modules))"
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
        self.assertEqual(
            {"twisted", "kubernetes", "OpenSSL", "cryptography"} & set(found.stdout.split()), set()
        )
