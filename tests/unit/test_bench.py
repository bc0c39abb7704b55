"""The bench itself: what it refuses, what it breaks, and that it reports what a process really did."""

import json
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest
from bench.cli import Cli, base_environment, default_command
from bench.openai_server import (
    KEY,
    MISSING,
    MODEL,
    OpenAIServer,
    Rules,
    by_turn,
    call,
    calls,
    cut,
    odd,
    raw_call,
    reasoning,
    say,
    silent,
    slow,
    status,
)
from bench.world import World
from bench.zygote import PRELOADED
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

USER = {"role": "user", "content": "pay bob"}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PAY = {"type": "function", "function": {"name": "pay", "description": "", "parameters": {"type": "object"}}}


@pytest.fixture
def server():
    with OpenAIServer() as started:
        yield started


@contextmanager
def client_of(server, **options):
    options = {"max_retries": 0, "timeout": 5, **options}
    http = httpx.Client(trust_env=False, verify=False, timeout=options["timeout"])  # loading certificates is slow
    with openai.OpenAI(base_url=server.url, api_key=KEY, http_client=http, **options) as client:
        yield client


def post(server, body, path="/chat/completions", key=KEY):
    content = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(server.url + path, content=content, headers=headers, trust_env=False, verify=False)


def ask(server, *messages, **rest):
    return post(server, {"model": MODEL, "messages": list(messages), **rest})


def made(*ids, content="", name="pay", arguments="{}"):
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": one, "type": "function", "function": function} for one in ids],
    }


def answered(id, content="done"):
    return {"role": "tool", "tool_call_id": id, "content": content}


# --- what the server refuses


WRONG_HISTORIES = {
    "unanswered at the end": ([USER, made("a")], "did not have response messages: a"),
    "one of two unanswered": ([USER, made("a", "b"), answered("a"), USER], "did not have response messages: b"),
    "not directly after": ([USER, made("a"), USER, answered("a")], "did not have response messages: a"),
    "orphan": ([USER, answered("a")], "must be a response to a preceding message"),
    "answered twice": ([USER, made("a"), answered("a"), answered("a")], "answered already"),
    "another id": ([USER, made("a"), answered("b")], "'b' was not called there"),
    "duplicate ids": ([USER, made("a", "a"), answered("a")], "Duplicate tool call ids"),
    "empty id": ([USER, made(""), answered("a")], "id that is not empty"),
    "no id": ([USER, made(None), answered("a")], "id that is not empty"),
    "empty id of an answer": ([USER, made("a"), answered("")], "needs a tool_call_id"),
    "list content": ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "must be a string, got list"),
    "null content of a user": ([{"role": "user", "content": None}], "must be a string, got NoneType"),
    "no content": ([{"role": "user"}], "must be a string, got NoneType"),
    "null content of an answer": ([USER, {"role": "assistant", "content": None}], "must be a string, got NoneType"),
    "list content of a tool": ([USER, made("a"), answered("a", ["x"])], "must be a string, got list"),
    "null content of a tool": ([USER, made("a"), answered("a", None)], "must be a string, got NoneType"),
    "arguments as an object": ([USER, made("a", arguments={}), answered("a")], "arguments must be a string, got dict"),
    "a call without a name": ([USER, made("a", name=None), answered("a")], "Invalid function name"),
    "empty tool_calls": ([USER, {"role": "assistant", "content": "", "tool_calls": []}], "not empty"),
    "calls of a user": ([{**made("a"), "role": "user"}, answered("a")], "Only the assistant may call tools"),
    "unknown role": ([{"role": "function", "content": "x"}], "Invalid value for role"),
    "a role that is no text": ([{"role": ["user"], "content": "x"}], "Invalid value for role"),
    "lone surrogate": ([{"role": "user", "content": "\ud800"}], "lone surrogate"),
    "a message that is no object": (["hello"], "must be an object"),
    "no messages": ([], "not empty"),
}


@pytest.mark.parametrize(("messages", "why"), WRONG_HISTORIES.values(), ids=WRONG_HISTORIES)
def test_a_wrong_history_is_refused(server, messages, why):
    server.play(say("fine"))
    refused = ask(server, *messages)
    assert refused.status_code == 400
    assert why in refused.json()["error"]["message"]
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert [why in refusal.message for refusal in server.refusals] == [True]
    assert server.requests[0]["messages"] == messages
    assert ask(server, USER).json()["choices"][0]["message"]["content"] == "fine", "a refusal used up the script"


