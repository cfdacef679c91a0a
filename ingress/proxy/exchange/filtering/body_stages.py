"""The stages that a body passes through: each may change it, copy it, and set its pace."""

from collections.abc import Callable

from ingress.filters import BodyStage
from ingress.proxy.exchange.filtering.chain import LiveFilter


class StageFailed(Exception):  # noqa: N818 - it is caught where it is made known
    """A stage raised: that of *live*; *error* is what."""

    def __init__(self, live: LiveFilter, error: Exception) -> None:
        super().__init__(live.name)
        self.live = live
        # And not by the cause of this: compiled code sets none.
        self.error = error


class StageFlow:
    """What one stage sets the pace of its body by; satisfies ``ingress.filters.BodyFlow``."""

    def __init__(self, stages: "BodyStages") -> None:
        self._stages = stages
        self._is_paused = False

    def pause(self) -> None:
        """Have whoever sends the body wait."""
        if not self._is_paused:
            self._is_paused = True
            self._stages.paused_by_one_more()

    def resume(self) -> None:
        """Have the body go on."""
        if self._is_paused:
            self._is_paused = False
            self._stages.paused_by_one_less()


class BodyStages:
    """All stages of one body, in the order in which it passes them."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """*pause* and *resume* are called when the first stage, and when none any more, has the body wait."""
        self._pause = pause
        self._resume = resume
        self._stages: list[tuple[LiveFilter, BodyStage]] = []
        self._pausing = 0
        self._is_over = False

    def __len__(self) -> int:
        return len(self._stages)

    @property
    def is_paused(self) -> bool:
        """Whether a stage has the body wait."""
        return self._pausing > 0

    def add(self, live: LiveFilter, make: Callable[[StageFlow], BodyStage | None]) -> None:
        """Have the body pass what *make* makes, if anything, after those before; raises ``StageFailed``."""
        try:
            stage = make(StageFlow(self))
        except Exception as error:
            raise StageFailed(live, error) from error
        if stage is not None:
            self._stages.append((live, stage))

    @property
    def may_change(self) -> bool:
        """Whether what goes on may be another body than what came."""
        return not all(live.filter.watches_bodies for live, _ in self._stages)

    def feed(self, piece: bytes) -> bytes:
        """Return what goes on in place of *piece*; raises ``StageFailed``."""
        for live, stage in self._stages:
            if not piece:
                break
            octets = _octets_of(live, stage.feed, piece)
            if not live.filter.watches_bodies:
                piece = octets
        return piece

    def finish(self) -> bytes:
        """Return what goes on before the end of the body, which has come; raises ``StageFailed``."""
        rest = b""
        for live, stage in self._stages:
            changed = _octets_of(live, stage.feed, rest) if rest else rest
            end = _octets_of(live, stage.finish)
            if not live.filter.watches_bodies:
                rest = changed + end
        return rest

    def close(self) -> None:
        """The exchange is over: nobody's pace matters any more, and nothing is kept of what stages hold."""
        self._is_over = True
        self._stages = []
        # Whoever is told knows this, too, and a stage may look at its flow for a while.
        self._pause = self._resume = _nothing

    def paused_by_one_more(self) -> None:
        """A stage has the body wait."""
        self._pausing += 1
        if self._pausing == 1 and not self._is_over:
            self._pause()

    def paused_by_one_less(self) -> None:
        """A stage lets the body go on."""
        self._pausing -= 1
        if not self._pausing and not self._is_over:
            self._resume()


def _nothing() -> None:
    """Tell nobody."""


def _octets_of(live: LiveFilter, call: Callable[..., bytes], *arguments: bytes) -> bytes:
    try:
        octets = call(*arguments)
        if not isinstance(octets, bytes):
            raise TypeError(f"a stage returned {type(octets).__name__}, and not bytes")
    except Exception as error:
        raise StageFailed(live, error) from error
    return octets
