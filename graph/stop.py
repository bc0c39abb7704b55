"""The wish that this process stops: at the next boundary, so that a call that is under way ends and is recorded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """One for each process. `thread_id` is the thread that it drives, for the hint."""

    def __init__(self) -> None:
        self.requested = False
        self.thread_id: str | None = None
        self.drain: Callable[[], None] = lambda: None  # of the run of the graph that is under way
        self._calls = 0

    def request(self) -> bool:
        """False where no call of a tool is under way: then there is nothing to wait for."""
        self.requested = True
        self.drain()
        return self._calls > 0

    @contextmanager
    def calling(self) -> Iterator[None]:
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