@pytest.mark.parametrize(
    "messages",
    [
        [USER, made("a", "b", content=None), answered("b"), answered("a")],
        [USER, made("a"), answered("a"), made("a"), answered("a", ""), USER],
        [{"role": "system", "content": "be good"}, USER, {"role": "assistant", "content": "hello 😀"}, USER],
        [USER, made("a", arguments='{"broken": '), answered("a")],
    ],
)
def test_a_right_history_is_answered(server, messages):
    server.play(say("fine"))
    assert ask(server, *messages).status_code == 200
    assert server.refusals == []


RULES = {
    "null content": (Rules(allow_null_content=False), [USER, made("a", content=None), answered("a")]),
    "order": (Rules(call_order=True), [USER, made("a", "b"), answered("b"), answered("a")]),
    "assistant first": (Rules(user_first=True), [{"role": "assistant", "content": "hello"}, USER]),
    "broken arguments": (Rules(parsable_arguments=True), [USER, made("a", arguments='{"a": 1'), answered("a")]),
    "no reasoning": (Rules(reasoning_back="required"), [USER, made("a"), answered("a")]),
    "reasoning": (Rules(reasoning_back="refused"), [USER, {**made("a"), "reasoning_content": "x"}, answered("a")]),
    "too long": (Rules(context_limit=100), [{"role": "user", "content": "x" * 100}]),
}


@pytest.mark.parametrize(("rules", "messages"), RULES.values(), ids=RULES)
def test_what_only_some_servers_refuse(server, rules, messages):
    server.play(say("fine"))
    assert ask(server, *messages).status_code == 200
    server.rules = rules
    assert ask(server, *messages).status_code == 400


@pytest.mark.parametrize(
    "rest",
    [
        {"tools": [PAY, PAY]},
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "pay all"}}]},
        {"tools": ["pay"]},
        {"tool_choice": "auto"},
        {"model": ""},
        {"temperature": float("nan")},
    ],
    ids=str,
)
def test_a_wrong_request_is_refused(server, rest):
    assert ask(server, USER, **rest).status_code == 400
    assert len(server.refusals) == 1


@pytest.mark.parametrize("body", [b"{", b'{"model": "\xff"}', b"[]", b"null"])
def test_a_body_that_is_no_request_is_refused(server, body):
    assert post(server, body).status_code == 400


def test_a_wrong_key_and_a_wrong_address_are_refused(server):
    assert post(server, {}, key="another").status_code == 401
    assert post(server, {}, path="/responses").json()["error"]["code"] == "unknown_url"


# --- what the server answers


def answer(client, stream, messages=(USER,)):
    """(text, [(id, name, arguments)], finish reason) through the SDK."""
    if not stream:
        choice = client.chat.completions.create(model=MODEL, messages=list(messages)).choices[0]
        found = choice.message.tool_calls or []
        return (
            choice.message.content,
            [(one.id, one.function.name, one.function.arguments) for one in found],
            choice.finish_reason,
        )
    text, found, reason = "", {}, None
    with client.chat.completions.create(model=MODEL, messages=list(messages), stream=True) as events:
        for event in events:
            choice = event.choices[0]
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for part in choice.delta.tool_calls or []:
                one = found.setdefault(part.index, [part.id, part.function.name, ""])
                one[2] += part.function.arguments
    return text or None, [tuple(one) for one in found.values()], reason


@STREAMED
def test_text_and_calls_arrive_as_scripted(server, stream):
    arguments = {"to": "Боб 😀", "amount": 12345678901234}
    both = calls(call("pay", arguments, id="a"), call("log", id="b"), text="I pay, and log.")
    server.play(say("Hello  there,\nBob."), both, raw_call("pay", '{"to": ', id=""))
    with client_of(server) as client:
        assert answer(client, stream) == ("Hello  there,\nBob.", [], "stop")
        text, found, reason = answer(client, stream)
        assert (text, reason) == ("I pay, and log.", "tool_calls")
        assert [one[:2] for one in found] == [("a", "pay"), ("b", "log")]
        assert [json.loads(one[2]) for one in found] == [arguments, {}]
        assert answer(client, stream) == (None, [("", "pay", '{"to": ')], "tool_calls")


