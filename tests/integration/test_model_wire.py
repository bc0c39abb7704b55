"""The model against a real HTTP server: odd answers, broken streams, errors, silence; streamed and not."""

import asyncio
import json
import time

import pytest
from bench.openai_server import (
    KEY,
    MODEL,
    OpenAIServer,
    Rules,
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
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph

from graph import doctor
from graph.model import Limits, choose_model
from graph.settings import Settings
from memory.errors import InterlockError, RunFailedError, UnavailableError

PATIENT = Limits(connect=5, idle=20, total=60, first_wait=0.01)
ASK = [SystemMessage("You are an agent."), HumanMessage("pay bob")]


@tool
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return ""


@tool
def log(text: str) -> str:
    """Write a line."""
    return ""


@pytest.fixture
def server():
    """One that refuses what any strict server refuses; that it refused nothing is part of every test."""
    rules = Rules(allow_null_content=False, call_order=True, user_first=True, parsable_arguments=True)
    with OpenAIServer(rules=rules) as started:
        yield started
    assert started.refusals == []


@pytest.fixture
def model(server, tmp_path):
    return chosen(server, tmp_path)


def chosen(server, home, limits=PATIENT, **settings):
    given = {"model": f"openai:{MODEL}", "openai_api_key": KEY, "openai_base_url": server.url} | settings
    return choose_model(Settings(home=home, **given), limits=limits)


class Asking:
    """One way to ask; `shown` is what a terminal would have shown."""

    def __init__(self, streaming):
        self.streaming = streaming
        self.shown = ""

    async def __call__(self, model, messages=ASK):
        return await model.answer(messages, tools=[pay, log], on_token=self.hear if self.streaming else None)

    def hear(self, piece):
        self.shown += piece

    async def fails(self, model, kind=InterlockError):
        with pytest.raises(kind) as raised:
            await self(model)
        error = raised.value
        assert f"openai:{MODEL}" in error.message
        assert "\n" not in error.message + error.remedy
        assert KEY not in json.dumps(error.as_json())
        return error


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def ask(request):
    return Asking(request.param)


# --- answers ----------------------------------------------------------------------------------------------------------


async def test_text(server, model, ask):
    server.play(say("Hello to you, Zoë 😀."))
    answer = await ask(model)
    assert (answer.text, answer.calls, answer.model_name, answer.cut) == ("Hello to you, Zoë 😀.", (), MODEL, "")
    assert ask.shown == (answer.text if ask.streaming else "")
    assert answer.usage is None if ask.streaming else answer.usage["output_tokens"] > 0
    names = [made["function"]["name"] for made in server.last_request["tools"]]
    assert names == ["pay", "log"]
    assert bool(server.last_request.get("stream")) == ask.streaming


async def test_calls_keep_their_order_their_text_and_their_ids(server, model, ask):
    server.play(calls(call("pay", {"to": "Zoë", "amount": 3}, "a"), call("log", {"text": "é" * 50}, "b"), text="I pay."))
    answer = await ask(model)
    assert answer.text == "I pay."
    assert [(made.name, made.args, made.id, made.problem) for made in answer.calls] == [
        ("pay", {"to": "Zoë", "amount": 3}, "a", None),
        ("log", {"text": "é" * 50}, "b", None),
    ]


@pytest.mark.parametrize("text", ['{"name": "pay", "arguments": {}}', '<tool_call>{"name": "pay"}</tool_call>'])
async def test_c070_a_call_written_as_text_is_text(server, model, ask, text):
    """A call that is written as text is text: it is never run."""
    server.play(say(text))
    answer = await ask(model)
    assert (answer.text, answer.calls) == (text, ())


@pytest.mark.parametrize(("id", "hint"), [(None, ""), ("", ""), (7, "")])
async def test_calls_without_ids(server, model, ask, id, hint):
    server.play(calls(raw_call("pay", '{"amount": 1}', id), raw_call("log", '{"text": "x"}', id)))
    answer = await ask(model)
    assert [(made.name, made.id, made.problem) for made in answer.calls] == [("pay", hint, None), ("log", hint, None)]


async def test_calls_that_repeat_an_id_are_two_calls(server, model, ask):
    server.play(calls(raw_call("pay", '{"amount": 1}', "c"), raw_call("pay", '{"amount": 2}', "c")))
    answer = await ask(model)
    assert [(made.args, made.id) for made in answer.calls] == [({"amount": 1}, "c"), ({"amount": 2}, "c")]


@pytest.mark.parametrize(
    "arguments",
    [
        "[1]",
        "123",
        '"x"',
        {"to": "bob"},
        [1],
        123,
        '{"a":1}{"b":2}',
        '{"a": 1',
        '{"a": NaN}',
        '{"a": 1e400}',
        '{"a": 1, "a": 2}',
        f'{{"a": {2**53}}}',
        '{"a": "\\ud800"}',
        '{"a": "\\u0000"}',
        "[" * 5_000,
    ],
    ids=lambda value: str(value)[:20],
)
async def test_c022_unusable_arguments_are_a_problem_of_that_call_alone(server, model, ask, arguments):
    """Arguments that are no JSON object are the trouble of that call alone, told to the model."""
    server.play(calls(raw_call("pay", arguments, "1"), call("log", {"text": "x"}, "2")))
    bad, good = (await ask(model)).calls
    assert (bad.name, bad.args, bad.id) == ("pay", None, "1")
    assert bad.problem
    assert (good.args, good.problem) == ({"text": "x"}, None)
    assert len(server.requests) == 1


@pytest.mark.parametrize("arguments", ["{}", "", None])
async def test_no_arguments_are_none(server, model, ask, arguments):
    server.play(raw_call("pay", arguments))
    assert [(made.args, made.problem) for made in (await ask(model)).calls] == [({}, None)]


@pytest.mark.parametrize("name", [None, "", " "])
async def test_a_call_of_nothing(server, model, ask, name):
    server.play(calls(raw_call(name, "{}", "1"), call("log", {"text": "x"}, "2")))
    bad, good = (await ask(model)).calls
    assert (bad.name, bad.args, bad.problem) == ("", None, "the call names no tool")
    assert good.args == {"text": "x"}


async def test_a_call_cut_off_by_the_length_limit_is_refused(server, model, ask):
    made = raw_call("pay", '{"to": "bob", "amount": 1}')
    server.play(calls(made, text="ok"), say("half a", finish_reason="length"))
    assert (await ask(model)).calls[0].args
    server.play(type(made)(tool_calls=made.tool_calls, finish_reason="length"))
    half = await ask(model)
    assert (half.text, half.cut) == ("half a", "the length limit")
    (refused,) = (await ask(model)).calls
    assert refused.args is None
    assert "length limit" in refused.problem


@pytest.mark.parametrize("text", ["Hello.", "<think>I could pay bob.</think>\n\nHello."])
async def test_c075_reasoning_is_neither_shown_nor_kept(server, model, ask, text):
    """Thoughts are neither shown, nor kept, nor sent back."""
    server.play(reasoning("I could pay bob.", say(text)))
    answer = await ask(model)
    assert answer.text == "Hello."
    assert "bob" not in repr(answer) + ask.shown


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "reasoning", "text": "hm"}, {"text": 1}, {"text": "b"}], "ab"),
        ("a\0b\ud800", "a�b�"),
    ],
)
async def test_content_that_is_no_plain_text(server, model, content, text):
    choice = {"message": {"role": "assistant", "content": content}}
    server.play(odd(json.dumps({"choices": [choice], "usage": None, "model": None})))
    answer = await Asking(False)(model)
    assert (answer.text, answer.usage, answer.model_name) == (text, None, MODEL)


