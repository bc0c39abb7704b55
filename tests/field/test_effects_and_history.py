"""Side effects that were repeated elsewhere, and histories that no model took any more."""

from typing import Any

from bench.openai_server import call, calls, say
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.transcript import transcript

TEXT = "Zoë 王小明 مرحبا \U0001f600 \U00020bb7"


def test_c001_a_question_is_asked_once_however_often_its_node_begins(agent: Any) -> None:
    """The node of the gate begins anew with every resume; question, id and record are written once."""
    [asked] = agent.start(call("transfer", {"to": "bob", "amount": 5}), say("Paid."))["pending"]
    for _ in range(2):
        assert agent("resume", "t", expect=3)["pending"] == [asked]
    agent("approve", asked["approval_id"], expect=0)
    requested = [event["payload"]["approval_id"] for event in agent.events() if event["kind"] == "approval_requested"]
    decided = [event["payload"]["approval_id"] for event in agent.events() if event["kind"] == "approval_decided"]
    assert requested == decided == [asked["approval_id"]]
    assert (agent.world.attempts("transfer"), agent.rows("SELECT count(*) FROM interlock.approval")) == (1, [(1,)])


def test_c005_a_call_that_failed_is_not_tried_again_and_costs_its_sibling_nothing(agent: Any) -> None:
    """No node is tried again by the framework: the failure is told to the model, and what had succeeded ran once."""
    both = calls(call("note_add", {"text": "x"}), call("failing", {"text": "connection reset"}))
    ended = agent.start(both, say("I see."), expect=0)
    assert {one["tool"]: (one["status"], one["attempts"]) for one in ended["executions"]} == {
        "note_add": ("succeeded", 1),
        "failing": ("failed", 1),
    }
    assert (agent.world.attempts("note_add"), agent.world.count("failing")) == (1, 1)


def test_c019_killed_between_a_proposal_and_its_calls_every_call_is_answered(agent: Any) -> None:
    """A thread that was killed before its calls began goes on, and each call has one answer."""
    both = calls(call("note_add", {"text": "x"}), call("transfer", {"to": "bob", "amount": 5}))
    agent.model.play(both, say("Done."))
    agent.cli("start", "pay", "--thread", "t", environment=agent.cli.crashing("before_intent")).expect(-9)
    agent("resume", "t", expect=3)
    agent("approve", "t", expect=0)
    assert agent.unanswered() == []
    assert agent.told() == ["noted: x", "transferred 5 to bob"]


def test_c027_text_of_any_script_is_readable_and_the_same_everywhere(agent: Any) -> None:
    """In the question, in JSON, on the record, in the request to the model and in the call it is the same text."""
    args = {"to": TEXT, "amount": 5}
    [asked] = agent.start(call("transfer", args), say("Paid."))["pending"]
    assert asked["args"] == args
    assert TEXT in agent.cli("show", "t").expect(0).stdout
    assert TEXT in agent.cli("inbox", "--json").expect(0).stdout
    agent("approve", "t", expect=0)
    requested = next(event for event in agent.events() if event["kind"] == "approval_requested")
    assert requested["payload"]["args"] == args
    sent = next(message for message in agent.model.last_request["messages"] if message.get("tool_calls"))
    assert TEXT in sent["tool_calls"][0]["function"]["arguments"]
    assert agent.world.lines("transfer") == [f"5 to {TEXT}"]


@st.composite
def histories(draw: st.DrawFn) -> list[AnyMessage]:
    """Turns of a thread; results may be missing, late, or in another order."""
    messages: list[AnyMessage] = []
    for turn in range(draw(st.integers(0, 6))):
        messages.append(HumanMessage(f"task {turn}", id=f"h{turn}"))
        ids = [f"c{turn}-{number}" for number in range(draw(st.integers(0, 3)))]
        messages.append(AIMessage("", id=f"a{turn}", tool_calls=[{"name": "pay", "args": {}, "id": one} for one in ids]))
        messages += [ToolMessage("done", tool_call_id=one) for one in draw(st.permutations(ids)) if draw(st.booleans())]
    return messages


@given(histories())
def test_c019_c029_no_message_is_left_out_and_each_call_has_one_answer(messages: list[AnyMessage]) -> None:
    """Nothing is trimmed, so no cut parts a call from its answer; where one is missing, that is told, not that nothing ran."""
    view = transcript(messages)
    kept = [message for message in view if not isinstance(message, ToolMessage)]
    assert kept == [message for message in messages if not isinstance(message, ToolMessage)]
    place = 0
    while place < len(view):
        wanted = [made["id"] for made in getattr(view[place], "tool_calls", [])]
        answers = view[place + 1 : place + 1 + len(wanted)]
        assert [getattr(one, "tool_call_id", None) for one in answers] == wanted
        assert all(one.content == "done" or "no result" in str(one.content) for one in answers)
        place += 1 + len(wanted)