def test_raw_calls_are_sent_as_a_bad_server_sends_them(server):
    server.play(raw_call(None, [1], id=None), raw_call("pay", MISSING, id=MISSING))
    first, second = (ask(server, USER).json()["choices"][0]["message"]["tool_calls"][0] for _ in range(2))
    assert first == {"type": "function", "id": None, "function": {"name": None, "arguments": [1]}}
    assert second == {"type": "function", "function": {"name": "pay"}}
    server.play(raw_call("pay", {"to": "bob"}))
    assert '"arguments": {"to": "bob"}' in ask(server, USER, stream=True).text


def test_usage_is_streamed_when_it_is_asked_for(server):
    server.always(say("Hello."))
    with client_of(server) as client:
        arguments = {"model": MODEL, "messages": [USER], "stream": True}
        with client.chat.completions.create(**arguments, stream_options={"include_usage": True}) as events:
            *before, last = events
        assert all(event.usage is None for event in before)
        assert (last.choices, last.usage.total_tokens > 0) == ([], True)
        with client.chat.completions.create(**arguments) as events:
            assert all(event.usage is None and event.choices for event in events)


@STREAMED
def test_a_tool_loop_through_langchain_openai(server, stream):
    server.play(by_turn(calls(call("pay", {"to": "bob"}), call("pay", {"to": "eve"})), say("Paid.")))
    server.play(by_turn(say("never"), say("Paid.")))
    model = ChatOpenAI(model=MODEL, base_url=server.url, api_key=KEY, max_retries=0, streaming=stream).bind_tools([PAY])
    history = [HumanMessage("pay both"), (proposed := model.invoke([HumanMessage("pay both")]))]
    assert isinstance(proposed, AIMessage)
    history += [ToolMessage(f"paid {one['args']['to']}", tool_call_id=one["id"]) for one in proposed.tool_calls]
    assert model.invoke(history).content == "Paid."
    assert [message["content"] for message in server.last_tool_messages()] == ["paid bob", "paid eve"]
    assert server.last_request["tools"] == [PAY]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.refusals == server.unexpected == []


def test_models_are_listed(server):
    with client_of(server) as client:
        assert [model.id for model in client.models.list()] == [MODEL]
        assert client.models.retrieve(MODEL).id == MODEL


def test_embeddings_put_like_texts_together_and_refuse_token_arrays(server):
    with client_of(server) as client:
        found = client.embeddings.create(model=MODEL, input=["pay bob now", "pay bob", "rain in May"]).data
        plain = client.embeddings.create(model=MODEL, input="pay bob", encoding_format="float").data[0]
        with pytest.raises(openai.BadRequestError, match="no token arrays"):
            client.embeddings.create(model=MODEL, input=[[1, 2, 3]])
    near, here, far = (item.embedding for item in found)
    assert here == pytest.approx(plain.embedding, abs=1e-6)
    assert sum(a * b for a, b in zip(near, here, strict=True)) > sum(a * b for a, b in zip(far, here, strict=True))


# --- how the server fails


@STREAMED
def test_a_script_that_is_used_up_fails_visibly_and_at_once(server, stream):
    with client_of(server, max_retries=5) as client, pytest.raises(openai.InternalServerError, match="script exhaust"):
        answer(client, stream)
    assert len(server.requests) == len(server.unexpected) == 1


def test_a_script_that_raises_is_no_mystery(server):
    server.play(lambda request: say(request["no such key"]))
    assert "the script failed: KeyError('no such key')" in ask(server, USER).json()["error"]["message"]


@STREAMED
def test_429_with_retry_after_and_500(server, stream):
    server.play(status(429, headers={"Retry-After": "0.05"}), say("fine"), status(500, "broken"))
    with client_of(server, max_retries=1) as client:
        assert answer(client, stream)[0] == "fine"
    assert len(server.requests) == 2
    with client_of(server) as client, pytest.raises(openai.InternalServerError, match="broken"):
        answer(client, stream)
    server.play(status(429, error="insufficient_quota"))
    with client_of(server) as client, pytest.raises(openai.RateLimitError) as caught:
        answer(client, stream)
    assert caught.value.code == "insufficient_quota"