async def test_a_refusal_is_text(server, model):
    server.play(odd({"choices": [{"message": {"role": "assistant", "content": None, "refusal": "I won't."}}]}))
    assert (await Asking(False)(model)).text == "I won't."


async def test_a_server_that_does_not_stream_is_understood_too(server, model):
    ask = Asking(True)
    whole = {"choices": [{"message": {"content": "Hello.", "tool_calls": call("pay", {"amount": 1}).tool_calls}}]}
    server.play(odd(json.dumps(whole)))
    answer = await ask(model)
    assert (answer.text, ask.shown, answer.calls[0].args) == ("Hello.", "Hello.", {"amount": 1})


async def test_tokens_are_counted_where_the_server_is_openais(server, tmp_path):
    model = chosen(server, tmp_path)
    model.chat.stream_usage = True
    server.play(say("Hello."))
    assert (await Asking(True)(model)).usage["input_tokens"] > 0


async def test_c026_every_content_is_sent_as_a_string(server, model, ask):
    """Lists of parts and empty contents go to the server as strings."""
    proposal = AIMessage("", tool_calls=[{"name": "pay", "args": {"to": "Zoë", "amount": 1}, "id": "1"}])
    result = ToolMessage(["a", {"type": "text", "text": "b"}], tool_call_id="1")
    said = AIMessage([{"type": "text", "text": "Done."}])
    server.play(say("Fine."))
    await ask(model, [*ASK, proposal, result, said, HumanMessage("thanks")])
    sent = server.last_request["messages"]
    assert [message["content"] for message in sent[2:]] == ["", "ab", "Done.", "thanks"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"to": "Zoë", "amount": 1}


