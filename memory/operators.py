"""Port: people with a token. The token is shown once, when it is made; afterwards only its hash is known."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.people import Identity

RECORD = "@operators"  # what happens to operators is on the record under this name, as if it were a thread's


@dataclass(frozen=True, slots=True)
class Operator:
    """Times are aware, UTC, by the database's clock; `in_force` is judged by it."""

    name: str
    tier: int
    added_by: str
    added_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    in_force: bool


class Operators(Protocol):
    async def add(self, name: str, tier: int, token_sha256: str, by: Identity, *, seconds: float | None) -> Operator:
        """In force for `seconds`, None: until it is revoked. ConflictError `operator_exists`, if one of that name is in force."""

    async def revoke(self, name: str, by: Identity) -> Operator:
        """NotFoundError `no_such_operator`, if none of that name is in force."""

    async def newest(self) -> Sequence[Operator]: ...

    async def of_token(self, token_sha256: str) -> Operator | None:
        """Also one that is not in force any more."""

    async def highest_tier(self) -> int:
        """Of those in force; 1 where there are none."""


def new_token() -> str:
    return f"ilk_{secrets.token_urlsafe(32)}"


def token_hash(token: str) -> str:
    return hashlib.sha256(token.strip().encode()).hexdigest()
