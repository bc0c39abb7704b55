"""The story of a thread, told from its record alone: checkpoints go as a thread goes on, the record stays. Pure.

What comes from outside stays as it is in here, and is escaped where it is shown.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from graph import screen
from memory.audit import Event
from memory.moments import moment

PLAIN_NAME = re.compile(r"[\w.@:/+-]{1,100}")
SECRET = re.compile(r"‹secret ([0-9a-f]{8})[0-9a-f]{56}›")
STEP = "transition"
DID = {
    "approve": "approved {}", "modify": "approved {} with other arguments", "reject": "rejected {}",
    "cancel": "withdrew the question about {}", "done": "said that {} took effect",
    "retry": "said that {} did not take effect, and let it run again",
    "abandon": "gave {} up, of which nobody knows whether it took effect",
}  # fmt: skip
THEN = {"continue": "the agent is told and goes on", "stop": "the thread ends", "compensate": "what was done is taken back"}


@dataclass(frozen=True, slots=True)
class Told:
    """One event in words. `details` are names and values that stand below the sentence, `payload` is the raw JSON text."""

    event: Event
    title: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Story:
    thread_id: str
    told: Sequence[Told]
    faults: Sequence[str]

    @property
    def head(self) -> Event | None:
        return self.told[-1].event if self.told else None


def story(thread_id: str, events: Sequence[Event], faults: Sequence[str]) -> Story:
    narrator = _Narrator()
    return Story(thread_id, [narrator.tell(event) for event in events], faults)


def as_json(one: Story) -> dict[str, Any]:
    rows = [
        {
            "seq": told.event.seq, "at": moment(told.event.at), "kind": told.event.kind, "title": told.title, "text": told.text,
            "details": dict(told.details), "actor": told.event.actor, "actor_source": told.event.actor_source,
            "payload": told.event.content, "hash": told.event.hash,
        }
        for told in one.told
    ]  # fmt: skip
    head = {"seq": one.head.seq, "hash": one.head.hash} if one.head else None
    return {"thread_id": one.thread_id, "events": rows, "verified": not one.faults, "faults": list(one.faults), "head": head}


def text(one: Story, *, every: bool = False, width: int | None = None) -> str:
    """A numbered block an event. Steps between nodes are one line together, or with `every` a line each."""
    lines = [verdict(one), ""]
    for is_step, group in groupby(one.told, key=lambda told: told.event.kind == STEP and not told.details):
        chunk = list(group)
        if is_step and not every:
            lines.append(f"{'':>6}  {screen.escape('; '.join(told.text for told in chunk))}")
        else:
            lines += [_block(told, width) for told in chunk]
    return "\n".join(lines)


def verdict(one: Story) -> str:
    name = screen.escape(one.thread_id)
    if one.faults:
        return "\n".join(f"NOT VERIFIED: {screen.escape(fault)}" for fault in one.faults)
    head = one.head
    return f"thread {name}: the record is complete and unchanged; it ends with event {head.seq}, {head.hash}" if head else f"thread {name}"


def _block(told: Told, width: int | None) -> str:
    first = f"{told.event.seq:>5}.  {moment(told.event.at)}  "
    lines = [screen.marked(screen.escape(told.text), first, " " * 8, width)]
    for name, value in told.details.items():
        lines.append(screen.marked(screen.escape(shown(value), lines=True), f"{'':>8}{screen.escape(name)}: ", f"{'':>8}  | ", width))
    return "\n".join(lines)


def shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def who(name: str, source: str) -> str:
    """A name that could be taken for more than a name is quoted."""
    if source == "process":
        if name == "agent":
            return "the agent"
        if name == "deadline":
            return "the deadline"
        return f"process {_process(name)}"
    return f"{name if PLAIN_NAME.fullmatch(name) else quoted(name)} ({source})"


def _process(name: Any) -> str:
    """Host and pid; the rest tells processes apart and says nothing to people."""
    parts = str(name).split(":")
    return ":".join(parts[:2]) if len(parts) >= 4 else str(name)


def quoted(value: Any) -> str:
    """As in JSON: what stands inside cannot end the quotation."""
    return json.dumps(value, ensure_ascii=False)


def call(tool: Any, args: Any) -> str:
    name = str(tool) if PLAIN_NAME.fullmatch(str(tool)) else quoted(tool)
    if not isinstance(args, dict):
        return name
    pairs = (f"{key if PLAIN_NAME.fullmatch(key) else quoted(key)}={quoted(value)}" for key, value in args.items())
    return SECRET.sub(r"‹secret \1…›", f"{name}({', '.join(pairs)})")


def _words(comment: Any) -> str:
    return f": {quoted(comment)}" if comment else ""


def _given(**details: Any) -> dict[str, Any]:
    """Those that say something, under readable names."""
    return {name.replace("_", " "): value for name, value in details.items() if value not in (None, "", [], {})}


SETTLED = {"succeeded": "done", "abandoned": "given up", "failed": "not done", "retried": "not done, and is tried again"}
RECALLED = {"ok": "the model was shown earlier records: {}", "empty": "memory holds nothing like this task"}
KEPT = {"ok": "the thread is remembered", "empty": "there was nothing to remember"}


class _Narrator:
    """Remembers which call a question or an execution was about. `on_KIND` tells an event; what is unknown is shown as it stands."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}  # by the id of an approval, and by the key of a call
        self._begun = 0

    def tell(self, event: Event) -> Told:
        teller: Callable[[Event, dict[str, Any]], Told] | None = getattr(self, f"on_{event.kind}", None)
        content = event.content
        if teller is None or not isinstance(content, dict):
            return self._something(event, content)
        return teller(event, content)

    def _something(self, event: Event, content: Any) -> Told:
        name = event.kind.replace("_", " ")
        return Told(event, name.capitalize(), f"{_actor(event)}: {name}", content if isinstance(content, dict) else {"payload": content})

    def on_thread_started(self, event: Event, content: dict[str, Any]) -> Told:
        asker = who(str(content.get("requester")), str(content.get("requester_source")))
        by = "" if asker == _actor(event) else f"; {_actor(event)} started it"
        details = _given(tenant=content.get("tenant"), graph=content.get("graph_version"), tools=content.get("tools_version"))
        return Told(event, "Asked", f"{asker} asked: {quoted(content.get('input'))}{by}", details)

    def on_thread_adopted(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} put a thread that was there already under this record, from checkpoint {content.get('checkpoint_id')}"
        return Told(event, "Adopted", told, _given(task=content.get("input"), tools=content.get("tools_version")))

    def on_thread_forked(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} copied thread {quoted(content.get('from'))} into thread {quoted(content.get('to'))}"
        return Told(event, "Forked", told, _given(checkpoint=content.get("checkpoint_id")))

    def on_thread_pruned(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} deleted its checkpoint and the results of {content.get('results')} calls, as retention says"
        return Told(event, "Pruned", told, _given(bytes=content.get("bytes")))

    def on_memory_recalled(self, event: Event, content: dict[str, Any]) -> Told:
        ids = content.get("ids") or []
        told = RECALLED.get(str(content.get("status")), "memory could not be asked").format(len(ids))
        return Told(event, "Recalled", told, _given(why=content.get("reason") or None, records=ids or None))

    def on_memory_kept(self, event: Event, content: dict[str, Any]) -> Told:
        told = KEPT.get(str(content.get("status")), "the thread could not be remembered")
        return Told(event, "Remembered", told, _given(why=content.get("reason") or None, records=content.get("ids") or None))

    def on_process_began(self, event: Event, content: dict[str, Any]) -> Told:
        self._begun += 1
        first = self._begun == 1
        told = f"{_actor(event)} {'began to drive the thread' if first else 'went on with the thread'}"
        return Told(event, "Began" if first else "Went on", told, _given(lease=content.get("epoch")))

    def on_process_taken_over(self, event: Event, content: dict[str, Any]) -> Told:
        self._begun += 1
        told = f"{_actor(event)} took the thread over from process {_process(content.get('from'))}, which had left it in the middle"
        return Told(event, "Taken over", told, _given(held_since=content.get("since"), lease=content.get("epoch")))

    def on_transition(self, event: Event, content: dict[str, Any]) -> Told:
        following = content.get("next")
        names = ", ".join(map(str, following)) if isinstance(following, list) else ""
        usual = content.get("source") in ("input", "loop") and event.actor_source == "process"
        details = {} if usual else _given(source=content.get("source"), written_by=_actor(event), checkpoint=content.get("checkpoint_id"))
        told = f"→ {names or ('the start' if content.get('source') == 'input' else 'the end')}"
        return Told(event, "Step", told if usual else f"the state was written by other means than a step of a driver {told}", details)

    def on_action_proposed(self, event: Event, content: dict[str, Any]) -> Told:
        what, rule = call(content.get("tool"), content.get("args")), quoted(content.get("rule"))
        self._calls.setdefault(str(content.get("call_key")), what)
        said = {
            "run": f"it may run (rule {rule})", "pre_approve": f"it is pre-approved (rule {rule})", "ask": f"people decide (rule {rule})",
            "forbid": f"it is forbidden, and nobody was asked (rule {rule})",
        }.get(str(content.get("verdict")), str(content.get("verdict")))  # fmt: skip
        details = _given(policy=content.get("policy"), digest=content.get("args_sha256"), call=content.get("call_key"))
        return Told(event, "Proposed", f"the agent proposed {what}: {said}", details)

    def on_approval_requested(self, event: Event, content: dict[str, Any]) -> Told:
        rules = _object(content.get("rules"))
        what = call(content.get("tool"), content.get("args"))
        self._calls[str(content.get("approval_id"))] = what
        self._calls.setdefault(str(content.get("call_key")), what)
        people = f"{content.get('required')} of tier {content.get('tier')}"
        told = {
            "pre_execution": f"people were asked whether {what} may run: {people}",
            "unknown_outcome": f"people were asked what became of {what}: {people}",
            "final_answer": f"people were asked whether an answer may go out, {what}: {people}",
            "compensation": f"people were asked whether {what} may undo what was done: {people}",
        }.get(str(content.get("kind")), f"people were asked about {what} ({content.get('kind')}): {people}")
        details = _given(
            the_model_wrote=content.get("said"), note=content.get("note"), rule=rules.get("rule"), policy=rules.get("policy"),
            who_may=rules.get("sources"), four_eyes=rules.get("four_eyes") or None, approval=content.get("approval_id"),
            digest=content.get("args_sha256"),
        )  # fmt: skip
        return Told(event, "People asked", told, details)

    def on_approval_shown(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Shown", f"{_actor(event)} was shown the question about {self._about(content)}")

    def on_vote_cast(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} {self._did(content)}{_words(content.get('comment'))}; more votes are needed"
        return Told(event, "Vote", told, self._of_decision(content))

    def on_approval_decided(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Decided", f"{_actor(event)} {self._did(content)}{_words(content.get('comment'))}", self._of_decision(content))

    def on_approval_expired(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Expired", f"nobody decided in time on {self._about(content)}; it does not run", self._of_decision(content))

    def on_approval_escalated(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} handed {self._about(content)} on to the next tier{_words(content.get('comment'))}"
        return Told(event, "Escalated", told, self._of_decision(content))

    def on_refused_attempt(self, event: Event, content: dict[str, Any]) -> Told:
        tried = f"{_actor(event)} tried to {content.get('type')} {self._about(content)}{_words(content.get('comment'))}"
        return Told(event, "Refused", f"{tried}; it was refused", _given(why=content.get("why"), approval=content.get("approval_id")))

    def on_review_accepted(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} looked at {self._about(content)} and found it right{_words(content.get('comment'))}"
        return Told(event, "Reviewed", told, _given(rule=content.get("rule")))

    def on_review_flagged(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"{_actor(event)} looked at {self._about(content)} and found it wrong{_words(content.get('comment'))}"
        return Told(event, "Flagged", told, _given(rule=content.get("rule")))

    def on_cancel_requested(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Cancel", f"{_actor(event)} wished the thread to end{_words(content.get('comment'))}")

    def on_execution_started(self, event: Event, content: dict[str, Any]) -> Told:
        if isinstance(content.get("args"), dict):
            self._calls[str(content.get("call_key"))] = call(content.get("tool"), content["args"])
        again = f", attempt {content.get('attempt')}" if content.get("attempt") != 1 else ""
        undone = self._calls.get(str(content.get("undoes")))
        again += f", to undo {undone or 'an earlier call'}" if content.get("undoes") else ""
        permit = content.get("approval_id")
        details = _given(why=content.get("why"), approved_as=permit, digest=content.get("args_sha256"), call=content.get("call_key"))
        return Told(event, "Began to run", f"{_actor(event)} began {self._about(content)}{again}", details)

    def on_execution_refused(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Not run", f"{self._about(content)} was not begun", _given(why=content.get("why")))

    def on_execution_succeeded(self, event: Event, content: dict[str, Any]) -> Told:
        how = content.get("how")
        details = _given(result=content.get("text"), how=None if how == "returned" else how)
        return Told(event, "Succeeded", f"{self._about(content)} succeeded{_attempt(content)}", details)

    def on_execution_failed(self, event: Event, content: dict[str, Any]) -> Told:
        return Told(event, "Failed", f"{self._about(content)} failed{_attempt(content)}", _given(error=content.get("text")))

    def on_execution_unknown(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"nobody knows whether {self._about(content)} took effect{_attempt(content)}"
        return Told(event, "Outcome unknown", told, _given(why=content.get("why")))

    def on_execution_late(self, event: Event, content: dict[str, Any]) -> Told:
        told = f"late news of {self._about(content)}{_attempt(content)}, which changed nothing"
        return Told(event, "Late news", told, _given(news=content.get("text")))

    def on_execution_resolved(self, event: Event, content: dict[str, Any]) -> Told:
        counts = SETTLED.get(str(content.get("status")), str(content.get("status")))
        told = f"{self._about(content)} counts as {counts}, by the word of {quoted(content.get('by'))}"
        return Told(event, "Settled", told, _given(words=content.get("text")))

    def on_compensation_ended(self, event: Event, content: dict[str, Any]) -> Told:
        done, left = _rows(content.get("undone")), _rows(content.get("not_undone"))
        told = f"the thread's effects were undone as {quoted(content.get('wished_by'))} wished: {len(done)} undone, {len(left)} not"
        return Told(event, "Undone" if not left else "Not all undone", told, _given(undone=done, not_undone=left))

    def on_thread_ended(self, event: Event, content: dict[str, Any]) -> Told:
        details = _given(final_answer=content.get("final_answer"), error=content.get("error"))
        return Told(event, "Ended", f"the thread ended: {content.get('status')}", details)

    def _about(self, content: Mapping[str, Any]) -> str:
        keys = (str(content.get(name)) for name in ("approval_id", "call_key"))
        return next((self._calls[key] for key in keys if key in self._calls), None) or call(content.get("tool") or "a call", None)

    def _did(self, content: dict[str, Any]) -> str:
        """What a vote did with a call. After a modification the call is another one from now on."""
        before, args, kind = self._about(content), content.get("modified_args"), str(content.get("type"))
        if not isinstance(args, dict):
            return DID.get(kind, f"{kind}: {{}}").replace("{}", before)
        now = call(before.partition("(")[0], args)
        self._calls[str(content.get("approval_id"))] = now
        return f"changed {before} to {now} and approved that"

    def _of_decision(self, content: dict[str, Any]) -> dict[str, Any]:
        detail = _object(content.get("detail"))
        then, own = detail.get("then"), content.get("own_request")
        return _given(
            words=detail.get("text"), then=THEN.get(str(then), then), own_request="allowed by the rules" if own else None,
            approval=content.get("approval_id"), version=content.get("version"), goes_on_as=content.get("successor"),
        )  # fmt: skip


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: Any) -> list[str]:
    rows = [_object(row) for row in value] if isinstance(value, list) else []
    return [f"{row.get('tool')} (call {str(row.get('call_key'))[:12]}): {row.get('why') or row.get('state')}" for row in rows]


def _actor(event: Event) -> str:
    return who(event.actor, event.actor_source)


def _attempt(content: Mapping[str, Any]) -> str:
    return f" (attempt {content.get('attempt')})" if content.get("attempt") not in (None, 1) else ""
