"""agent_think: asks the model. It proposes; it writes nowhere but into its own checkpoint."""

import uuid
from collections import Counter
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from graph.answer import Answer
from graph.calls import Unusable, read_calls
from graph.crash import reach
from graph.episode import told
from graph.facts import Facts, facts_of
from graph.final_answer import proposed, refuse_if_refused_too_often
from graph.forbidden import FORBIDDEN, record_forbidden
from graph.holding import stop_if_cancelled
from graph.ports import Node, Ports
from graph.questions import proposed_action
from graph.routing import open_calls, waiting_calls
from graph.state import Call, State
from graph.transcript import transcript
from memory.errors import RunFailedError, StoppedError

SYSTEM = (
    "You carry out tasks with the tools you have. Some calls wait for a person, who may approve, change or reject them; the result "
    "tells you which. Never say that something is done unless a tool's result says so, and do not repeat a call that was rejected."
)
UNUSABLE = "interlock_unusable"
MOST_FRUITLESS = 3


def make_think(ports: Ports) -> Node:
    async def agent_think(state: State, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        if open_calls(state) or waiting_calls(state):
            return {}  # a message was sent to a thread that waits: it is no answer, and the question stays
        messages = state.get("messages", [])
        await record_forbidden(ports, thread_id, messages)
        await stop_if_cancelled(ports, thread_id)
        _take_a_turn(ports, thread_id)
        _refuse_if_fruitless(messages)
        refuse_if_refused_too_often(messages)
        _tell_who_thinks(ports, messages)
        await ports.tools.meet()
        tools = [tool.langchain for tool in ports.registry]
        reach("think_before_model")
        on_token = None if ports.policy.holds_answers else ports.on_token  # what people may keep back is not shown while it is written
        system = "\n\n".join(text for text in (SYSTEM, told(state.get("memories"))) if text)
        with ports.watch.span("model call", thread_id=thread_id, model=ports.model.name) as span:
            answer = await ports.model.answer([SystemMessage(system), *transcript(messages)], tools=tools, on_token=on_token)
            span.tell(calls=len(answer.calls))
        reach("think_after_model")
        proposal = _proposal(ports, answer, await facts_of(ports, thread_id))
        await _refuse_what_was_refused(ports, thread_id, proposal["tool_calls"])
        return proposal

    return agent_think


def _proposal(ports: Ports, answer: Answer, facts: Facts) -> dict[str, Any]:
    message_id = str(uuid.uuid4())
    calls, unusable = read_calls(
        answer.calls, registry=ports.registry, policy=ports.policy, facts=facts, lineage_root=facts.thread, message_id=message_id,
        said=answer.text,
    )  # fmt: skip
    if not answer.calls:
        if not answer.text.strip():
            raise RunFailedError("The model gave an empty answer.", remedy="Resume the thread to ask again.", code="empty_answer")
        update = proposed(ports.policy, facts, message_id, answer.text)
        said = AIMessage(answer.text, id=message_id, response_metadata=_written_by(ports))
        return {**update, "messages": [said, *update.get("messages", [])]}
    named = [{"name": call["name"], "args": call["args"], "id": call["id"], "type": "tool_call"} for call in calls]
    named += [{"name": _speakable(one.name), "args": {}, "id": one.id, "type": "tool_call"} for one in unusable]
    message = AIMessage(answer.text, id=message_id, tool_calls=named, response_metadata=_written_by(ports))
    waiting = next((call for call in calls if call["state"] == "waiting"), None)
    return {
        "messages": [message, *(_refusal(one) for one in unusable)],
        "tool_calls": calls,
        "proposed_action": proposed_action(waiting),
        "awaiting_human_approval": waiting is not None,
        "final_answer": None,
        "human_feedback": None,
        "modification_details": None,
        "status": "running",
    }


def _written_by(ports: Ports) -> dict[str, str]:
    return {"model_name": ports.model.name}


def _tell_who_thinks(ports: Ports, messages: list[AnyMessage]) -> None:
    """Of the practice model once a thread; and where a thread goes on with another model than it began with: who decides may not know."""
    before = next((one.response_metadata.get("model_name") for one in reversed(messages) if isinstance(one, AIMessage)), None)
    if before == ports.model.name:
        return
    if before is not None:
        ports.tell("notice", {"message": f"So far {before} has led this thread; {ports.model.name} goes on with it."})
    if ports.model.is_practice:
        from graph.practice import NOTICE

        ports.tell("notice", {"message": NOTICE})


def _refusal(one: Unusable) -> ToolMessage:
    marks = {UNUSABLE: True, **({FORBIDDEN: one.forbidden} if one.forbidden else {})}
    return ToolMessage(one.why, tool_call_id=one.id, name=_speakable(one.name), status="error", additional_kwargs=marks)


def _speakable(name: str) -> str:
    """A name that servers accept in a history."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)[:64] or "unnamed"


def _take_a_turn(ports: Ports, thread_id: str) -> None:
    left = ports.left.get(thread_id)
    if left is not None and left <= 0:
        raise StoppedError(
            "The model has used up its turns.",
            remedy="INTERLOCK_STEP_LIMIT sets how many it has; resume the thread to give it as many again.",
            code="step_limit",
        )
    if left is not None:
        ports.left[thread_id] = left - 1


async def _refuse_what_was_refused(ports: Ports, thread_id: str, calls: list[Call]) -> None:
    """Bounded: people are not asked about the same action again and again."""
    waiting = [call for call in calls if call["state"] == "waiting"]
    asked = await ports.approvals.of_thread(thread_id) if waiting else []
    for call in waiting:
        same = [one for one in asked if one.kind == "pre_execution" and one.tool == call["name"]]
        ended = Counter(one.status for one in same if call["args"] in (one.args, one.proposed_args))
        rejected, expired = ended["rejected"], ended["expired"]
        if rejected + expired >= ports.rejection_limit:
            raise StoppedError(
                f"Repeated rejected action: the model proposes {call['name']} again, with arguments that people rejected {rejected} times"
                + (f" and that nobody decided on in time {expired} times." if expired else "."),
                remedy="INTERLOCK_REJECTION_LIMIT sets how often people are asked about the same; `resume` lets the model think once more.",
                code="repeated_rejected_action",
            )


def _refuse_if_fruitless(messages: list[AnyMessage]) -> None:
    """Bounded: a model that proposes nothing usable several times in a row ends the run."""
    fruitless = 0
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            fruitless += 1
        elif not (isinstance(message, ToolMessage) and message.additional_kwargs.get(UNUSABLE)):
            break
    if fruitless >= MOST_FRUITLESS:
        raise RunFailedError(
            f"The model proposed no usable call {fruitless} times in a row.",
            remedy="Look at what it was told with `interlock replay`; a model with better tool calling may help.",
            code="unusable_calls",
        )
