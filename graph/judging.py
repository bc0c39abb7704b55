"""How a call is judged after it was proposed: as it stands in the checkpoint, and as people change it. Never looser than before."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph.approval import Validate
from graph.calls import args_hash
from graph.facts import Facts, facts_of
from graph.final_answer import answer_args, answer_hash
from graph.policy import Policy, Verdict, of_question, stricter
from graph.policy_file import ANSWER
from graph.state import Call
from memory.approvals import Approval, Revision
from memory.errors import RefusedError
from tools.spec import InvalidArguments, Registry

if TYPE_CHECKING:
    from graph.ports import Ports

RULES = ("four_eyes", "deadline", "on_expiry", "rule", "policy", "reminder")


@dataclass(frozen=True, slots=True)
class Judgement:
    """`today` is what policy and tools say now; `verdict` is never looser than that, nor than what the call was proposed with."""

    today: Verdict
    verdict: Verdict


async def judge_anew(ports: "Ports", thread_id: str, call: Call) -> Judgement:
    """What a checkpoint says can only add strictness. A tool that is gone or changed is judged where that is met."""
    tool = ports.registry.get(call["name"])
    if tool is None:
        kept = stricter(call["verdict"], Verdict("run"))
        return Judgement(kept, kept)
    try:
        args = tool.validate(call["args"])
    except InvalidArguments:
        args = call["args"]
    today = ports.policy.judge(tool, args, await facts_of(ports, thread_id, without=call["call_key"]))
    return Judgement(today, stricter(call["verdict"], today))


async def judged_anew(ports: "Ports", thread_id: str, call: Call) -> Call:
    """The call as it is asked about."""
    if call["kind"] != "pre_execution":
        return call
    verdict = (await judge_anew(ports, thread_id, call)).verdict
    return {**call, "verdict": verdict.as_json(), "note": call["note"] or verdict.note}


def validator(registry: Registry, policy: Policy, facts: Facts | None) -> Validate:
    """Checks new arguments by the tool's own schema and judges them again. `facts` may be missing where nothing is modified."""

    def validate(question: Approval, args: dict[str, Any]) -> Revision:
        if question.kind == ANSWER:
            return revised_answer(question, args)
        tool = registry.get(question.tool)
        if tool is None:
            raise RefusedError(f"The tool {question.tool!r} is not there any more.", code="no_such_tool")
        if facts is None:
            raise RefusedError("A modification needs the facts of its thread, so that it can be judged.")
        try:
            valid = tool.validate(args)
        except InvalidArguments as error:
            raise RefusedError(f"{question.tool} cannot take these arguments: {error}", code="invalid_arguments") from None
        return _revision(question, valid, args_hash(tool, valid), policy.judge(tool, valid, facts))

    def revised_answer(question: Approval, args: dict[str, Any]) -> Revision:
        if facts is None:
            raise RefusedError("A modification needs the facts of its thread, so that it can be judged.")
        try:
            valid = answer_args(args)
        except InvalidArguments as error:
            raise RefusedError(f"This cannot be sent: {error}", code="invalid_arguments") from None
        return _revision(question, valid, answer_hash(valid), policy.judge_answer(valid["text"], facts) or Verdict("run"))

    return validate


def _revision(question: Approval, valid: dict[str, Any], digest: str, today: Verdict) -> Revision:
    if today.action == "forbid":
        raise RefusedError(f"The policy forbids these arguments (rule: {today.rule}).", code="forbidden")
    if today.action == "run":
        # Nobody would be asked about these; that they were asked about is no reason to change what is asked.
        return Revision(valid, digest, question.tier, question.required, question.rules)
    verdict = stricter(of_question(question), today)
    rules = {**question.rules, **{name: getattr(verdict, name) for name in RULES}, "sources": list(verdict.sources)}
    return Revision(valid, digest, verdict.tier, verdict.required, rules)
