"""From settings to a memory: which embedder, which store, how patient. Another provider is a row in `memory.embedders`."""

from pathlib import Path

from memory.careful import Memory
from memory.embedders import Keys, choose_embedder
from memory.errors import UnavailableError
from memory.qdrant.store import QdrantEpisodes

OFF = "off"
SERVER_SECONDS, LOCAL_SECONDS = 10.0, 60.0  # a folder that is there is being read, however much is in it; a server may be gone


def choose_memory(
    home: Path, embeddings: str | None, keys: Keys, *, qdrant_url: str | None = None, qdrant_key: str | None = None
) -> Memory | None:
    """None where it is turned off. Asks nobody and imports nothing heavy; UsageError for a setting that cannot be meant."""
    if embeddings == OFF:
        return None
    pauses = home / "memory-pauses.json"
    try:
        embedder = choose_embedder(embeddings, keys)
    except UnavailableError as error:
        return Memory(None, pauses, error)
    if qdrant_url:
        return Memory(QdrantEpisodes(embedder, url=qdrant_url, key=qdrant_key), pauses, seconds=SERVER_SECONDS)
    seconds = LOCAL_SECONDS if embedder.is_local else SERVER_SECONDS
    return Memory(QdrantEpisodes(embedder, folder=home / "memory"), pauses, seconds=seconds)