@STREAMED
@pytest.mark.parametrize("after_bytes", [None, 0, 30])
def test_an_answer_that_is_cut_off(server, stream, after_bytes):
    server.play(cut(after_bytes), say("fine"))
    with client_of(server) as client:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            answer(client, stream)
        assert answer(client, stream)[0] == "fine"


@STREAMED
@pytest.mark.parametrize("after_bytes", [None, 0, 400])
def test_silence_lasts_until_the_client_gives_up(server, stream, after_bytes):
    server.play(silent(after_bytes, say("x" * 1000)), say("fine"))
    with client_of(server, timeout=0.2) as client, pytest.raises((openai.APITimeoutError, httpx.ReadTimeout)):
        answer(client, stream)
    with client_of(server) as client:
        assert answer(client, stream)[0] == "fine"


@STREAMED
def test_slow_answers_arrive(server, stream):
    server.play(slow(0.15, say("late")), slow(0.05, say("a b"), each_event=True))
    with client_of(server) as client:
        begun = time.monotonic()
        assert answer(client, stream)[0] == "late"
        assert time.monotonic() - begun >= 0.15
        begun = time.monotonic()
        assert answer(client, stream)[0] == "a b"
        assert not stream or time.monotonic() - begun >= 0.2


def test_odd_answers(server):
    error = {"message": "overloaded"}
    server.play(odd({"choices": None}), odd({"usage": None}), odd({"error": error}, bare=True), odd("<html>"))
    assert ask(server, USER).json()["choices"] is None
    without_usage = ask(server, USER).json()
    assert (without_usage["usage"], len(without_usage["choices"])) == (None, 1)
    assert ask(server, USER).json() == {"error": error}
    assert ask(server, USER).text == "<html>"
    server.play(odd({"choices": []}), odd({"error": error}, bare=True), odd("<html>"))
    assert '"choices": []' in ask(server, USER, stream=True).text
    assert ask(server, USER, stream=True).text.startswith('data: {"error"')
    assert ask(server, USER, stream=True).text == "<html>"


def test_reasoning_comes_beside_the_text(server):
    server.always(reasoning("first I think", say("42")))
    message = ask(server, USER).json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("first I think", "42")
    assert '"reasoning_content": "first "' in ask(server, USER, stream=True).text


def test_stopping_does_not_wait_for_silent_or_slow_answers():
    server = OpenAIServer([silent(), silent(5), slow(60, say("late"))]).start()

    def give_up():
        with client_of(server, timeout=30) as client, pytest.raises(openai.APIConnectionError):
            answer(client, stream=False)

    waiting = [threading.Thread(target=give_up) for _ in range(3)]
    for thread in waiting:
        thread.start()
    server.wait_for_requests(3)
    begun = time.monotonic()
    server.stop()
    for thread in waiting:
        thread.join(20)
    assert time.monotonic() - begun < 20
    assert not any(thread.is_alive() for thread in waiting)


def test_many_clients_at_once_each_get_a_step_of_their_own(server):
    server.play(*(say(str(number)) for number in range(40)))
    got = []

    def work():
        with httpx.Client(headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, verify=False) as client:
            for _ in range(5):
                body = {"model": MODEL, "messages": [USER]}
                answer = client.post(server.url + "/chat/completions", json=body).json()
                got.append(int(answer["choices"][0]["message"]["content"]))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert sorted(got) == list(range(40))
    assert len(server.requests) == 40


# --- the command line


@pytest.fixture(params=["started", "forked"])
def program(request, tmp_path, zygote):
    """Makes a Cli whose command is a small Python program."""
    made = []

    def make(code, **options):
        command = (sys.executable, "-c", f"import os, sys, time, json\n{code}")
        options = {"timeout": 20, "zygote": zygote if request.param == "forked" else None, **options}
        made.append(Cli(base_environment(tmp_path), tmp_path, command, **options))
        return made[-1]

    yield make
    for cli in made:
        cli.close()


def test_a_run_gives_exit_code_and_both_streams(program):
    code = "print(json.dumps(sys.argv[1:])); print('note', file=sys.stderr); sys.exit(3)"
    result = program(code)("start", "Zoë 😀", "--json").expect(3)
    assert result.json == ["start", "Zoë 😀", "--json"]
    assert result.stderr == "note\n"
    with pytest.raises(AssertionError, match=r"(?s)exit code 3 instead of 0.*note"):
        result.expect(0)


