"""A strict OpenAI-compatible server on a port of 127.0.0.1: chat completions (whole and streamed), models, embeddings.

It answers 400, in OpenAI's shape, to every history a strict server would refuse, and otherwise what its script says:

    with OpenAIServer([call("deploy_code", {"project_id": "web"}), say("Deployed.")]) as server:
        run(server.environment())
    assert server.refusals == []

A step of a script is a Reply, or a function from the request to a Reply; a refused request uses up no step.
"""

import base64
import hashlib
import itertools
import json
import math
import re
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

MODEL = "test-model"
KEY = "test-key"
DIMENSIONS = 32
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ROLES = {"system", "developer", "user", "assistant", "tool"}
MISSING: Any = object()

Json = dict[str, Any]
_numbers = itertools.count(1)


# --- what a script says ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """One answer. The builders below make them; `delay` and `pause` (before each event of a stream) are seconds."""

    content: str | None = None
    tool_calls: tuple[Json, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    overlay: Mapping[str, Any] = field(default_factory=dict)
    document: Any = MISSING  # sent instead of everything above; a str is sent as it is
    delay: float = 0
    pause: float = 0
    ending: Literal["complete", "close", "hold"] = "complete"
    after_bytes: int | None = None  # of the body, before the ending; None: not even headers


Step = Reply | Callable[[Json], Reply]


def say(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(content=text, finish_reason=finish_reason)


def call(name: str, arguments: Mapping[str, Any] | None = None, id: str | None = None) -> Reply:
    """One tool call; without `id` it gets one that no other call has."""
    return raw_call(name, json.dumps(arguments or {}, ensure_ascii=False), id or f"call_{next(_numbers):06d}")


def raw_call(name: Any, arguments: Any, id: Any = "c1") -> Reply:
    """A call as a bad server sends it: arguments of any type or broken text, `id` and `name` empty, None or MISSING."""
    function = {"name": name, "arguments": arguments}
    function = {key: value for key, value in function.items() if value is not MISSING}
    made = {"type": "function", "function": function} | ({} if id is MISSING else {"id": id})
    return Reply(tool_calls=(made,), finish_reason="tool_calls")


def calls(*replies: Reply, text: str | None = None) -> Reply:
    """Several calls in one message, with `text` beside them."""
    return Reply(content=text, tool_calls=sum((r.tool_calls for r in replies), ()), finish_reason="tool_calls")


def reasoning(thoughts: str, reply: Reply) -> Reply:
    """`reply` with `reasoning_content`, as endpoints of thinking models send it."""
    return replace(reply, reasoning=thoughts)


def status(
    code: int, message: str = "(scripted error)", *, headers: Mapping[str, str] | None = None, error: str | None = None
) -> Reply:
    """An HTTP error; `error` is its machine-readable code, such as "insufficient_quota"."""
    return Reply(status=code, headers=headers or {}, document=_error(message, code=error))


def slow(seconds: float, reply: Reply, *, each_event: bool = False) -> Reply:
    """`reply` after a pause, or with one before each event of its stream."""
    return replace(reply, pause=seconds) if each_event else replace(reply, delay=seconds)


def silent(after_bytes: int | None = None, reply: Reply | None = None) -> Reply:
    """Accepts and never answers; or sends headers and that many bytes of `reply`, and then nothing more."""
    return replace(reply or say("never heard"), ending="hold", after_bytes=after_bytes)


def cut(after_bytes: int | None = None, reply: Reply | None = None) -> Reply:
    """Closes the connection before any answer; or in the middle of `reply`, after that many bytes of its body."""
    return replace(reply or say("cut off in the middle"), ending="close", after_bytes=after_bytes)


def odd(document: Any, *, bare: bool = False) -> Reply:
    """A 200 with keys overlaid on an ordinary answer (`odd({"choices": None})`); `bare` or a str: exactly that body."""
    if bare or isinstance(document, str):
        return Reply(document=document)
    return replace(say("odd"), overlay=document)


def by_turn(*replies: Reply) -> Callable[[Json], Reply]:
    """The n-th reply to a history with n assistant messages: a process that died and asks again is told the same."""

    def choose(request: Json) -> Reply:
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        return replies[turn] if turn < len(replies) else _exhausted(f"by_turn has no reply number {turn}")

    return choose


def _exhausted(why: str) -> Reply:
    return status(500, f"(script exhausted) {why}", headers={"x-should-retry": "false"}, error="script_exhausted")


def _error(message: str, param: str | None = None, code: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


# --- what is refused ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """How strict the server is, beyond what every server refuses."""

    allow_null_content: bool = True  # on an assistant message with tool calls, and nowhere else
    call_order: bool = False  # tool messages in the order of their calls
    user_first: bool = False  # after the system messages
    parsable_arguments: bool = False  # arguments in the history must be JSON objects, as vLLM and llama.cpp want them
    reasoning_back: Literal["ignored", "required", "refused"] = "ignored"  # reasoning_content of assistant messages
    context_limit: int | None = None  # characters of the request


@dataclass(frozen=True)
class Refusal:
    message: str
    param: str | None
    request: Any


class _Refused(Exception):  # noqa: N818 - a verdict, not a failure
    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.param, self.code = message, param, code


def _require(condition: object, message: str, param: str | None = None) -> None:
    if not condition:
        raise _Refused(message, param)


def check_chat(request: Any, rules: Rules) -> None:
    _require(isinstance(request, dict), "The body must be a JSON object.")
    _check_text(request)
    _require(isinstance(request.get("model"), str) and request["model"], "you must provide a model parameter", "model")
    messages = request.get("messages")
    _require(isinstance(messages, list) and messages, "'messages' must be a list that is not empty.", "messages")
    if rules.context_limit is not None and len(json.dumps(messages, ensure_ascii=False)) > rules.context_limit:
        raise _Refused("This model's maximum context length is exceeded.", "messages", "context_length_exceeded")
    for position, message in enumerate(messages):
        _check_message(message, f"messages.[{position}]", rules)
    _check_pairs(messages, rules)
    if rules.user_first:
        first = next((m["role"] for m in messages if m["role"] not in {"system", "developer"}), None)
        _require(first == "user", "The first message after the system messages must be the user's.", "messages")
    _check_tools(request)


def _check_text(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise _Refused("The body holds a lone surrogate, which is no valid Unicode.") from None
    except ValueError:
        raise _Refused("The body holds NaN or Infinity, which is no valid JSON.") from None


def _check_message(message: Any, at: str, rules: Rules) -> None:
    _require(isinstance(message, dict), "A message must be an object.", at)
    role, content = message.get("role"), message.get("content")
    _require(isinstance(role, str) and role in ROLES, f"Invalid value for role: {role!r}.", f"{at}.role")
    may_call = role == "assistant" or "tool_calls" not in message
    _require(may_call, "Only the assistant may call tools.", f"{at}.tool_calls")
    if content is None and message.get("tool_calls"):
        _require(rules.allow_null_content, "content must be a string, got null.", f"{at}.content")
    else:
        _require(isinstance(content, str), f"content must be a string, got {type(content).__name__}.", f"{at}.content")
    if role == "assistant":
        _check_assistant(message, at, rules)
    if role == "tool":
        answered = message.get("tool_call_id")
        _require(isinstance(answered, str) and answered, "A tool message needs a tool_call_id.", f"{at}.tool_call_id")


def _check_assistant(message: Json, at: str, rules: Rules) -> None:
    _require("function_call" not in message, "function_call is not supported.", f"{at}.function_call")
    if rules.reasoning_back != "ignored":
        given = bool(message.get("reasoning_content"))
        wanted = rules.reasoning_back == "required"
        _require(given == wanted, f"reasoning_content is {rules.reasoning_back} here.", f"{at}.reasoning_content")
    if "tool_calls" not in message:
        return
    made = message["tool_calls"]
    _require(isinstance(made, list) and made, "tool_calls must be a list that is not empty.", f"{at}.tool_calls")
    for position, one in enumerate(made):
        _check_call(one, f"{at}.tool_calls[{position}]", rules)
    ids = [one["id"] for one in made]
    _require(len(set(ids)) == len(ids), f"Duplicate tool call ids: {ids}.", f"{at}.tool_calls")


def _check_call(made: Any, at: str, rules: Rules) -> None:
    _require(isinstance(made, dict) and made.get("type") == "function", "A tool call has type 'function'.", at)
    _require(isinstance(made.get("id"), str) and made["id"], "A tool call needs an id that is not empty.", f"{at}.id")
    function = made.get("function")
    _require(isinstance(function, dict), "A tool call needs a function.", f"{at}.function")
    name, arguments = function.get("name"), function.get("arguments")
    _require(isinstance(name, str) and NAME.fullmatch(name), f"Invalid function name: {name!r}.", f"{at}.function.name")
    at = f"{at}.function.arguments"
    _require(isinstance(arguments, str), f"arguments must be a string, got {type(arguments).__name__}.", at)
    if rules.parsable_arguments:
        parsed = None
        with suppress(ValueError):
            parsed = json.loads(arguments)
        _require(isinstance(parsed, dict), f"arguments are no JSON object: {arguments[:80]!r}.", at)


def _check_pairs(messages: list[Json], rules: Rules) -> None:
    """Each call has exactly one tool message, directly after the message that made it."""
    unanswered: list[str] = []
    for position, message in enumerate(messages):
        at = f"messages.[{position}]"
        if message["role"] != "tool":
            _check_answered(unanswered, at)
            unanswered = [made["id"] for made in message.get("tool_calls", [])]
            continue
        answered = message["tool_call_id"]
        if answered not in unanswered:
            raise _Refused(
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls': "
                f"{answered!r} was not called there, or was answered already.",
                at,
            )
        in_order = answered == unanswered[0] or not rules.call_order
        _require(in_order, f"Tool messages must keep the order of the calls: {unanswered[0]!r} is next.", at)
        unanswered.remove(answered)
    _check_answered(unanswered, f"messages.[{len(messages)}]")


def _check_answered(unanswered: list[str], at: str) -> None:
    _require(
        not unanswered,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(unanswered)}",
        at,
    )


def _check_tools(request: Json) -> None:
    if "tools" not in request:
        _require("tool_choice" not in request, "tool_choice is only allowed when tools are given.", "tool_choice")
        return
    tools = request["tools"]
    _require(isinstance(tools, list) and tools, "tools must be a list that is not empty.", "tools")
    names = set()
    for position, tool in enumerate(tools):
        at = f"tools[{position}].function"
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        _require(isinstance(function, dict), "A tool has type 'function' and a function.", f"tools[{position}]")
        name, parameters = function.get("name"), function.get("parameters", {})
        _require(isinstance(name, str) and NAME.fullmatch(name), f"Invalid tool name: {name!r}.", f"{at}.name")
        _require(name not in names, f"Two tools are named {name!r}.", f"{at}.name")
        _require(isinstance(parameters, dict), "parameters must be a JSON schema.", f"{at}.parameters")
        names.add(name)


# --- how an answer looks --------------------------------------------------------------------------------------------


def _usage(request: Json, reply: Reply) -> Json:
    asked = len(json.dumps(request["messages"])) // 4 + 1
    answered = len(json.dumps([reply.content, reply.tool_calls])) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _head(request: Json, kind: str) -> Json:
    return {"id": f"chatcmpl-{next(_numbers)}", "object": kind, "created": 1_700_000_000, "model": request["model"]}


def _completion(request: Json, reply: Reply) -> bytes:
    message: Json = {"role": "assistant", "content": reply.content}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = list(reply.tool_calls)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}
    answer = {**_head(request, "chat.completion"), "choices": [choice], "usage": _usage(request, reply)}
    return json.dumps({**answer, **reply.overlay}, ensure_ascii=False).encode()


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant", "content": None if reply.content is None else ""}
    for piece in re.findall(r"\S+\s*|\s+", reply.reasoning or ""):
        yield {"reasoning_content": piece}
    for piece in re.findall(r"\S+\s*|\s+", reply.content or ""):
        yield {"content": piece}
    for index, made in enumerate(reply.tool_calls):
        arguments = made["function"].get("arguments", MISSING)
        if not isinstance(arguments, str):
            yield {"tool_calls": [{"index": index, **made}]}
            continue
        yield {"tool_calls": [{"index": index, **made, "function": {**made["function"], "arguments": ""}}]}
        for start in range(0, len(arguments), 8):
            yield {"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + 8]}}]}


def _events(request: Json, reply: Reply) -> Iterator[bytes]:
    """The server-sent events of a streamed answer."""
    if reply.document is not MISSING:
        yield b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(reply.document).encode()
        return
    head = _head(request, "chat.completion.chunk")
    counted = bool((request.get("stream_options") or {}).get("include_usage"))
    usage = {"usage": None} if counted else {}

    def event(choices: list[Json], usage: Json = usage) -> bytes:
        return b"data: %s\n\n" % json.dumps({**head, "choices": choices, **usage, **reply.overlay}).encode()

    for delta in _deltas(reply):
        yield event([{"index": 0, "delta": delta, "finish_reason": None}])
    yield event([{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
    if counted:
        yield event([], {"usage": _usage(request, reply)})
    yield b"data: [DONE]\n\n"


def embed(text: str) -> list[float]:
    """Texts that share words are near each other; the same text has the same vector on every machine."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        vector[digest[0] % DIMENSIONS] += 1 if digest[1] % 2 else -1
    vector[-1] += 0.01  # never the zero vector, which has no direction
    length = math.hypot(*vector)
    return [number / length for number in vector]


def _embeddings(request: Any) -> Json:
    _require(isinstance(request, dict), "The body must be a JSON object.")
    _check_text(request)
    texts = [request["input"]] if isinstance(request.get("input"), str) else request.get("input")
    usable = isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)
    _require(usable, "input must be a string or a list of strings, none of them empty; no token arrays.", "input")
    packed = request.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        vector: Any = embed(text)
        if packed:
            vector = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "data": data, "model": request.get("model"), "usage": usage}


# --- the server -----------------------------------------------------------------------------------------------------


class OpenAIServer:
    """`requests` holds the body of every chat request, refused ones too, `headers` theirs; `rules` may be replaced."""

    def __init__(self, script: Sequence[Step] | Callable[[Json], Reply] = (), *, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.embedding_requests: list[Any] = []
        self.refusals: list[Refusal] = []
        self.unexpected: list[Json] = []  # well-formed requests for which the script had nothing left
        self._script: list[Step] = []
        self._always: Callable[[Json], Reply] | None = None
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self.always(script) if callable(script) else self.play(*script)

    def play(self, *steps: Step) -> Self:
        """Adds steps to the end of the script."""
        with self._changed:
            self._script.extend(steps)
        return self

    def always(self, answer: Step | None) -> Self:
        """What to answer when the script is used up, as often as asked."""
        self._always = (lambda _: answer) if isinstance(answer, Reply) else answer
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": KEY, "INTERLOCK_MODEL": f"openai:{MODEL}"}

    @property
    def last_request(self) -> Json:
        assert self.requests, "the model server was asked nothing"
        return self.requests[-1]

    def last_tool_messages(self) -> list[Json]:
        """The tool messages of the last request that answer its last assistant message."""
        found: list[Json] = []
        for message in reversed(self.last_request["messages"]):
            if message["role"] == "assistant":
                break
            if message["role"] == "tool":
                found.insert(0, message)
        return found

    def wait_for_requests(self, count: int, timeout: float = 30) -> None:
        """Until `count` chat requests have come in all."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, timeout)
        assert came, f"{len(self.requests)} of {count} requests came within {timeout} s"

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Closes every connection, the silent ones too."""
        self._closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()
        self._http.hang_up()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Called by the connections' threads.

    def answer_chat(self, request: Any, headers: dict[str, str]) -> Reply:
        with self._changed:
            self.requests.append(request)
            self.headers.append(headers)
            self._changed.notify_all()
            try:
                check_chat(request, self.rules)
            except _Refused as error:
                return self.refuse(error, request)
            step = self._script.pop(0) if self._script else self._always
        try:
            reply = step(request) if callable(step) else step
        except Exception as error:
            reply = _exhausted(f"the script failed: {error!r}")
        if reply is None or reply.headers.get("x-should-retry") == "false":
            self.unexpected.append(request)
        return reply or _exhausted(f"nothing left for request {len(self.requests)}")

    def answer_embeddings(self, request: Any) -> Reply:
        self.embedding_requests.append(request)
        try:
            return Reply(document=_embeddings(request))
        except _Refused as error:
            return self.refuse(error, request)

    def refuse(self, error: _Refused, request: Any) -> Reply:
        self.refusals.append(Refusal(error.message, error.param, request))
        return Reply(status=400, document=_error(error.message, error.param, error.code))

    def pause(self, seconds: float | None) -> bool:
        """Waits, or for ever with None; True if the server is closing."""
        return self._closing.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bench: OpenAIServer) -> None:
        self.bench = bench
        self.connections: dict[socket.socket, threading.Thread] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks the name service, which can take seconds
        self.server_name, self.server_port = self.server_address[:2]

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.connections[request] = threading.current_thread()
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.pop(request, None)

    def hang_up(self) -> None:
        for connection, thread in list(self.connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(2)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of many tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        card = {"id": MODEL, "object": "model", "created": 1_700_000_000, "owned_by": "bench"}
        if path == "/v1/models":
            self._send({}, Reply(document={"object": "list", "data": [card]}))
        elif path == f"/v1/models/{MODEL}":
            self._send({}, Reply(document=card))
        else:
            self._send({}, self._unknown_path())

    def do_POST(self) -> None:
        bench = self.server.bench
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            return None  # the client died between its headers and its body: no request was made
        path = self.path.partition("?")[0]
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            message = "Incorrect API key provided."
            return self._send({}, Reply(status=401, document=_error(message, code="invalid_api_key")))
        if path not in {"/v1/chat/completions", "/v1/embeddings"}:
            return self._send({}, self._unknown_path())
        try:
            request = json.loads(body.decode())
        except ValueError as error:
            return self._send({}, bench.refuse(_Refused(f"The body is no JSON in UTF-8: {error}"), body))
        if path == "/v1/embeddings":
            return self._send({}, bench.answer_embeddings(request))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self._send(request, bench.answer_chat(request, headers))

    def _unknown_path(self) -> Reply:
        message = f"Invalid URL ({self.command} {self.path}): here are chat completions, models and embeddings."
        return Reply(status=404, document=_error(message, code="unknown_url"))

    def _send(self, request: Any, reply: Reply) -> None:
        bench = self.server.bench
        if reply.delay and bench.pause(reply.delay):
            self.close_connection = True
        elif reply.ending != "complete" and reply.after_bytes is None:
            self._end(reply)
        elif reply.status == 200 and not isinstance(reply.document, str) and request and request.get("stream"):
            self._send_stream(reply, _events(request, reply))
        elif reply.document is MISSING:
            self._send_whole(reply, _completion(request, reply))
        else:
            as_is = isinstance(reply.document, str)
            self._send_whole(reply, (reply.document if as_is else json.dumps(reply.document)).encode())

    def _send_whole(self, reply: Reply, body: bytes) -> None:
        plain = isinstance(reply.document, str)
        self._send_head(reply, "text/html" if plain else "application/json", {"Content-Length": str(len(body))})
        self.wfile.write(body if reply.ending == "complete" else body[: reply.after_bytes])
        self._end(reply)

    def _send_stream(self, reply: Reply, events: Iterator[bytes]) -> None:
        self._send_head(reply, "text/event-stream", {"Transfer-Encoding": "chunked", "Cache-Control": "no-cache"})
        left = math.inf if reply.ending == "complete" else reply.after_bytes or 0
        for event in events:
            part = event if len(event) <= left else event[: int(left)]
            if not part:
                break
            if reply.pause and self.server.bench.pause(reply.pause):
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            left -= len(part)
        if reply.ending == "complete":
            self.wfile.write(b"0\r\n\r\n")
        self._end(reply)

    def _send_head(self, reply: Reply, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": content_type, **headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _end(self, reply: Reply) -> None:
        if reply.ending == "hold":
            self.server.bench.pause(None)
        self.close_connection = self.close_connection or reply.ending != "complete"
