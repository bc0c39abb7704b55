"""langchain-openai's chat model, with the server's answer read as it came.

langchain-openai 1.7 fails with a ValidationError on arguments that are no text, completes arguments that were cut off
in a stream, and takes a stream that broke for one that ended. So the request is langchain-openai's, the transport is
the SDK's, and the answer is read here, into one message that carries its calls unparsed under RAW_CALLS.
Importing this module loads the SDK.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from graph.answer import RAW_CALLS
from graph.model_errors import OddAnswerError
from memory.text import clean

PATH = "/chat/completions"
MOST_TOKENS = 10**12  # a server that counts more, or less than none, does not count

Json = dict[str, Any]


class OpenAIChat(ChatOpenAI):
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        document = await self.root_async_client.post(PATH, body=payload, cast_to=object)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(**read_document(document)))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yields once for every event, so that whoever counts the silence counts the server's."""
        usage = {"stream_options": {"include_usage": True}} if self.stream_usage else {}
        payload = self._get_request_payload(messages, stop=stop, **{**kwargs, **usage, "stream": True})
        stream = await self.root_async_client.post(
            PATH, body=payload, cast_to=object, stream=True, stream_cls=openai.AsyncStream[object]
        )
        async with stream:
            if re.search(r"json|html", stream.response.headers.get("content-type", "")):
                yield _chunk(read_document((await stream.response.aread()).decode(errors="replace")))
                return
            answer = StreamedAnswer()
            async for event in stream:
                chunk = _chunk({"content": answer.add(event)})
                if run_manager and chunk.text:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
            yield _chunk(answer.end())

    def _get_request_payload(self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any) -> Json:
        payload: Json = super()._get_request_payload(input_, stop=stop, **kwargs)
        for message in payload["messages"]:  # some servers take nothing but a string, not even null beside tool calls
            message["content"] = _text(message.get("content"))
        return payload


def _chunk(fields: Json) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(**fields))


def _text(content: Any) -> str:
    """The text of a content that may be null, a string, or a list of parts, some of them thoughts."""
    if isinstance(content, list):
        spoken = (part for part in content if not isinstance(part, dict) or part.get("type", "text") == "text")
        parts = (part.get("text") if isinstance(part, dict) else part for part in spoken)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def read_document(document: Any) -> Json:
    """The fields of the message in a whole answer."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except (ValueError, RecursionError):
            raise OddAnswerError(f"it is no JSON but {document[:2000] or 'empty'}") from None
    choice = _choice(document) or {}
    message = choice.get("message")
    if not isinstance(message, dict):
        raise OddAnswerError("it holds no message")
    calls = [_raw_call(call) for call in _calls(message)]
    return _fields(clean(_paired(_spoken(message))), calls, choice.get("finish_reason"), document)


class StreamedAnswer:
    """Puts the pieces of a stream together. A stream that ends without a finish reason was cut off: it is no answer."""

    def __init__(self) -> None:
        self._calls: list[Json] = []
        self._at: dict[int | None, Json] = {}
        self._half = ""
        self._finish: Any = None
        self._last: Json = {}
        self._usage: Any = None

    def add(self, event: Any) -> str:
        """The text in this event."""
        choice = _choice(event, streamed=True)
        self._last = event
        self._usage = event.get("usage") or self._usage
        if choice is None:
            return ""
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return ""
        for piece in _calls(delta):
            self._add_call(_raw_call(piece), piece.get("index") if isinstance(piece, dict) else None)
        return self._complete(_spoken(delta))

    def _add_call(self, piece: Json, index: Any) -> None:
        """Pieces belong together by their index; a new id is a new call, also where a server does not count."""
        place = index if isinstance(index, int) else None
        call = self._at.get(place)
        same = bool(call and piece["id"] and piece["id"] == call["id"])
        other = bool(call and piece["id"] and call["id"] and not same) or (place is None and piece["name"] and not same)
        if call is None or other:
            call = {**piece, "arguments": []}
            self._at[place] = call
            self._calls.append(call)
        elif piece["name"] != call["name"]:  # some servers repeat it in every piece
            call["name"] = _together([call["name"], piece["name"]])
        call["id"] = call["id"] or piece["id"]
        call["problem"] = call["problem"] or piece["problem"]
        call["arguments"].append(piece["arguments"])

    def _complete(self, text: str) -> str:
        """Holds the first half of a character back until the second half comes."""
        text = _paired(self._half + text)
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean(text.removesuffix(self._half) if self._half else text)

    def end(self) -> Json:
        if not self._last:
            raise OddAnswerError("the stream is empty")
        if not self._finish:
            raise OddAnswerError("the stream was cut off before its end")
        calls = [{**call, "arguments": _together(call["arguments"])} for call in self._calls]
        return _fields(clean(self._half), calls, self._finish, {**self._last, "usage": self._usage})


def _choice(document: Any, *, streamed: bool = False) -> Json | None:
    """The first choice; None where a stream has an event without one (it counts the tokens, or says nothing)."""
    if not isinstance(document, dict):
        raise OddAnswerError(f"it is no JSON object but {json.dumps(document)[:200]}")
    if error := document.get("error"):
        raise OddAnswerError("it is an error", body=error)
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict):
        return first if first.get("index") in (0, None) or not streamed else None
    if streamed:
        return None
    raise OddAnswerError(f"its choices are {json.dumps(choices)[:200]}")


def _calls(message: Json) -> list[Any]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise OddAnswerError("its tool_calls are no list")
    return calls


def _raw_call(call: Any) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return {"id": None, "name": None, "arguments": None, "problem": None}
    kind = call.get("type") or "function"
    problem = None if kind == "function" else f"the call is of type {kind!r}, not 'function'"
    name, arguments = function.get("name"), function.get("arguments")
    return {"id": call.get("id"), "name": name, "arguments": arguments, "problem": problem}


def _together(pieces: list[Any]) -> Any:
    """Pieces of one text; where one is no text, what came, which then is no text either."""
    present = [piece for piece in pieces if piece is not None and piece != ""]
    if all(isinstance(piece, str) for piece in present):
        return _paired("".join(present))
    return present[0] if len(present) == 1 else present


def _paired(text: str) -> str:
    """Joins the two halves of a character that were cut apart between two pieces."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _spoken(message: Json) -> str:
    """What is said to the user, not what was thought (`reasoning_content` and the like)."""
    refusal = message.get("refusal")
    return _text(message.get("content")) or (refusal if isinstance(refusal, str) else "")


def _fields(text: str, calls: list[Json], finish: Any, document: Json) -> Json:
    model = document.get("model")
    name = clean(model) if isinstance(model, str) else ""
    return {
        "content": text,
        "additional_kwargs": {RAW_CALLS: calls},
        "response_metadata": {"finish_reason": str(finish or ""), "model_name": name},
        "usage_metadata": _usage(document.get("usage")),
    }


def _usage(usage: Any) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    asked, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not (isinstance(asked, int) and isinstance(answered, int) and 0 <= min(asked, answered) <= max(asked, answered) <= MOST_TOKENS):
        return None
    return {"input_tokens": asked, "output_tokens": answered, "total_tokens": asked + answered}
