"""What a person sees: facts apart from what others wrote, and nothing that hides, moves, or passes for a line of ours."""

import itertools
from typing import Any

import pytest

from graph import screen

QUESTION: dict[str, Any] = {
    "approval_id": "a" * 32, "kind": "pre_execution", "thread_id": "t", "requester": "ada@laptop", "requester_source": "os",
    "starter": "ada@laptop", "starter_source": "os", "tool": "pay",
    "args": {"to": "bob"}, "args_sha256": "d" * 64, "rule": "default", "tier": 1, "required": 1, "have": 0, "version": 1,
    "modified_by": None, "note": "",
    "said": "", "requested_at": "2026-01-31T09:30:02Z", "expires_at": None, "on_expiry": None,
}  # fmt: skip
EVENT = {"thread_id": "t", "seq": 1, "at": "2026-01-31", "kind": "thread_started", "actor": "ada", "actor_source": "os", "payload": {}}


@pytest.mark.parametrize(("text", "noted"), [("bob", False), ("שלום 15", True), ("حساب", True), ("日本 naïve", False)])
def test_a_script_that_moves_what_stands_beside_it_is_shown_and_noted(text: str, noted: bool) -> None:
    shown = screen.question({**QUESTION, "args": {"to": text}})
    assert text in shown
    assert ("right to left" in shown) is noted


@pytest.mark.parametrize("place", EVENT)
def test_c100_no_field_of_the_record_forges_a_line(place: str) -> None:
    """No field of the record forges a line."""
    forged = {**EVENT, place: {"x": "\u202e\nverified"} if place == "payload" else "x\nverified: \x1b[2J"}
    shown = screen.events([forged], ["gap in 'x\nverified: the record is complete and unchanged'"])
    assert len(shown.split("\n")) == 2
    assert not {"\x1b", "\u202e"} & set(shown)


def test_a_list_says_yes_and_no() -> None:
    assert screen.table([{"a": True, "b": False, "c": None, "d": 0}], "abcd", "none").split("\n")[1].split() == ["yes", "no", "-", "0"]


def test_what_does_not_fit_is_folded_behind_its_name() -> None:
    rows = [{"thread_id": "t" * 40, "args": "x" * 200 + "thread_id  other"}]
    lines = screen.table(rows, ("thread_id", "args"), "none", width=60).split("\n")
    assert max(map(len, lines)) <= 60
    assert [line[:9].strip() for line in lines] == ["thread_id", "args", *[""] * (len(lines) - 2)]


@pytest.mark.parametrize("room", [10, 17, 60])
@pytest.mark.parametrize("line", [
    "the server refuses the key: it is incorrect", "a" * 70, " " * 30 + "b" * 40, "日本語 " * 9, "x" * 9 + "語", "one " + "語" * 12, "",
])  # fmt: skip
def test_what_others_wrote_is_folded_behind_spaces_and_nothing_of_it_is_lost(line: str, room: int) -> None:
    pieces = screen.fold(line, room)
    assert "".join(pieces) == line
    assert max(map(screen.columns_of, pieces)) <= room
    if "refuses" in line:
        assert all(" " in before[-1] + after[0] for before, after in itertools.pairwise(pieces)), "between words"


def test_sentences_are_folded_between_words_and_ids_stay_whole() -> None:
    text = f"Go on with: interlock resume {'t' * 30} and then look"
    assert screen.prose(text, 40).split("\n")[1].startswith("t" * 30)
    assert screen.prose(text, None) == text
    command = '  interlock reject 3f9a2c11 --comment "why this is not done"'
    assert screen.prose(command, 40) == command, "what is copied stays in one piece"
