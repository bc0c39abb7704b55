"""What a person sees in a terminal: plain text, facts apart from what a model wrote. Pure.

Whatever comes from outside is escaped, so that no control, bidirectional or invisible character can dress up a question.
"""

import json
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory import text as text_of_others

escape = text_of_others.escape
ASKED = {
    "unknown_outcome": "WHAT HAPPENED? Nobody knows whether this call took effect.",
    "compensation": "MAY THIS BE UNDONE, by running this?",
    "final_answer": "MAY THIS ANSWER GO OUT?",
}


def recalled(about: Mapping[str, Any]) -> str:
    """What memory gave to the model. That it could not be asked is no reason to think that there is nothing."""
    if about["status"] == "unavailable":
        return f"unavailable, so the model knows of no earlier thread: {about['reason']}"
    count = len(about["ids"])
    return f"the model was shown {count} earlier record{'s' if count != 1 else ''}" if count else "it holds nothing like this task"


DUE = {"reject": "rejected", "escalate": "escalated"}
WORDS = "  | "  # before each line that a model wrote, so that none can pass for one of ours


def question(one: Mapping[str, Any], *, width: int | None = None) -> str:
    """In full, whatever its length: the danger may stand in the last line.

    With `width`, lines are folded here: what a terminal folds would begin where our own lines begin.
    """
    asked = ASKED.get(one["kind"], "MAY THIS RUN?")
    facts: list[tuple[str, str | list[str]]] = [
        ("approval", one["approval_id"]),
        ("thread", escape(one["thread_id"])),
        ("asked for by", f"{escape(one['requester'])} ({one['requester_source']})"),
        *_started(one),
        ("tool", one["tool"]),
        *(("  " + escape(name), value) for name, value in _arguments(one["args"])),
        *_modified(one),
        *_begun(one),
        ("rule", str(one["rule"])),
        ("tier", f"{one['tier']}, {one['have']} of {one['required']} approvals, version {one['version']}"),
        ("asked at", one["requested_at"]),
        ("expires", f"{one['expires_at']}, then {DUE[one['on_expiry'] or 'reject']}" if one["expires_at"] else "never"),
        ("digest", one["args_sha256"]),
    ]
    if one.get("memory"):
        facts.append(("memory", escape(recalled(one["memory"]))))
    if one["note"]:
        facts.append(("note", escape(one["note"])))
    if runs_backwards(json.dumps(one["args"], ensure_ascii=False)):
        facts.append(("attention", "some of it is written from right to left; a terminal may show parts of it in another order"))
    wide = max(len(name) for name, _ in facts)
    lines = [asked, *(_fact(f"  {name:<{wide}}  ", value, width) for name, value in facts)]
    if one["said"].strip():
        said = escape(one["said"], lines=True)
        lines += ["", "The model wrote (its words, not facts):", marked(said, WORDS, WORDS, width)]
    return "\n".join(lines)


def _effect(row: Mapping[str, Any]) -> str:
    by = f", by {escape(row['undo'])}" if row["undo"] else ""
    return f"{escape(row['tool'])} (call {row['call_key'][:12]}){by}"


def compensation(told: Mapping[str, Any]) -> list[str]:
    lines = [f"{escape(str(told['wished_by']))} wished that everything be undone, latest first:"]
    lines += [f"  undone       {_effect(row)}" for row in told["undone"]]
    lines += [f"  NOT UNDONE   {_effect(row)}: {escape(row['why'])}" for row in told["not_undone"]]
    return lines if len(lines) > 1 else [f"{lines[0]} there was nothing to undo"]


def prose(text: str, width: int | None) -> str:
    """Sentences of ours, folded between words. A line that is indented is a command, and stays in one piece to be copied."""
    if not width:
        return text
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if line.startswith("  ") else wrapper.fill(line) for line in text.split("\n"))


def marked(text: str, first: str, others: str, width: int | None) -> str:
    """Each line of the text behind `first` or `others`, folded so that none is wider than `width`."""
    room = max(10, width - max(len(first), len(others))) if width else None
    pieces = [piece for line in text.split("\n") for piece in fold(line, room)]
    return "\n".join((others if number else first) + piece for number, piece in enumerate(pieces)).rstrip()


