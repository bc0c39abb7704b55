"""Which model the settings choose, and how an answer and an error are read."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from graph.answer import Voice, parse_arguments, read_call, spoken
from graph.model import DEFAULT_OPENAI_MODEL, Model, choose_model
from graph.model_errors import Place, diagnose, retry_after
from graph.openai_chat import StreamedAnswer
from graph.settings import Settings
from memory.errors import RunFailedError, UnavailableError, UsageError

LOCAL = "http://127.0.0.1:9/v1"


# --- which model ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "practice"),
        ({"model": "practice"}, "practice"),
        ({"model": "practice", "openai_api_key": "sk-1"}, "practice"),
        ({"openai_api_key": "sk-1"}, f"openai:{DEFAULT_OPENAI_MODEL}"),
        ({"model": "openai:gpt-x", "openai_api_key": "sk-1"}, "openai:gpt-x"),
        ({"model": "openai:llama3.2:3b", "openai_base_url": LOCAL}, "openai:llama3.2:3b"),
    ],
)
def test_chooses(tmp_path, settings, name):
    model = choose_model(Settings(home=tmp_path, **settings))
    assert (model.name, model.is_practice) == (name, name == "practice")
    assert "sk-1" not in repr(model)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"openai_base_url": LOCAL}, ["INTERLOCK_MODEL=openai:NAME", f"{LOCAL}/models"]),
        ({"openai_base_url": "http://user:pass@host/v1"}, ["http://host/v1"]),
        ({"openai_base_url": LOCAL, "openai_api_key": "sk-1"}, ["INTERLOCK_MODEL=openai:NAME"]),
        ({"model": "gpt-x"}, ["provider:model", "'gpt-x'"]),
        ({"model": "openai:"}, ["provider:model"]),
        ({"model": ":x"}, ["provider:model"]),
        ({"model": "openai:gpt-x"}, ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
        ({"model": "openai:x", "openai_base_url": "localhost:11434/v1"}, ["http://", "'localhost:11434/v1'"]),
        ({"model": "openai:x", "openai_base_url": "http:///v1"}, ["name a host"]),
        ({"model": "openai:x", "openai_base_url": "http://[::1/v1"}, ["name a host"]),
        ({"model": "openai:x", "openai_base_url": "http://host:port/v1"}, ["name a host"]),
        ({"model": "anthropic:claude"}, ["langchain", "pip install langchain langchain-anthropic"]),
    ],
)
def test_refuses_settings_that_name_no_model(tmp_path, settings, words):
    with pytest.raises(UsageError) as refused:
        choose_model(Settings(home=tmp_path, **settings))
    said = f"{refused.value.message} {refused.value.remedy}"
    assert "\n" not in said
    assert "pass" not in said.replace("passed", "")
    for word in words:
        assert word in said


LOADED = """
import sys
from pathlib import Path
from graph.model import choose_model
from graph.settings import Settings
choose_model(Settings(home=Path(".")))
print([name for name in ("openai", "langchain_openai", "langgraph") if name in sys.modules])
"""


def test_the_practice_model_loads_no_sdk():
    assert subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "args"),
    [
        ("{}", {}),
        ("", {}),
        (" ", {}),
        (None, {}),
        ('{"a": 1, "b": [true, null, 1.5, "ü😀"]}', {"a": 1, "b": [True, None, 1.5, "ü😀"]}),
        (' {"a": "\\ud83d\\ude00"}\n', {"a": "😀"}),
        (f'{{"a": {2**53 - 1}, "b": -{2**53 - 1}}}', {"a": 2**53 - 1, "b": -(2**53) + 1}),
        ('{"a": {"x": 1}, "b": {"x": 2}}', {"a": {"x": 1}, "b": {"x": 2}}),
    ],
)
def test_reads_arguments(raw, args):
    assert parse_arguments(raw) == (args, None)


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("[1]", "no JSON object"),
        ("123", "no JSON object"),
        ('"x"', "no JSON object"),
        ("null", "no JSON object"),
        ({"a": 1}, "not as text"),
        ([1], "not as text"),
        (123, "not as text"),
        (False, "not as text"),
        ('{"a":1}{"b":2}', "Extra data"),
        ('{"a":1}{"a":1}', "Extra data"),
        ('{"a": 1', "delimiter"),
        ("{'a': 1}", "quotes"),
        ('{"a": "x\ny"}', "control character"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": [-Infinity]}', "-Infinity is no JSON number"),
        ('{"a": 1e400}', "not finite"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ('{"o": {"a": 1, "a": 1}}', "'a' occurs twice"),
        (f'{{"a": {2**53}}}', "beyond"),
        (f'{{"a": [-{2**53}]}}', "beyond"),
        (f'{{"a": {"9" * 5000}}}', "4300"),
        ('{"a": "\\ud83d"}', "lone surrogate"),
        ('{"a\\udc00": 1}', "lone surrogate"),
        ('{"a": "x\\u0000"}', "NUL"),
        ('{"a": ' * 100 + "1" + "}" * 100, "nested too deeply"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_refuses_arguments_and_says_why(raw, word):
    call = read_call("pay", raw)
    assert call.args is None
    assert word in call.problem
    assert len(call.problem) < 600
    assert len(call.raw) < 8200
    json.dumps(call.problem + call.raw, ensure_ascii=False).encode()


@pytest.mark.parametrize("name", [None, "", "  ", 7, {"a": 1}])
def test_refuses_a_call_that_names_no_tool(name):
    call = read_call(name, "{}")
    assert (call.name, call.args, call.problem) == ("", None, "the call names no tool")


@pytest.mark.parametrize(("id", "hint"), [(None, ""), ("", ""), (7, ""), ("c1", "c1"), ("a\0b", "a�b")])
def test_an_id_is_only_a_hint(id, hint):
    assert read_call("pay", "{}", id).id == hint


def test_a_name_is_never_bent_towards_a_tool():
    assert [read_call(name, "{}").name for name in ("pay ", "Pay", "pay\0")] == ["pay ", "Pay", "pay�"]


# --- pieces of a stream -----------------------------------------------------------------------------------------------


def streamed(*deltas, finish="tool_calls"):
    answer = StreamedAnswer()
    text = "".join(answer.add({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas)
    answer.add({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    fields = answer.end()
    calls = [read_call(**call) for call in fields["additional_kwargs"]["raw_calls"]]
    return text + fields["content"], [(call.name, call.args, call.id) for call in calls]


def piece(index=None, id=None, name=None, arguments=None):
    made = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in made.items() if value is not None}


PAY, LOG = ("pay", {"a": 1}, "c1"), ("log", {"b": 2}, "c2")


@pytest.mark.parametrize(
    "deltas",
    [
        [
            [piece(0, "c1", "pay", '{"a"'), piece(1, "c2", "log", '{"b"')],
            [piece(0, arguments=": 1}"), piece(1, arguments=": 2}")],
        ],
        [[piece(0, "c1", "pay", '{"a": 1}'), piece(0, "c2", "log", '{"b": 2}')]],
        [[piece(None, "c1", "pay", '{"a": 1}'), piece(None, "c2", "log", '{"b": 2}')]],
        [[piece(None, "c1", "pay")], [piece(None, None, None, '{"a": 1}')], [piece(None, "c2", "log", '{"b": 2}')]],
        [[piece(0, "c1", "pay", '{"a"')], [piece(0, "c1", "pay", ": 1}")], [piece(1, "c2", "log", '{"b": 2}')]],
        [[piece(0, "c1", "p")], [piece(0, None, "ay", '{"a": 1}')], [piece(1, "c2", "log", '{"b": 2}')]],
    ],
    ids=[
        "several in one chunk",
        "index always 0",
        "no index",
        "no index, in pieces",
        "id and name repeated",
        "name in pieces",
    ],
)
def test_puts_pieces_together(deltas):
    assert streamed(*[{"tool_calls": delta} for delta in deltas]) == ("", [PAY, LOG])


def test_calls_that_cannot_be_told_apart_are_refused_not_merged():
    _, calls = streamed({"tool_calls": [piece(0, None, "pay", '{"a": 1}'), piece(0, None, "pay", '{"a": 2}')]})
    assert [args for _, args, _ in calls] == [None]


def test_a_character_cut_in_two_between_pieces_is_whole_again():
    arguments = (
        {"tool_calls": [piece(0, "c1", "pay", '{"a": "\ud83d')]},
        {"tool_calls": [piece(0, None, None, '\ude00"}')]},
    )
    assert streamed({"content": "a\ud83d"}, {"content": "\ude00b"}, *arguments) == (
        "a😀b",
        [("pay", {"a": "😀"}, "c1")],
    )
    assert streamed({"content": "a\ud83d"}, {"content": "b\0"}, {"content": "\ud83d"})[0] == "a�b��"


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("Hello", "Hello"),
        (" \n x", " \n x"),
        ("<think>pay bob</think>\n\nHello", "Hello"),
        ("\n<think>a</think><think>b</think>Hello", "Hello"),
        ("<think>never closed", ""),
        ("<thi", "<thi"),
        ("<thin> ice", "<thin> ice"),
        ("Use <think>x</think> tags", "Use <think>x</think> tags"),
        ("a\0b", "a�b"),
    ],
)
def test_thoughts_are_not_said(text, said):
    assert spoken(text) == said


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", " ", "\n", "a", "</th", "ink>"])), st.data())
def test_a_text_says_the_same_in_pieces(parts, data):
    text, said = "".join(parts), []
    voice = Voice(said.append)
    while text:
        size = data.draw(st.integers(1, 5))
        voice.say(text[:size])
        text = text[size:]
    voice.end()
    assert "".join(said) == spoken("".join(parts))


# --- other providers --------------------------------------------------------------------------------------------------


class OtherModel(BaseChatModel):
    """A model of another provider: its integration has parsed what it could."""

    message: AIMessage
    chunks: tuple[AIMessageChunk, ...] = ()

    @property
    def _llm_type(self):
        return "other"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.message)])

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        for chunk in self.chunks:
            yield ChatGenerationChunk(message=chunk)


def other(message=None, chunks=()):
    chat = OtherModel(message=message or AIMessage(""), chunks=tuple(chunks))
    return Model("other:m", False, chat, Place("other:m"))


async def test_reads_the_calls_of_another_provider():
    message = AIMessage(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I pay."}],
        tool_calls=[
            {"name": "pay", "args": {"a": 1}, "id": "1"},
            {"name": "pay", "args": {"a": float("nan")}, "id": "2"},
        ],
        invalid_tool_calls=[{"name": "log", "args": '{"b"', "id": "3", "error": "cut"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    )
    answer = await other(message).answer([HumanMessage("x")])
    assert (answer.text, answer.model_name) == ("I pay.", "m")
    assert answer.usage == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert [(call.name, call.args, call.raw) for call in answer.calls] == [
        ("pay", {"a": 1}, '{"a": 1}'),
        ("pay", None, '{"a": NaN}'),
        ("log", None, '{"b"'),
    ]
    assert answer.calls[2].problem == "cut"


async def test_arguments_cut_off_in_a_stream_are_not_completed():
    chunks = [
        AIMessageChunk("", tool_call_chunks=[{"name": "pay", "args": '{"a": 1', "id": "1", "index": 0}]),
        AIMessageChunk("", tool_call_chunks=[{"name": "log", "args": '{"b": 2}', "id": "2", "index": 1}]),
    ]
    answer = await other(chunks=chunks).answer([HumanMessage("x")], on_token=print)
    assert [(call.name, call.args) for call in answer.calls] == [("pay", None), ("log", {"b": 2})]


async def test_a_listener_that_fails_is_not_the_models_trouble():
    def broken(piece):
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        await other(chunks=[AIMessageChunk("a"), AIMessageChunk("b")]).answer([HumanMessage("x")], on_token=broken)


# --- errors -----------------------------------------------------------------------------------------------------------


class ServerError(Exception):
    """The shape that the SDKs share."""

    def __init__(self, status_code, body=None):
        super().__init__(f"Error code: {status_code}")
        self.status_code, self.body = status_code, body


PLACE = Place("openai:m", "http://u:hunter2@host/v1?k=1", ("sk-1", "hunter2"))
VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
UNPAIRED = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."


@pytest.mark.parametrize(
    ("status", "said", "code", "again"),
    [
        (400, VLLM, "no_tool_support", False),
        (500, "tools param requires --jinja flag", "no_tool_support", False),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", "no_tool_support", False),
        (404, "No endpoints found that support tool use", "no_tool_support", False),
        (400, "Function calling is not supported by this model", "no_tool_support", False),
        (400, UNPAIRED, "model_refused_request", False),
        (400, "This model's maximum context length is 4096 tokens.", "context_too_long", False),
        (400, "the request exceeds the available context size", "context_too_long", False),
        (401, "Incorrect API key provided: sk-1", "model_key_refused", False),
        (403, "Forbidden", "model_key_refused", False),
        (404, "The model `m` does not exist", "model_not_found", False),
        (404, "Not Found", "model_address_not_found", False),
        (404, "This model is only supported in v1/responses", "model_not_for_chat", False),
        (402, "Pay first", "model_quota", False),
        (429, "You exceeded your current quota", "model_quota", False),
        (429, "Rate limit reached for m. Visit https://host/account/billing to raise it.", "model_unavailable", True),
        (409, "Conflict", "model_unavailable", True),
        (501, "Not Implemented", "model_unavailable", False),
        (503, "overloaded", "model_unavailable", True),
        (422, "Extra inputs", "model_refused_request", False),
    ],
)
def test_an_error_is_one_line_with_its_remedy(status, said, code, again):
    trouble = diagnose(ServerError(status, {"message": said + "\n", "type": "x"}), PLACE)
    error = trouble.error
    assert (error.code, trouble.again) == (code, again)
    assert error.remedy
    assert "openai:m" in error.message
    assert "http://host/v1" in error.message
    shown = f"{error.message} {error.remedy}"
    assert "\n" not in shown
    assert "sk-1" not in shown
    assert "hunter2" not in shown
    kind = UnavailableError if code in {"model_unavailable", "model_quota"} else RunFailedError
    assert isinstance(error, kind)


def test_a_web_page_is_shown_by_its_title():
    page = "<html><head><title>502 Bad\nGateway</title></head><body><h1>nginx</h1></body></html>"
    message = diagnose(ServerError(502, page), PLACE).error.message
    assert "answered 502: a web page titled" in message
    assert "nginx" not in message


def test_retry_after_is_read_in_every_form():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 25 < retry_after({"retry-after": soon}) <= 30
    assert retry_after({"retry-after": "-5"}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None
