"""Who must be asked before a call runs. The verdict is taken once, when the call is proposed, and kept with it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tools.spec import Tool

ANY_SOURCE = ("token", "oidc", "os", "ui", "claimed")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`deadline` are seconds from the asking, None for none; `rule` and `policy` say what this verdict rests on."""

    action: Literal["run", "ask", "forbid"]
    tier: int = 1
    required: int = 1
    sources: tuple[str, ...] = ANY_SOURCE
    four_eyes: bool = False
    deadline: float | None = None
    on_expiry: Literal["reject", "escalate"] = "reject"
    rule: str = "default"
    policy: str = "built-in"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources)}


class Policy:
    """Without a policy file: every critical call is asked at tier 1 of anyone, and the record says by which source."""

    def judge(self, tool: Tool) -> Verdict:
        return Verdict("ask") if tool.facts.is_critical else Verdict("run")