# --- broken answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        odd({"choices": None}),
        odd({"choices": []}),
        odd({"choices": [None]}),
        odd({"error": {"message": "worker died", "code": 502}}, bare=True),
        odd({"error": "worker died"}, bare=True),
        odd({}, bare=True),
        odd([], bare=True),
        odd("<html><head><title>Welcome</title></head></html>"),
        odd('{"choices": ['),
        odd(""),
        cut(),
        cut(60),
    ],
    ids=[
        "null",
        "empty",
        "of null",
        "error",
        "error text",
        "nothing",
        "list",
        "html",
        "half",
        "blank",
        "cut",
        "cut later",
    ],
)
async def test_c072_what_is_no_answer_is_asked_again_and_then_a_clear_error(server, model, ask, broken):
    """An answer without choices, or an error under HTTP 200, is asked again a few times, then a clear error."""
    server.play(broken, say("Hello."))
    assert (await ask(model)).text == "Hello."
    server.play(broken, broken, broken)
    error = await ask.fails(model, UnavailableError)
    assert error.message.endswith("(3 tries)")
    assert len(server.requests) == 5
    assert ask.shown in ("", "Hello.")


async def test_a_page_instead_of_an_answer_says_what_to_check(server, model, ask):
    server.always(odd("<!DOCTYPE html><html><head><title>Log in</title></head><body>secret words</body></html>"))
    error = await ask.fails(model, UnavailableError)
    assert error.code == "model_odd_answer"
    assert "a web page titled 'Log in'" in error.message
    assert "/v1" in error.remedy
    assert "secret words" not in error.message


@pytest.mark.parametrize("after", [300, 500, 700, 900])
async def test_a_stream_that_is_cut_is_never_a_shorter_call(server, model, after):
    ask = Asking(True)
    server.always(cut(after, call("pay", {"to": "bob", "amount": 100000})))
    error = await ask.fails(model, UnavailableError)
    assert error.code in {"model_unreachable", "model_odd_answer"}
    assert len(server.requests) == 3


async def test_a_stream_without_its_end_is_no_answer(server, model):
    """Complete HTTP, and no finish reason: a gateway whose backend died."""
    made = call("pay", {"to": "bob", "amount": 1})
    server.always(type(made)(tool_calls=made.tool_calls))
    assert "cut off" in (await Asking(True).fails(model, UnavailableError)).message


