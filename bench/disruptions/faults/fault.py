"""One row of the table: a name, a sentence, what is required, and the script that plays it."""

from collections.abc import Awaitable, Callable

from attrs import frozen

from bench.disruptions.faults.stage import Stage

ALL = ("ours", "nginx", "haproxy")
OURS = ("ours",)


@frozen
class Fault:
    """A row.  *targets* are the proxies for which it makes sense."""

    name: str
    required: str
    play: Callable[[Stage], Awaitable[None]]
    targets: tuple[str, ...] = ALL

    @property
    def sentence(self) -> str:
        """What is broken: the first paragraph of the script's docstring."""
        text = self.play.__doc__ or ""
        return " ".join(text.split("\n\n")[0].split())
