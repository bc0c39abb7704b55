"""From what a model proposed to calls with an identity: validated, hashed, judged. Pure."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from graph.answer import ProposedCall
from graph.facts import Facts
from graph.policy import Policy, Verdict
from graph.state import Call
from memory.approvals import Proposal, masked
from memory.canonical import canonical, sha256
from tools.spec import InvalidArguments, Registry, Tool


@dataclass(frozen=True, slots=True)
class Unusable:
    """A call that nobody is asked about: the model is told why."""

    id: str
    name: str
    why: str
    forbidden: dict[str, Any] | None = None  # a memory.approvals.Proposal, as JSON, where the policy forbids it


def call_key(lineage_root: str, message_id: str, position: int, tool: str, proposed_sha256: str) -> str:
    """Identifies a call for ever; a modification changes what is approved, not this."""
    return sha256([lineage_root, message_id, position, tool, proposed_sha256])


def args_hash(tool: Tool, args: dict[str, object]) -> str:
    """What an approval is bound to: the tool, its schema, and the validated, defaulted arguments."""
    return sha256({"args": args, "schema": tool.schema_sha256, "tool": tool.name})


def approval_id(call: Call, *, tier: int | None = None) -> str:
    """The same question has the same id, whoever asks it again."""
    parts = [call["call_key"], call["args_sha256"], tier or call["verdict"]["tier"], call["kind"], call["round"]]
    if "fork" in call:
        parts.append(call["fork"])
    return hashlib.sha256(canonical(parts).encode()).hexdigest()[:32]


def pre_approval_id(call_key: str, args_sha256: str, policy: str) -> str:
    """Of the row that permits a pre-approved call: bound to the call, its arguments and schema, and the policy as it stands."""
    return hashlib.sha256(canonical([call_key, args_sha256, policy, "pre_approved"]).encode()).hexdigest()[:32]


def read_calls(
    proposed: Sequence[ProposedCall], *, registry: Registry, policy: Policy, facts: Facts, lineage_root: str, message_id: str, said: str
) -> tuple[list[Call], list[Unusable]]:
    """In the order of the message. Every call gets an id of ours that is its own within the thread."""
    calls: list[Call] = []
    unusable: list[Unusable] = []
    for position, one in enumerate(proposed):
        own_id = f"call_{sha256([message_id, position])[:24]}"
        try:
            tool, args = _usable(one, registry)
        except InvalidArguments as error:
            unusable.append(Unusable(own_id, one.name, str(error)))
            continue
        key = call_key(lineage_root, message_id, position, tool.name, sha256(one.args))
        verdict = policy.judge(tool, args, facts)
        if verdict.action == "forbid":
            forbidden = forbidden_call(verdict, key, tool.name, masked(args, tool.facts.secret), args_hash(tool, args))
            unusable.append(Unusable(own_id, one.name, f"The policy forbids this (rule: {verdict.rule}).", forbidden))
            continue
        call = Call(
            call_key=key, id=own_id, message_id=message_id, position=position, name=tool.name, args=args,
            args_sha256=args_hash(tool, args), proposed_args=args, schema_sha256=tool.schema_sha256, verdict=verdict.as_json(),
            state="ready" if verdict.action == "run" else "waiting", approval_id=None, permit=None, kind="pre_execution", round=0,
            note=verdict.note, said=said, outcome=None,
        )  # fmt: skip
        if call["state"] == "waiting":
            call["approval_id"] = call["permit"] = approval_id(call)
        calls.append(call)
    return _with_twins_noted(calls), unusable


def forbidden_call(verdict: Verdict, key: str, tool: str, args: dict[str, Any], digest: str) -> dict[str, Any]:
    """Kept beside what the model is told, until the next step puts it on the record: this one is not durable yet."""
    return asdict(Proposal(key, tool, args, digest, "forbid", verdict.rule, verdict.policy))


def _usable(one: ProposedCall, registry: Registry) -> tuple[Tool, dict[str, Any]]:
    tool = registry.get(one.name)
    if tool is None:
        raise InvalidArguments(f"There is no tool {one.name!r}. There are: {', '.join(registry.names)}.")
    if one.args is None:
        raise InvalidArguments(f"This call cannot be used: {one.problem}")
    return tool, tool.validate(one.args)


def _with_twins_noted(calls: list[Call]) -> list[Call]:
    twins = Counter(call["args_sha256"] for call in calls)
    return [
        {**call, "note": f"The message holds {twins[call['args_sha256']]} identical calls; each is decided alone. {call['note']}".strip()}
        if twins[call["args_sha256"]] > 1
        else call
        for call in calls
    ]