async def test_nothing_is_asked_again_once_text_was_shown(server, model):
    ask = Asking(True)
    server.play(cut(500, say("Hello " * 50)), say("Hello again."))
    await ask.fails(model, UnavailableError)
    assert len(server.requests) == 1
    assert ask.shown.startswith("Hello")


# --- silence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [None, 0, 250])
async def test_c073_silence_ends(server, tmp_path, ask, after):
    """Silence before, between and inside of answers ends with `model_timeout`."""
    model = chosen(server, tmp_path, Limits(idle=0.2, tries=2, first_wait=0.01))
    server.always(silent(after, say("x" * 1000)))
    started = time.monotonic()
    error = await ask.fails(model, UnavailableError)
    assert error.code == "model_timeout"
    assert "timed out" in error.message
    assert 0.3 < time.monotonic() - started < 20
    assert len(server.requests) == 2 or ask.shown


async def test_a_slow_stream_is_no_silence(server, tmp_path):
    ask, idle, args = Asking(True), 3, {"to": "b" * 60, "amount": 1}
    model = chosen(server, tmp_path, Limits(idle=idle))
    server.play(slow(0.4, call("pay", args), each_event=True))
    started = time.monotonic()
    assert (await ask(model)).calls[0].args == args
    assert time.monotonic() - started > idle


async def test_c073_an_answer_that_never_ends_does(server, tmp_path):
    """An answer that never ends is ended too."""
    model = chosen(server, tmp_path, Limits(idle=20, total=0.6))
    server.always(slow(0.05, say("again " * 1000), each_event=True))
    error = await Asking(True).fails(model, UnavailableError)
    assert "within 0.6 seconds" in error.message


