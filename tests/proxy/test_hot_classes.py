"""What every request goes through can be compiled: its classes are plain ones, and have the attributes they begin with."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Protocol

from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementedBy

from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.proxy.downstream.answer_writer import AnswerWriter
from ingress.proxy.downstream.body_intake import BodyIntake
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.downstream.h2_stream import DownstreamStream
from ingress.proxy.downstream.request_body import RequestBody
from ingress.proxy.downstream.request_reader import RequestReader
from ingress.proxy.downstream.sending import Sending
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.request_passage import RequestPassage
from ingress.proxy.listening.stream_tunnel import TunnelEnd
from ingress.proxy.transport.epoll.splice import Splice
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.proxy.upstream.connection import UpstreamConnection
from ingress.proxy.upstream.h2_session import UpstreamSession
from ingress.proxy.upstream.h2_stream import UpstreamStream
from ingress.proxy.upstream.pool import UpstreamPool
from tests.fakes.plain_code import need_plain_code

MADE_FOR_EACH: tuple[type, ...] = (
    Attempts,
    DownstreamStream,
    Exchange,
    RequestHead,
    RequestPassage,
    ResponseHead,
    UpstreamStream,
)
"""What is made for a request, and asked for its attributes again and again."""
REPOSITORY = Path(__file__).parents[2]
HOT: tuple[type, ...] = (
    AnswerWriter,
    Attempts,
    BodyIntake,
    DownstreamChannel,
    DownstreamSession,
    DownstreamStream,
    Exchange,
    RequestBody,
    RequestReader,
    Sending,
    Splice,
    StreamTransport,
    TLSTransport,
    TunnelEnd,
    UpstreamConnection,
    UpstreamPool,
    UpstreamSession,
    UpstreamStream,
)


def ours(kind: type) -> list[type]:
    """Return *kind* and what it is built upon, as far as it is ours."""
    return [each for each in kind.__mro__ if each.__module__.startswith("ingress.")]


def set_in(function: ast.AST) -> set[str]:
    """Return the attributes of ``self`` that are assigned in *function*."""
    return {
        target.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        for target in (node,)
        if isinstance(target.value, ast.Name) and target.value.id == "self"
    }


def attributes(kind: type) -> tuple[set[str], set[str]]:
    """Return what a class declares, in its body, its slots and ``__init__``, and what its other methods assign."""
    tree = ast.parse((REPOSITORY / f"{kind.__module__.replace('.', '/')}.py").read_text("utf-8"))
    [found] = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__]
    declared = {name for name in vars(kind) if not name.startswith("__")}
    declared |= {
        each.target.id
        for each in found.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    assigned: set[str] = set()
    for each in found.body:
        if isinstance(each, ast.FunctionDef):
            if each.name == "__init__":
                declared |= set_in(each)
            else:
                assigned |= set_in(each)
    return declared, assigned


class HotClassTests(SynchronousTestCase):
    """The classes of the way that a request takes."""

    def test_plain(self) -> None:
        """They have no metaclass but that of Protocols, no base of Twisted's, and provide no interface of zope's."""
        for kind in HOT:
            self.assertIn(type(kind), (type, type(Protocol)), kind)
            others = {each.__module__.partition(".")[0] for each in kind.__mro__} - {"ingress"}
            self.assertLessEqual(others, {"builtins", "typing"}, kind)
            self.assertEqual(list(implementedBy(kind)), [], kind)

    def test_no_late_attributes(self) -> None:
        """None of them gets an attribute that it was not declared with."""
        for kind in HOT:
            declared: set[str] = set()
            assigned: set[str] = set()
            for each in ours(kind):
                more, late = attributes(each)
                declared |= more
                assigned |= late
            self.assertEqual(assigned - declared, set(), kind)
            self.assertGreater(len(declared), 1, kind)

    def test_slots(self) -> None:
        """What is made for each request has its attributes in slots: CPython 3.11 takes six times as long for a default of the class."""
        need_plain_code("compiled classes look up no attributes, whatever else they have")
        for kind in MADE_FOR_EACH:
            self.assertEqual(kind.__dictoffset__, 0, kind)
