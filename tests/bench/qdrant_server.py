"""A Qdrant server for tests: the REST calls that we use, answered by the client's own local mode, as strict as a server in strict mode.

    with closing(QdrantServer()) as server: ...

It refuses a filter on a key without an index. It can fall silent, or answer with an error; then every call meets that.
"""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models
from qdrant_client.http.models import (
    ChangeAliasesOperation,
    CountRequest,
    CreateCollection,
    PointIdsList,
    PointRequest,
    PointsList,
    QueryRequest,
    ScrollRequest,
)


class QdrantServer:
    """`calls` are (method, path) of every request; `key` is wanted of every one, where it is set."""

    def __init__(self, *, key: str | None = None, version: str = "1.16.3") -> None:
        self.key, self.version = key, version
        self.calls: list[tuple[str, str]] = []
        self.indexes: set[tuple[str, str]] = set()
        self.silent, self.status = False, 200
        self._client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self._one_at_a_time = threading.Lock()
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.calls.append((self.command, self.path))
                if server.silent:
                    server._closing.wait()
                    self.close_connection = True
                    return
                status, document = server._answer(self.command, self.path.partition("?")[0], body, self.headers.get("api-key"))
                answer = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 - the names of the base class

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, method: str, path: str, body: bytes, key: str | None) -> tuple[int, Any]:
        if self.status != 200:
            return self.status, {"status": {"error": "(scripted error)"}, "time": 0}
        if self.key and key != self.key:
            return 403, {"status": {"error": "Invalid API key"}, "time": 0}
        if (method, path) == ("GET", "/"):
            return 200, {"title": "qdrant - vector search engine", "version": self.version}
        try:
            with self._one_at_a_time:
                result = self._result(method, path, body)
        except ValueError as error:
            return 400 if "Bad request" in str(error) else 404, {"status": {"error": str(error)}, "time": 0}
        return 200, {"result": _plain(result), "status": "ok", "time": 0.0}

    def _result(self, method: str, path: str, body: bytes) -> Any:
        for wanted, pattern, act in self._routes():
            found = re.fullmatch(pattern, path)
            if wanted == method and found:
                return act(*found.groups(), body)
        raise ValueError(f"Not found: {method} {path}")

    def _routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        client, at = self._client, "/collections/([^/]+)"
        return [
            ("GET", f"{at}/exists", lambda name, _: {"exists": client.collection_exists(self._real(name))}),
            ("GET", at, lambda name, _: client.get_collection(self._real(name))),
            ("PUT", at, self._create),
            ("DELETE", at, lambda name, _: client.delete_collection(name)),
            ("GET", "/aliases", lambda _: client.get_aliases()),
            ("POST", "/collections/aliases", self._alias),
            ("PUT", f"{at}/index", self._index),
            ("PUT", f"{at}/points", lambda name, body: client.upsert(name, PointsList.model_validate_json(body).points)),
            ("POST", f"{at}/points/query", self._query),
            ("POST", f"{at}/points/scroll", self._scroll),
            ("POST", f"{at}/points/count", self._count),
            ("POST", f"{at}/points", self._retrieve),
            ("POST", f"{at}/points/delete", lambda name, body: client.delete(name, PointIdsList.model_validate_json(body))),
        ]

    def _create(self, name: str, body: bytes) -> bool:
        wanted = CreateCollection.model_validate_json(body)
        return self._client.create_collection(name, vectors_config=wanted.vectors, metadata=wanted.metadata)

    def _alias(self, body: bytes) -> bool:
        return self._client.update_collection_aliases(ChangeAliasesOperation.model_validate_json(body).actions)

    def _index(self, name: str, body: bytes) -> Any:
        self.indexes.add((name, json.loads(body)["field_name"]))
        return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)

    def _query(self, name: str, body: bytes) -> Any:
        asked = QueryRequest.model_validate_json(body)
        self._check(name, asked.filter)
        return self._client.query_points(name, asked.query, query_filter=asked.filter, limit=asked.limit or 10, with_payload=True)

    def _scroll(self, name: str, body: bytes) -> Any:
        asked = ScrollRequest.model_validate_json(body)
        self._check(name, asked.filter)
        if asked.order_by:
            self._indexed(name, asked.order_by.key)
        points, after = self._client.scroll(
            name, asked.filter, limit=asked.limit or 10, order_by=asked.order_by, offset=asked.offset, with_payload=True
        )
        return {"points": _plain(points), "next_page_offset": after}

    def _count(self, name: str, body: bytes) -> Any:
        asked = CountRequest.model_validate_json(body)
        self._check(name, asked.filter)
        return self._client.count(name, asked.filter)

    def _retrieve(self, name: str, body: bytes) -> Any:
        asked = PointRequest.model_validate_json(body)
        return self._client.retrieve(name, asked.ids, with_payload=bool(asked.with_payload))

    def _check(self, name: str, filter: Any) -> None:
        for condition in (filter.must or []) if filter else []:
            self._indexed(name, condition.key)

    def _indexed(self, name: str, key: str) -> None:
        if (self._real(name), key) not in self.indexes:
            raise ValueError(f"Bad request: Index required but not found for {key!r}")

    def _real(self, name: str) -> str:
        behind = {one.alias_name: one.collection_name for one in self._client.get_aliases().aliases}
        return behind.get(name, name)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value