async def test_a_cancelled_question_is_cancelled(server, model, ask):
    server.always(silent())
    asking = asyncio.create_task(ask(model))
    await asyncio.to_thread(server.wait_for_requests, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
async def test_c074_trouble_that_passes_is_asked_again(server, model, ask, code):
    """Three tries in one layer, whatever passes."""
    server.play(status(code), status(code), say("Hello."))
    assert (await ask(model)).text == "Hello."
    server.play(*[status(code, "busy")] * 3)
    error = await ask.fails(model, UnavailableError)
    assert f"answered {code}: busy" in error.message
    assert len(server.requests) == 6


async def test_c074_retry_after_is_kept_to(server, model, ask):
    """Retry-After is kept to; a long one is left to the user."""
    server.play(status(429, headers={"Retry-After": "0.3"}), say("Hello."))
    started = time.monotonic()
    assert (await ask(model)).text == "Hello."
    assert 0.3 <= time.monotonic() - started < 20


async def test_a_long_retry_after_is_left_to_the_user(server, model, ask):
    server.always(status(429, "come back later", headers={"Retry-After": "3600"}))
    error = await ask.fails(model, UnavailableError)
    assert error.data == {"retry_after_seconds": 3600}
    assert len(server.requests) == 1


VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


@pytest.mark.parametrize(
    ("answer", "kind", "code", "remedy"),
    [
        (
            status(429, "You exceeded your current quota", error="insufficient_quota"),
            UnavailableError,
            "model_quota",
            "limit",
        ),
        (status(401, f"Incorrect API key provided: {KEY}"), RunFailedError, "model_key_refused", "OPENAI_API_KEY"),
        (status(404, f"The model {MODEL} does not exist"), RunFailedError, "model_not_found", "/v1/models"),
        (status(404, "Not Found"), RunFailedError, "model_address_not_found", "/v1"),
        (status(400, VLLM), RunFailedError, "no_tool_support", "--tool-call-parser"),
        (status(500, "tools param requires --jinja flag"), RunFailedError, "no_tool_support", "--jinja"),
        (status(400, "too long", error="context_length_exceeded"), RunFailedError, "context_too_long", "new thread"),
        (status(400, "no"), RunFailedError, "model_refused_request", "words"),
    ],
    ids=["quota", "key", "model", "address", "vllm", "llama.cpp", "context", "request"],
)
async def test_c069_c074_c076_trouble_that_stays_is_not_asked_again(server, model, ask, answer, kind, code, remedy):
    """What stays wrong is asked once, and the error names the model, the address, and what to set."""
    server.always(answer)
    error = await ask.fails(model, kind)
    assert error.code == code
    assert remedy in error.remedy
    assert len(server.requests) == 1


@pytest.mark.parametrize("key", ["wrong-key", None])
async def test_a_wrong_key_and_none(server, tmp_path, ask, key):
    error = await ask.fails(chosen(server, tmp_path, openai_api_key=key), RunFailedError)
    assert error.code == "model_key_refused"
    assert "wrong-key" not in error.message


async def test_a_wrong_path(server, tmp_path, ask):
    error = await ask.fails(chosen(server, tmp_path, openai_base_url=server.url.removesuffix("/v1")), RunFailedError)
    assert error.code == "model_address_not_found"
    assert "/v1" in error.remedy


async def test_nobody_listens(tmp_path, ask):
    with OpenAIServer() as gone:
        pass
    error = await ask.fails(chosen(gone, tmp_path), UnavailableError)
    assert error.code == "model_unreachable"
    assert gone.url in error.message


async def test_a_host_that_does_not_exist(server, tmp_path, ask):
    error = await ask.fails(chosen(server, tmp_path, openai_base_url="http://nowhere.invalid/v1"), UnavailableError)
    assert error.code in {"model_unreachable", "model_timeout"}
    assert "nowhere.invalid" in error.message


def test_one_model_serves_one_loop_after_another(server, model):
    server.always(say("Hello."))
    for streaming in (False, True, False, True):
        assert asyncio.run(Asking(streaming)(model)).text == "Hello."


async def test_many_questions_at_once(server, model):
    server.always(say("Hello."))
    answers = await asyncio.gather(*(Asking(number % 2)(model) for number in range(20)))
    assert {answer.text for answer in answers} == {"Hello."}


async def test_no_connection_outlives_an_answer(server, model, ask):
    server.play(say("Hello."))
    await ask(model)
    async with asyncio.timeout(5):
        while server._http.connections:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.02)


async def test_a_graph_that_streams_messages_gets_the_same_answer(server, model):
    """LangGraph's `messages` mode turns every question into a streamed one, behind our back."""
    got = []

    async def think(state):
        got.append(await model.answer(ASK, tools=[pay, log]))
        return {}

    builder = StateGraph(dict)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    server.play(calls(call("pay", {"to": "bob", "amount": 1}), raw_call("log", '{"text": "x"', "2"), text="I pay him."))
    streamed = builder.compile().astream({}, stream_mode="messages")
    assert "".join([chunk.text async for chunk, _ in streamed]) == "I pay him."
    assert server.last_request["stream"]
    assert got[0].text == "I pay him."
    assert [(made.name, made.args) for made in got[0].calls] == [("pay", {"to": "bob", "amount": 1}), ("log", None)]


@pytest.mark.parametrize(("steps", "state"), [(slow(0.2, say("word " * 99), each_event=True), "warn"), (silent(), "wrong")])
async def test_doctor_tells_a_slow_model_from_one_that_does_not_answer(server, tmp_path, monkeypatch, steps, state):
    monkeypatch.setattr(doctor, "MODEL_SECONDS", 1.0)
    server.play(steps)
    settings = Settings(home=tmp_path, model=f"openai:{MODEL}", openai_api_key=KEY, openai_base_url=server.url)
    found = await doctor._guarded("model", lambda: doctor._model(settings))
    assert found.state == state and ("had not finished" in found.detail) == (state == "warn")