@pytest.mark.parametrize("out", ["", "{}\n{}", "{} done", "warning\n{}", "NaN", '"\x1b[0m"'])
def test_json_is_the_whole_of_stdout(program, out):
    with pytest.raises(AssertionError, match="not one JSON document"):
        _ = program(f"print({out!r})")().json


def test_without_a_terminal_stdin_is_empty_or_what_was_piped(program):
    cli = program("print([sys.stdin.isatty(), sys.stdin.read()])")
    assert cli().stdout == "[False, '']\n"
    assert cli(input="y\n").stdout == "[False, 'y\\n']\n"


def test_the_environment_is_what_was_said(program, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the developer's")
    monkeypatch.setenv("INTERLOCK_HOME", "the developer's")
    cli = program("print(json.dumps(dict(os.environ)))")
    seen = cli(environment={"INTERLOCK_MODEL": "openai:x", "LANG": None}).json
    assert seen.keys().isdisjoint({"OPENAI_API_KEY", "INTERLOCK_HOME", "LANG"})
    assert seen["INTERLOCK_MODEL"] == "openai:x"
    assert cli.extended(cli.crashing("after_intent", 2))().json["_INTERLOCK_CRASH_POINT"] == "after_intent:2"
    assert "_INTERLOCK_CRASH_POINT" not in cli().json


def test_a_traceback_fails_the_run_unless_it_is_allowed(program):
    cli = program("raise ValueError('oh')")
    with pytest.raises(AssertionError, match=r"(?s)a traceback was shown.*ValueError: oh"):
        cli()
    assert cli(traceback_allowed=True).exit_code == 1
    with pytest.raises(AssertionError, match="a traceback was shown"):
        cli.spawn().wait()
    with pytest.raises(AssertionError, match="a traceback was shown"):
        cli.terminal().wait()


def test_a_timeout_kills_the_whole_group_and_shows_what_was_printed(program, tmp_path):
    code = "print('here', flush=True)\nif os.fork() == 0: open('child', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    with pytest.raises(AssertionError, match=r"(?s)not finished after 5 s.*here"):
        program(code)(timeout=5)
    assert gone(int((tmp_path / "child").read_text()))


def gone(pid, timeout=5):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def test_a_spawned_process_is_read_signalled_frozen_and_killed(program):
    code = """
import signal
def leave(*_):
    print('leaving'); sys.exit(130)
signal.signal(signal.SIGINT, leave)
print('ready', flush=True)
n = 0
while True:
    n += 1; print('tick', n, flush=True); time.sleep(0.01)
"""
    cli = program(code)
    process = cli.spawn()
    process.read_until("ready")
    process.read_until("tick 3\n")
    process.stop()
    before = process.stdout
    time.sleep(0.1)
    assert (process.stdout, process.running) == (before, True)
    process.cont()
    process.read_until(f"tick {before.count('tick') + 2}\n")
    process.signal(signal.SIGINT)
    assert "leaving" in process.wait().expect(130).stdout
    other = cli.spawn()
    other.read_until("ready")
    other.kill()
    assert other.wait().exit_code == -signal.SIGKILL
    with pytest.raises(AssertionError, match=r"(?s)ended before it printed 'never'.*ready"):
        other.read_until("never")


def test_closing_ends_what_is_still_under_way(program):
    cli = program("time.sleep(60)")
    process, terminal = cli.spawn(), cli.extended({}).terminal()
    cli.close()
    assert not process.running and not terminal.running


QUESTION = r"""
size = os.get_terminal_size()
print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), size.columns, size.lines)
sys.stdout.write('\x1b[1mApprove?\x1b[0m ')
sys.stdout.flush()
print('got', repr(sys.stdin.readline()))
print('Again?', flush=True)
print('got', repr(sys.stdin.readline()))
"""


def test_a_terminal_is_asked_and_answered(program):
    terminal = program(QUESTION).terminal(columns=61, rows=17)
    assert "True True True 61 17" in terminal.read_until("Approve?")
    assert "\x1b[1mApprove?\x1b[0m" in terminal.screen
    terminal.send("y\n")
    assert "got 'y\\n'\n" in terminal.read_until("Again?")
    terminal.send("\x04")
    result = terminal.wait().expect(0)
    assert "got ''" in result.stdout
    assert "\x1b" not in terminal.text


def test_ctrl_c_at_a_terminal_is_an_interrupt(program):
    code = "try:\n print('ready', flush=True); time.sleep(60)\nexcept KeyboardInterrupt:\n sys.exit(130)"
    terminal = program(code).terminal()
    terminal.read_until("ready")
    terminal.send("\x03")
    terminal.wait().expect(130)


def test_a_terminal_that_does_not_say_it_shows_its_screen(program):
    with pytest.raises(AssertionError, match=r"(?s)ended before 'never' was shown.*hello"):
        program("print('hello')").terminal().read_until("never")
    terminal = program("print('hello', flush=True); time.sleep(60)").terminal()
    terminal.read_until("hello")
    with pytest.raises(AssertionError, match=r"(?s)timed out before 'never' was shown.*hello"):
        terminal.read_until("never", timeout=0.5)


def test_a_terminal_takes_more_than_its_buffer_holds(program):
    terminal = program("print('x' * 1000000); print('end')").terminal()
    result = terminal.wait().expect(0)
    assert (result.stdout.count("x"), result.stdout[-7:]) == (1_000_000, "\r\nend\r\n")


SEEN = """
import json, locale, os, resource, signal, sys, threading, time, warnings
def stream(s):
    return [s.name, s.mode, s.encoding, s.errors, s.isatty(), s.line_buffering, s.closed, s.fileno()]
def terminal():
    try:
        return os.getpgrp() == os.tcgetpgrp(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return None
seen = {
    "argv": sys.argv, "path": sys.path, "flags": repr(sys.flags), "warnings": repr(warnings.filters), "executable": sys.executable,
    "streams": [stream(s) for s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__)], "terminal": terminal(),
    "environment": dict(os.environ), "folder": os.getcwd(), "umask": os.umask(0o22), "locale": locale.setlocale(locale.LC_ALL),
    "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()], "zone": time.tzname, "threads": threading.active_count(),
    "signals": {s.name: repr(signal.getsignal(s)) for s in signal.valid_signals() if isinstance(s, signal.Signals)},
    "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])], "wakes": signal.set_wakeup_fd(-1),
    "limits": [resource.getrlimit(n) for n in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)], "nice": os.nice(0),
    "open": [n for n in range(64) if os.path.exists(f"/proc/self/fd/{n}")], "name": __name__,
}
print(json.dumps(seen))
"""


@pytest.mark.parametrize("at_terminal", [False, True])
def test_a_fork_sees_what_a_start_sees(tmp_path, zygote, at_terminal):
    """Of a program that has loaded what the zygote has."""
    environment = base_environment(tmp_path) | {"TZ": "Asia/Tokyo", "OPENAI_API_KEY": "withheld by the product"}
    code = f"import {', '.join(PRELOADED)}\n{SEEN}"

    def seen(**how):
        cli = Cli(environment, tmp_path, (sys.executable, "-c", code), **how)
        ended = cli.terminal("a", "--json").wait().expect(0) if at_terminal else cli("a", "--json", input="x")
        return json.loads(ended.stdout)

    forked, started = seen(zygote=zygote), seen()
    assert {name: value for name, value in forked.items() if value != started[name]} == {}


WAYS = {
    "sys.exit(3)": (3, ""),
    "sys.exit('no')": (1, "no\n"),
    "sys.exit()": (0, ""),
    "1 / 0": (1, "ZeroDivisionError"),
    "raise KeyboardInterrupt": (-signal.SIGINT, "KeyboardInterrupt"),
    "os.kill(os.getpid(), 9)": (-signal.SIGKILL, ""),
    "import threading; threading.Thread(target=time.sleep, args=(0.1,)).start()": (0, ""),
    "open(0, closefd=False).read()": (0, ""),
}


def test_a_program_ends_in_any_way_there_is(program):
    cli = program("import atexit\natexit.register(print, 'last')\nexec(sys.argv[1])", traceback_allowed=True)
    for way, (code, told) in WAYS.items():
        ended = cli(way).expect(code)
        assert (ended.stdout, told in ended.stderr) == ("" if code == -signal.SIGKILL else "last\n", True), way
        assert told or not ended.stderr, way


def test_what_is_read_at_start_is_not_forked(zygote, tmp_path):
    environment = base_environment(tmp_path)
    command = default_command()
    assert zygote.can_become(command, environment | {"INTERLOCK_TENANT": "acme"})
    for name in ("PYTHONHASHSEED", "LC_ALL", "LANGGRAPH_STRICT_MSGPACK"):
        assert not zygote.can_become(command, environment | {name: "1"})
    assert not zygote.can_become((sys.executable, "-P", "-c", "0"), environment)


def test_the_command_belongs_to_this_interpreter():
    assert Path(default_command()[0]).parent == Path(sys.executable).parent


# --- the world outside, and the fixtures


def test_the_world_counts_what_other_processes_did(program, tmp_path):
    world = World(tmp_path / "world")
    code = "from bench.world import World\nfor n in range(25): World.here().append('deploy', f'{sys.argv[1]}\\n😀')"
    cli = program(code).extended(world.environment())
    running = [cli.spawn(str(number)) for number in range(4)]
    world.wait_for("deploy", 100)
    for process in running:
        process.wait().expect(0)
    assert sorted(set(world.lines("deploy"))) == [f"{number}\n😀" for number in range(4)]
    assert (world.count("deploy"), world.count("nothing")) == (100, 0)


@pytest.mark.parametrize(("moment", "attempts", "count"), [("before", 0, 0), ("during", 1, 0), ("after", 1, 1)])
def test_an_effect_dies_once_where_it_was_told(program, tmp_path, moment, attempts, count):
    world = World(tmp_path / "world")
    cli = program("from bench.world import World\nWorld.here().effect('deploy')")
    cli = cli.extended(world.environment(crash=moment))
    assert cli().exit_code == -signal.SIGKILL
    assert (world.attempts("deploy"), world.count("deploy"), world.crashed(moment)) == (attempts, count, True)
    cli().expect(0)
    assert (world.attempts("deploy"), world.count("deploy")) == (attempts + 1, count + 1)


class TestFixtures:
    @pytest.fixture
    def database_url(self):
        return "postgresql:///nowhere"

    @pytest.fixture
    def home(self, tmp_path):
        return tmp_path / "home"

    def test_the_factory_says_all_that_the_product_reads(self, cli_factory, model_server, world, home):
        cli = cli_factory(model=model_server, world=world, environment={"INTERLOCK_TENANT": "acme", "LANG": None})
        names = {name for name in cli.environment if name.startswith(("INTERLOCK_", "OPENAI_", "WORLD"))}
        assert names == {
            "INTERLOCK_DATABASE_URL",
            "INTERLOCK_EMBEDDINGS",
            "INTERLOCK_HOME",
            "INTERLOCK_MODEL",
            "INTERLOCK_TENANT",
            "INTERLOCK_TOOLS",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "WORLD",
        }
        assert (cli.environment["INTERLOCK_HOME"], "LANG" in cli.environment) == (str(home), False)

    def test_a_plain_cli_has_neither_model_nor_tools(self, cli):
        assert cli.environment.keys().isdisjoint({"INTERLOCK_MODEL", "INTERLOCK_TOOLS", "WORLD", "OPENAI_API_KEY"})

    def test_the_tools_are_a_file_in_the_users_folder(self, cli_factory, world):
        cli = cli_factory(world=world)
        code = (
            "import asyncio, sys; sys.path.insert(0, '')\n"
            "from tools_for_tests import TOOLS\n"
            "from tools.calling import call\n"
            "from tools.spec import Registry\n"
            "registry = Registry(TOOLS)\n"
            "args = {'to': 'bob', 'amount': 7}\n"
            "for name in ('transfer', 'transfer_keyed', 'transfer_keyed', 'transfer_checked'):\n"
            "    print(asyncio.run(call(registry.get(name), args, idempotency_key='k1')).text)\n"
            "print(sorted(tool.name for tool in registry if not tool.facts.is_critical))\n"
        )
        result = Cli(cli.environment, cli.cwd, (sys.executable, "-c", code))().expect(0)
        assert result.stdout.count("transferred 7 to bob") == 4
        assert "['failing', 'list_result', 'none_result', 'note_add', 'print_environment']" in result.stdout
        assert world.lines("transfer") == ["7 to bob"]
        assert world.lines("transfer_keyed") == world.lines("transfer_checked") == ["k1 7 to bob"]
        assert world.lines("transfer_keyed.keys") == ["k1", "k1"]
