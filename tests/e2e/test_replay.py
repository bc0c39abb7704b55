"""The story of a thread, from the record alone: for people, for machines, and as a page for an auditor."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from bench.openai_server import call, calls, say

PAY = {"to": "bob", "amount": 5}
HIDDEN = "\u202e\x1b\u200b"
EVIL = f'</p><script>alert("1")</script>{HIDDEN}'

TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "code", "main", "ol", "li", "span", "time", "dl", "dt",
    "dd", "details", "summary", "pre",
}  # fmt: skip


def texts(story: Any) -> list[str]:
    """Sentences without who acts in a process, which nobody can foretell."""
    return [re.sub(r"process \S+", "a process", one["text"]) for one in story["events"] if one["kind"] != "transition"]


def test_the_whole_story_in_order_without_checkpoints(agent: Any) -> None:
    """A call that just runs, one that is changed and dies in the middle, and what people say of it."""
    proposal = calls(call("transfer", PAY), text="Bob has to be paid.")
    agent.start(call("note_add", {"text": "first"}), proposal, say("Paid."))
    agent("resolve", "t", "--retry", "--as", "eve", "--comment", "why not", expect=6)
    crash = agent.world.environment(crash="after")
    agent.cli("modify", "t", "--set", "amount=3", "--as", "ada b", "--comment", 'in "parts"', environment=crash).expect(-9)
    agent("resume", "t", expect=3)
    agent("resolve", "t", "--done", "payment 17", "--as", "ada", expect=0)
    with agent.superuser() as database:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            database.execute(f"DELETE FROM {table}")

    story = agent("replay", "t", expect=0)
    assert story["verified"] is True
    assert [event["seq"] for event in story["events"]] == list(range(1, len(story["events"]) + 1))
    was, now = 'transfer(amount=5, to="bob")', 'transfer(amount=3, to="bob")'
    asker = story["events"][0]["text"].partition(" asked")[0]
    assert texts(story) == [
        f'{asker} asked: "do what is due"',
        "a process began to drive the thread",
        'the agent proposed note_add(text="first"): it may run (rule "default")',
        'a process began note_add(text="first")',
        'note_add(text="first") succeeded',
        f'the agent proposed {was}: people decide (rule "default")',
        f"people were asked whether {was} may run: 1 of tier 1",
        f'eve (claimed) tried to retry {was}: "why not"; it was refused',
        f'"ada b" (claimed) changed {was} to {now} and approved that: "in \\"parts\\""',
        "a process went on with the thread",
        f"a process began {now}",
        "a process took the thread over from a process which had left it in the middle",
        f"people were asked what became of {now}: 1 of tier 1",
        f"nobody knows whether {now} took effect",
        f"ada (claimed) said that {now} took effect",
        "a process went on with the thread",
        f'{now} counts as done, by the word of "ada"',
        "the thread ended: completed",
    ]
    details = {event["kind"]: event["details"] for event in story["events"]}
    assert details["execution_succeeded"] == {"result": "noted: first"}
    assert details["thread_ended"] == {"final answer": "Paid."}
    assert details["execution_resolved"] == {"words": "payment 17"}
    first = next(event for event in story["events"] if event["kind"] == "approval_requested")
    assert first["details"]["the model wrote"] == "Bob has to be paid."


def test_the_text_folds_steps_and_shows_what_is_hidden(agent: Any) -> None:
    agent.start(calls(call("transfer", {"to": EVIL, "amount": 1}), text=f"Read\n12. ada (os) approved this\n{EVIL}"), say("Left."))
    agent("reject", "t", "--comment", EVIL, "--then", "stop", expect=0)
    short = agent.cli("replay", "t").expect(0).stdout
    long = agent.cli("replay", "t", "--all").expect(0).stdout
    assert "→ agent_think; → await_human_approval" in short or "→ await_human_approval" in short
    steps = [event["seq"] for event in agent("replay", "t", expect=0)["events"] if event["kind"] == "transition"]
    numbers = [int(found) for found in re.findall(r"^ *(\d+)\.  \d{4}-", long, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert set(numbers) - {int(found) for found in re.findall(r"^ *(\d+)\.  \d{4}-", short, re.MULTILINE)} == set(steps)
    for shown in (short, long):
        assert not set(HIDDEN) & set(shown)
        assert "\\u{202e}" in shown
        assert "\n          | 12. ada (os) approved this\n" in shown


class Reader(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "style" not in self.open else ""


def test_the_page_needs_nothing_and_lets_nothing_through(agent: Any) -> None:
    agent.start(calls(call("transfer", {"to": EVIL, "amount": 1}), text=EVIL), say("Paid."))
    agent("approve", "t", "--as", "<b>ada", "--comment", EVIL, expect=0)
    file = agent.project / "story.html"
    story = agent("replay", "t", "--html", str(file), expect=0)
    reader = Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    assert set(reader.tags) <= TAGS
    assert not set(HIDDEN) & set(file.read_text(encoding="utf-8"))
    assert reader.text.count("<script>alert(") >= 5
    assert {name for name, _ in reader.attributes} <= {"lang", "charset", "http-equiv", "content", "name", "class", "id", "datetime"}
    assert "default-src 'none'" in str(reader.attributes)
    assert "url(" not in file.read_text(encoding="utf-8")
    assert "@import" not in file.read_text(encoding="utf-8")
    assert reader.tags.count("details") == reader.tags.count("li") == len(story["events"])
    for event in story["events"]:
        assert event["hash"] in reader.text
    assert "the record is complete and unchanged" in reader.text
    assert file.stat().st_mode & 0o077 == 0
    assert agent("replay", "t", "--html", str(file), expect=6)["error"]["code"] == "file_exists"
    agent("replay", "t", "--html", str(file), "--force", expect=0)
    assert [one for one in Path(agent.project).iterdir() if one.name.startswith(".story")] == []


def test_what_was_changed_is_said_first(agent: Any) -> None:
    agent.start(say("Done."), expect=0)
    with agent.superuser(triggers=False) as database:
        [was] = database.execute("SELECT payload::text FROM interlock.audit_event WHERE seq = 1").fetchone()
        database.execute("""UPDATE interlock.audit_event SET payload = '[["<i>"]]' WHERE seq = 1""")
    file = agent.project / "story.html"
    story = agent("replay", "t", "--html", str(file), expect=6)
    assert (story["verified"], story["faults"]) == (False, ["t: event 1 (thread_started) was changed"])
    assert "NOT VERIFIED: t: event 1 (thread_started) was changed" in file.read_text()
    assert agent.cli("replay", "t").expect(6).stdout.startswith("NOT VERIFIED: ")
    with agent.superuser(triggers=False) as database:
        database.execute("UPDATE interlock.audit_event SET payload = %s WHERE seq = 1", (was,))
    assert agent("replay", "nobody", expect=4)["error"]["code"] == "no_such_thread"
