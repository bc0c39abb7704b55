"""Who acts: a name, and where the name comes from. Both are on the record."""

from dataclasses import dataclass
from typing import Literal

Source = Literal["token", "oidc", "os", "ui", "claimed", "process", "policy", "unknown"]
ANYBODY: tuple[Source, ...] = ("token", "oidc", "os", "ui", "claimed")  # the sources that people have
VERIFIED: frozenset[str] = frozenset({"token", "oidc", "os"})


@dataclass(frozen=True, slots=True)
class Identity:
    """`source` says how the name is known; only the sources in VERIFIED tell people apart."""

    name: str
    source: Source

    @property
    def voter(self) -> str:
        """Votes are counted by this; all unverified identities together are one voter."""
        return f"{self.source}:{self.name}" if self.source in VERIFIED else "unverified"

    @property
    def account(self) -> str:
        """The part before the machine, where an account of a machine is meant."""
        return self.name.partition("@")[0] if self.source == "os" else self.name

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


NOBODY = Identity("unknown", "unknown")
