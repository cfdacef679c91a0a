"""What is said of a computation that is refused."""


class ComputingRefused(Exception):  # noqa: N818 - nothing failed
    """Too much waits to be computed already: of whoever asks if *is_own*, or else of all together."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too much waits to be computed" + (" for the same one" if is_own else ""))
        self.is_own = is_own
