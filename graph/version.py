"""Stored with each thread and approval. It changes when paused threads of the version before could not go on as they are."""

GRAPH_VERSION = "1"