def fold(line: str, room: int | None) -> list[str]:
    """Behind a space where there is one, else anywhere. Nothing is lost or added: joined, the pieces are the line."""
    pieces, taken = [""], 0
    for char in line:
        needed = columns_of(char)
        if room and taken + needed > room:
            words, space, begun = pieces[-1].rpartition(" ")
            taken = columns_of(begun)
            if char == " " or not words.strip() or taken + needed > room:
                pieces.append("")
                taken = 0
            else:
                pieces[-1:] = [words + space, begun]
        pieces[-1] += char
        taken += needed
    return pieces


class Speech:
    """What a model writes while it writes: marked as its words on every line."""

    def __init__(self, width: int) -> None:
        self.room, self.column = max(10, width - len(WORDS) - 1), 0

    def add(self, piece: str) -> str:
        shown = ""
        for char in escape(piece, lines=True):
            needed = columns_of(char)
            if char != "\n" and self.column + needed > self.room:
                shown, self.column = shown + "\n", 0
            if self.column == 0:
                shown += WORDS
            shown += char
            self.column = 0 if char == "\n" else self.column + max(needed, 1)
        return shown


def _fact(name: str, value: str | list[str], width: int | None) -> str:
    """A text of several lines is shown as lines: behind a bar is where one begins, the rest is folded."""
    below = " " * len(name)
    if isinstance(value, str):
        return marked(value, name, below, width)
    return "\n".join([f"{name}(a text of {len(value)} lines)", *(marked(line, f"{below}| ", f"{below}  ", width) for line in value)])


def runs_backwards(text: str) -> bool:
    """It holds letters of a script that is written from right to left: they are no disguise, and move digits and signs beside them."""
    return any(unicodedata.bidirectional(char) in {"R", "AL", "AN"} for char in text)


