"""What a person sees in a terminal: plain text, facts apart from what a model wrote. Pure.

Whatever comes from outside is escaped, so that no control, bidirectional or invisible character can dress up a question.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
LOOKS_BLANK = {"\u3164", "\uffa0", "\u115f", "\u1160", "\u2800", "\u034f"}


def escape(text: str, *, lines: bool = False) -> str:
    """Shows what would be invisible or would move other text as \\u{…}; with `lines`, line ends stay."""
    return "".join(char if (lines and char == "\n") or not _hides(char) else f"\\u{{{ord(char):x}}}" for char in text)


def _hides(char: str) -> bool:
    return unicodedata.category(char) in HIDDEN or char in LOOKS_BLANK or (unicodedata.category(char) == "Zs" and char != " ")


def question(one: Mapping[str, Any]) -> str:
    """In full, whatever its length: the danger may stand in the last line."""
    unknown = one["kind"] == "unknown_outcome"
    asked = "WHAT HAPPENED? Nobody knows whether this call took effect." if unknown else "MAY THIS RUN?"
    facts = [
        ("approval", one["approval_id"]),
        ("thread", escape(one["thread_id"])),
        ("asked for by", f"{escape(one['requester'])} ({one['requester_source']})"),
        ("tool", one["tool"]),
        *(("  " + escape(name), value) for name, value in _arguments(one["args"])),
        ("rule", str(one["rule"])),
        ("tier", f"{one['tier']}, {one['have']} of {one['required']} approvals, version {one['version']}"),
        ("asked at", one["requested_at"]),
        ("expires", one["expires_at"] or "never"),
        ("digest", one["args_sha256"]),
    ]
    if one["note"]:
        facts.append(("note", escape(one["note"])))
    wide = max(len(name) for name, _ in facts)
    lines = [asked, *(_fact(name, value, wide) for name, value in facts)]
    if one["said"].strip():
        lines += ["", "The model wrote (its words, not facts):", *("  | " + line for line in escape(one["said"], lines=True).split("\n"))]
    return "\n".join(lines)


def _fact(name: str, value: str, wide: int) -> str:
    first, *rest = value.split("\n")
    return "\n".join([f"  {name:<{wide}}  {first}".rstrip(), *(" " * (wide + 4) + line for line in rest)])


def _arguments(args: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in args.items():
        yield name, escape(json.dumps(value, ensure_ascii=False, indent=2), lines=True)


def thread(one: Mapping[str, Any]) -> str:
    lines = [f"thread {escape(one['thread_id'])}: {one['status']}", f"  task: {escape(one['input'] or 'unknown')}"]
    lines += [f"  {execution['tool']}: {execution['status']}{_attempts(execution)}" for execution in one["executions"]]
    if one["final_answer"] is not None:
        lines += ["", escape(one["final_answer"], lines=True)]
    if one["error"]:
        lines += ["", f"error: {escape(one['error']['message'], lines=True)}"]
    for pending in one["pending"]:
        lines += ["", question(pending)]
    return "\n".join(lines)


def _attempts(execution: Mapping[str, Any]) -> str:
    return f" (attempt {execution['attempts']})" if execution["attempts"] > 1 else ""


def hints(one: Mapping[str, Any]) -> str:
    """What to type next; ids are given in full, because a prefix may become ambiguous."""
    lines = []
    for pending in one["pending"]:
        name = pending["approval_id"]
        if pending["kind"] == "unknown_outcome":
            lines.append(f"  interlock resolve {name} --done TEXT | --retry | --abandon")
        else:
            lines += [
                f"  interlock approve {name}",
                f"  interlock modify {name} --set NAME=VALUE",
                f'  interlock reject {name} --comment "why"',
            ]
    return "Waiting for a person. Decide with:\n" + "\n".join(lines) if lines else ""


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]], empty: str) -> str:
    """Ids are never cut; the last column takes what it needs."""
    if not rows:
        return empty
    cells = [[title for _, title in columns]]
    cells += [[escape(str("-" if row.get(key) is None else row[key])) for key, _ in columns] for row in rows]
    wide = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(wide[index]) for index, cell in enumerate(line)).rstrip() for line in cells)


def events(rows: Sequence[Mapping[str, Any]], faults: Sequence[str] | None) -> str:
    lines = [
        f"{row['thread_id']} {row['seq']:>4} {row['at']} {row['kind']:<20} {escape(row['actor'])} ({row['actor_source']}) "
        + escape(json.dumps(row["payload"], ensure_ascii=False))
        for row in rows
    ]
    if faults is not None:
        lines += [f"NOT VERIFIED: {fault}" for fault in faults] or ["verified: the record is complete and unchanged"]
    return "\n".join(lines) or "There is no record yet."
