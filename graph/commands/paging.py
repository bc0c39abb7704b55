"""Lists that may be long: so many of them, and a word about the rest. One more than is shown is asked for, to know that there is more."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

import typer

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000_000, help="How many at most.")]
Row = TypeVar("Row")


class Page(Generic[Row]):
    """The first `limit` of what was found with `limit + 1`. `more`: it is not all."""

    def __init__(self, found: Sequence[Row], limit: int) -> None:
        self.rows, self.more, self._limit = found[:limit], len(found) > limit, limit

    @property
    def hint(self) -> str:
        return f"There are more than these {self._limit}: take --limit {10 * self._limit}." if self.more else ""