def _started(one: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Who asked is what somebody said; who started it may be another."""
    starter = (one["starter"], one["starter_source"])
    if starter != (one["requester"], one["requester_source"]):
        yield "started by", f"{escape(starter[0])} ({starter[1]})"


def _begun(one: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if begun := one.get("begun"):
        yield "begun at", f"{begun['at']}, attempt {begun['attempt']}"
        yield "its key", begun["idempotency_key"]


def _modified(one: Mapping[str, Any]) -> Iterable[tuple[str, str | list[str]]]:
    """Who decides after a modification decides on another call than the model proposed."""
    if one["modified_by"]:
        yield "modified by", escape(one["modified_by"])
        before = {name: value for name, value in one["proposed_args"].items() if one["args"].get(name) != value}
        yield from ((f"  {escape(name)} was", value) for name, value in _arguments(before))


def _arguments(args: Mapping[str, Any]) -> Iterable[tuple[str, str | list[str]]]:
    for name, value in args.items():
        if isinstance(value, str) and "\n" in value:
            yield name, escape(value, lines=True).split("\n")
        else:
            yield name, escape(json.dumps(value, ensure_ascii=False, indent=2), lines=True)


def thread(one: Mapping[str, Any], *, width: int | None = None) -> str:
    task = marked(escape(one["input"] or "unknown"), "  task: ", " " * 8, width)
    lines = [f"thread {escape(one['thread_id'])}: {one['status']}", task]
    lines += [marked(_done(execution), "  ", " " * 6, width) for execution in one["executions"]]
    if one["compensation"]:
        lines += ["", *compensation(one["compensation"])]
    if one["final_answer"] is not None:
        lines += ["", "The answer:", marked(escape(one["final_answer"], lines=True), WORDS, WORDS, width)]
    if (one.get("memory") or {}).get("remembered", {}).get("status") == "unavailable":
        lines.append(f"  not remembered: {escape(one['memory']['remembered']['reason'])}")
    if one["error"]:
        lines += ["", failed(one["error"], width)]
    for pending in one["pending"]:
        lines += ["", question(pending, width=width)]
    can_be_rejected = any(pending["kind"] != "unknown_outcome" for pending in one["pending"])
    if can_be_rejected and (outlook := one["then_compensate"]):
        told = [marked(_effect(row), "  ", "    ", width) for row in outlook["undoes"]]
        told += [marked(f"NOT {_effect(row)}: {escape(row['why'])}", "  ", "    ", width) for row in outlook["cannot_undo"]]
        lines += ["", "A rejection with `--then compensate` would undo, latest first:", *told] if told else []
    return "\n".join(lines)


def failed(error: Mapping[str, Any], width: int | None) -> str:
    """What went wrong, in a server's words too, and what to do about it."""
    what = marked(escape(error["message"], lines=True), "error: ", " " * 7, width)
    return f"{what}\n{prose(escape(error['remedy'], lines=True), width)}" if error.get("remedy") else what


def _done(execution: Mapping[str, Any]) -> str:
    """How it stands comes first: no argument can pass for that."""
    args = escape(summary(execution["args"]))
    return f"{_of(execution)}{escape(execution['tool'])}: {execution['status']}{_attempts(execution)}" + (f"  {args}" if args else "")


def _of(execution: Mapping[str, Any]) -> str:
    return "undo by " if execution["undoes"] else ""


def _attempts(execution: Mapping[str, Any]) -> str:
    return f" (attempt {execution['attempts']})" if execution["attempts"] > 1 else ""


def _seen(pending: Mapping[str, Any]) -> str:
    """Where several people decide, one of them may change the call under another's eyes."""
    return f" --digest {pending['args_sha256'][:12]}" if pending["required"] > 1 or pending["version"] > 1 else ""


def hints(one: Mapping[str, Any]) -> str:
    """What to type next; ids are given in full, because a prefix may become ambiguous."""
    lines = []
    for pending in one["pending"]:
        name = pending["approval_id"]
        if pending["kind"] == "unknown_outcome":
            lines.append(f"  interlock resolve {name} --done TEXT | --retry | --abandon")
        elif pending["kind"] == "compensation":
            lines += [f"  interlock approve {name}", f"  interlock reject {name} [--then stop]"]
        else:
            lines += [
                f"  interlock approve {name}{_seen(pending)}",
                f"  interlock modify {name} --set NAME=VALUE",
                f'  interlock reject {name} --comment "why"',
            ]
    return "Waiting for a person. Decide with:\n" + "\n".join(lines) if lines else ""


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], empty: str, *, width: int | None = None) -> str:
    """Nothing is cut, ids least of all: what does not fit into `width` columns is shown as one block a row."""
    if not rows:
        return empty
    cells = [list(columns)]
    cells += [[_cell(row.get(name)) for name in columns] for row in rows]
    wide = [max(columns_of(line[index]) for line in cells) for index in range(len(columns))]
    if width and sum(wide) + 2 * (len(wide) - 1) > width:
        room = max(map(len, columns)) + 2
        named = [list(zip(columns, line, strict=True)) for line in cells[1:]]
        blocks = [[marked(cell, name.ljust(room), " " * room, width) for name, cell in row] for row in named]
        return "\n\n".join("\n".join(block) for block in blocks)
    return "\n".join("  ".join(pad(cell, wide[index]) for index, cell in enumerate(line)).rstrip() for line in cells)


def _cell(value: Any) -> str:
    return "-" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else escape(str(value))


