"""Port: a database to read from. One query at a time, through which nothing can be changed."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Table:
    """Values are the database's own text for them, and None is NULL. `more`: there are rows that are not here.

    A value that was cut ends with a mark that says so.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    more: bool


class QueryError(Exception):
    """The database refused the query, or did not finish it. The message is for the one who wrote it."""


class Analytics(Protocol):
    async def query(self, sql: str, *, most: int) -> Table:
        """At most `most` rows, fewer where they are large. Raises QueryError, and UnavailableError without a database."""
