"""With --json, standard output is exactly one document: for answers, mistakes, failures, and whatever tools print."""

from typing import Any

from bench.openai_server import call, calls, say, status

MISTAKES = [
    (("start",), 2, "usage"),
    (("start", "x", "--no-such-option"), 2, "usage"),
    (("no-such-command",), 2, "usage"),
    (("runs", "--limit", "many"), 2, "usage"),
    (("runs", "--status", "sleeping"), 2, "bad_status"),
    (("approve", "0123456789"), 4, "no_such_approval"),
    (("resolve", "0123456789", "--retry", "--abandon"), 2, "usage"),
]


def test_c095_mistakes_are_one_document(agent: Any) -> None:
    """Mistakes are one JSON document on standard output too."""
    for command, code, name in MISTAKES:
        error = agent(*command, expect=code)["error"]
        assert error["code"] == name, command
        assert error["message"], command


def test_c084_an_unknown_setting_names_the_nearest(agent: Any) -> None:
    """A setting that does not exist is an error that names the nearest."""
    for name, nearest in (("INTERLOCK_MODLE", "INTERLOCK_MODEL"), ("INTERLOCK_DATABASE", "INTERLOCK_DATABASE_URL")):
        error = agent("runs", expect=2, environment={name: "x"})["error"]
        assert error["code"] == "unknown_setting"
        assert name in error["message"]
        assert nearest in error["remedy"]


def test_c095_what_tools_print_is_no_part_of_it(agent: Any) -> None:
    """By Python, or by a process that the tool starts."""
    agent.rewrite_tools('    print("printed by', '    os.system("echo printed by a child")\n    print("printed by')
    ended = agent.start(calls(call("print_environment"), call("failing", {"text": "broken"})), say("Seen."), expect=0)
    assert {execution["tool"]: execution["status"] for execution in ended["executions"]} == {
        "print_environment": "succeeded",
        "failing": "failed",
    }


def test_c097_an_output_that_cannot_hold_every_character(agent: Any) -> None:
    """What an output cannot hold is escaped; nothing fails."""
    started = agent.start(call("transfer", {"to": "Zoë 王 \U0001f600", "amount": 5}))
    for encoding in ("ascii", "latin-1", "utf-8"):
        poor = {"PYTHONIOENCODING": encoding}
        assert agent("show", "t", expect=0, environment=poor) == started
        assert "transfer" in agent.cli("show", "t", environment=poor).expect(0).stdout


def test_a_run_that_fails_can_be_resumed(agent: Any) -> None:
    failed = agent.start(status(401, "no such key"), expect=1)
    assert failed["error"]["message"]
    shown = agent("show", "t", expect=0)
    assert (shown["status"], shown["final_answer"]) == ("failed", None)
    assert shown["error"]["code"] == failed["error"]["code"]
    agent.model.play(say("Here again."))
    assert agent("resume", "t", expect=0)["final_answer"] == "Here again."


def test_c077_a_limit_stops_the_run_and_a_resume_goes_on(agent: Any) -> None:
    """The limit counts turns of the model: status stopped, exit 8, and a resume goes on."""
    notes = [call("note_add", {"text": str(number)}) for number in range(3)]
    few = {"INTERLOCK_STEP_LIMIT": "2"}
    assert agent.start(*notes, say("Done."), expect=8, environment=few)["error"]["code"] == "step_limit"
    assert agent("show", "t", expect=0)["status"] == "stopped"
    assert agent("resume", "t", expect=0, environment=few)["status"] == "completed"
    assert agent.world.lines("note_add") == ["0", "1", "2"]


def test_a_list_that_is_not_all_says_so_and_how_to_see_the_rest(agent: Any) -> None:
    for thread in "abc":
        agent.start(call("transfer", {"to": thread, "amount": 5}), thread=thread)
    for command, rows in (("inbox", "pending"), ("runs", "runs")):
        part = agent(command, "--limit", "2", expect=0)
        assert (len(part[rows]), part["more"]) == (2, True)
        whole = agent(command, "--limit", "3", expect=0)
        assert (len(whole[rows]), whole["more"], whole[rows][:2]) == (3, False, part[rows])
        assert "--limit 20" in agent.cli(command, "--limit", "2").expect(0).stderr
        assert agent.cli(command).expect(0).stderr == ""


def test_the_database_is_away(agent: Any) -> None:
    away = {"INTERLOCK_DATABASE_URL": "postgresql://interlock@127.0.0.1:1/nowhere?connect_timeout=2"}
    assert agent("start", "x", expect=7, environment=away)["error"]["message"]
    assert agent.model.requests == []