def columns_of(text: str) -> int:
    """How many columns of a terminal it takes: East Asian wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, to: int) -> str:
    return text + " " * (to - columns_of(text))


def inbox(rows: Sequence[Mapping[str, Any]], now: datetime, *, width: int | None = None) -> str:
    """A line a question: what would run, for whom, and how long they have been waiting. `show` has the whole of it."""
    columns = ["approval_id", "thread_id", "tool", "args", "tier", "votes", "requester", "age"]
    if any(row["kind"] != "pre_execution" for row in rows):
        columns.insert(2, "kind")
    shown = [
        {**row, "args": summary(row["args"]), "votes": f"{row['have']}/{row['required']}", "age": age(row["requested_at"], now)}
        for row in rows
    ]
    return table(shown, columns, "Nothing is waiting.", width=width)


def reviews(rows: Sequence[Mapping[str, Any]], *, width: int | None = None) -> str:
    """A line each, the oldest first; one that has waited too long says so beside its age."""
    columns = ["review_id", "thread_id", "tool", "args", "rule", "ran", "requester", "age"]
    if any(row["status"] != "open" for row in rows):
        columns += ["status", "reviewer", "comment"]
    shown = [
        {**row, "args": summary(row["args"]), "age": for_so_long(row["age_seconds"]) + (" OVERDUE" if row["overdue"] else "")}
        for row in rows
    ]
    return table(shown, columns, "Nothing is left to review.", width=width)


def summary(args: Mapping[str, Any], limit: int = 60) -> str:
    """The arguments in one line, to tell questions apart; the cut is shown, and nobody decides on it."""
    text = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in args.items())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def age(since: str, now: datetime) -> str:
    return for_so_long((now - datetime.fromisoformat(since)).total_seconds())


def for_so_long(duration: float) -> str:
    seconds = max(0, int(duration))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def notice(what: str, details: Mapping[str, Any]) -> str:
    """A line that is for everybody, also where nobody watches."""
    if what in {"recall_ended", "remember_ended"} and details["status"] == "unavailable":
        return f"The agent goes on without memory: {details['reason']}."
    return ""


def progress(what: str, details: Mapping[str, Any], seconds: float | None) -> str:
    """A line about what began or ended; empty for what says nothing to a person."""
    took = "" if seconds is None else f" ({seconds:.1f} s)"
    match what:
        case "node_started" if details["node"] == "agent_think":
            return "· the model is asked"
        case "node_ended" if details["node"] == "agent_think" and not details.get("failed"):
            return f"· the model has answered{took}"
        case "recall_ended" if details["status"] == "ok":
            return f"· earlier threads were recalled{took}"
        case "remember_ended" if details["status"] == "ok":
            return f"· the thread is remembered{took}"
        case "reembedded":
            return f"· {details['records']} of {details['of']} records"
        case "tool_started":
            again = f", attempt {details['attempt']}" if details["attempt"] > 1 else ""
            return f"· {escape(details['tool'])}: started{again}"
        case "tool_ended":
            ended = "succeeded" if details["status"] == "success" else "did not succeed"
            return f"· {escape(details['tool'])}: {ended}{took}"
        case "outcome_unknown":
            return f"· {escape(details['tool'])}: nobody knows whether it took effect: {escape(details['why'])}"
    return ""


def waiting(name: str, seconds: float) -> str:
    """While a node or a tool takes long."""
    who = "the model has not answered yet" if name == "agent_think" else escape(name)
    return f"· {who}: {seconds:.0f} s so far"


def finding(state: str, name: str, detail: str, remedy: str) -> str:
    mended = f"\n{'':<18}{escape(remedy)}" if remedy else ""
    return f"{state:<6}{name:<12}{escape(detail)}{mended}"


def red(text: str, *, on: bool) -> str:
    return f"\x1b[31m{text}\x1b[0m" if on else text


def dim(text: str, *, on: bool) -> str:
    return f"\x1b[2m{text}\x1b[0m" if on else text


def headed(text: str, *, on: bool) -> str:
    """Its first line in bold."""
    first, _, rest = text.partition("\n")
    return f"\x1b[1m{first}\x1b[0m\n{rest}" if on else text


def events(rows: Sequence[Mapping[str, Any]], faults: Sequence[str] | None) -> str:
    lines = [
        escape(f"{row['thread_id']} {row['seq']:>4} {row['at']} {row['kind']:<20} {row['actor']} ({row['actor_source']}) ")
        + escape(json.dumps(row["payload"], ensure_ascii=False))
        for row in rows
    ]
    if faults is not None:
        lines += [escape(f"NOT VERIFIED: {fault}") for fault in faults] or ["verified: the record is complete and unchanged"]
    return "\n".join(lines) or "There is no record yet."
