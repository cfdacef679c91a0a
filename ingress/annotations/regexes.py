"""Paths that are regular expressions: ``use-regex``, ``rewrite-target``, which are not honored yet.

One of them in any Ingress of a host makes all of its paths regular expressions in ingress-nginx.
An expression of a tenant is never run here.  Until these are honored, such a path keeps its
literal beginning (``ingress.routing.beginnings``) and answers 503: to compare it as it is written would give its
requests to whatever else the host has.
"""

from typing import ClassVar, Final

from attrs import frozen

from ingress.annotations.judging import Judging, status_reply
from ingress.annotations.values import Annotation, Family, parse_boolean
from ingress.filters import Filter, Phase, Reply, Services

_INSTEAD: Final = "paths that are regular expressions answer 503, and the others are served without it"


@frozen
class RegexSettings:
    """What the annotations of one Ingress say about its paths."""

    use_regex: bool = False
    rewrite_target: str = ""

    def makes_regexes(self, paths: tuple[str, ...]) -> bool:
        """Whether *paths*, those of the Ingress for one host, are regular expressions.

        As in ingress-nginx, a path that is rewritten to itself is not rewritten.
        """
        if self.use_regex:
            return bool(paths)
        return bool(self.rewrite_target) and any(path != self.rewrite_target for path in paths)


REGEXES: Final = Family(
    name="regexes",
    settings=RegexSettings(),
    acts="closes paths that are regular expressions",
    phases=(Phase.ACCESS,),
    annotations={
        "use-regex": Annotation("use_regex", parse_boolean, unhonored=_INSTEAD),
        "rewrite-target": Annotation("rewrite_target", str.strip, unhonored=_INSTEAD),
    },
)

_REPLY: Final = status_reply(503)


@frozen
class RegexMissing:
    """Answers 503: whether the request is one of the route's is for a regular expression to say."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "regex-missing"

    def describe(self) -> str:
        """Say why nobody gets in."""
        return "answers 503: the path is a regular expression, and these are not honored"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: object) -> Reply | None:
        """Let nothing pass."""
        return _REPLY
