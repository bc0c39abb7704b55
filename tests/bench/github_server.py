"""A server that behaves like GitHub's issues, on a port of 127.0.0.1: its list of issues tells what happened.

    with GitHubServer() as server:
        run(server.environment())
    assert [issue["title"] for issue in server.issues] == ["Login is slow"]
"""

import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

REPO, TOKEN = "acme/shop", "ghs_SENTINEL"
Fault = Callable[["Exchange"], bool]  # handles the request in its own way, or leaves it by returning False


class GitHubServer:
    """`fault` is asked at each request; `issues` are in the order they were created."""

    def __init__(self) -> None:
        self.issues: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.fault: Fault | None = None
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Exchange,), {"github": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def environment(self) -> dict[str, str]:
        return {"INTERLOCK_GITHUB_REPO": REPO, "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.url}

    def add(self, *, title: str = "by hand", body: str | None = None, created_at: str | None = None, **more: Any) -> dict[str, Any]:
        with self.lock:
            number = len(self.issues) + 1
            issue = {
                "number": number, "title": title, "body": body, "labels": [], "state": "open",
                "created_at": created_at or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "html_url": f"https://github.example/{REPO}/issues/{number}", **more,
            }  # fmt: skip
            self.issues.append(issue)
            return issue

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer. The verbs that faults are made of: `answer`, `create`, `lose`, `stay_silent`."""

    github: GitHubServer
    protocol_version = "HTTP/1.1"
    timeout = 30
    document: Any = None

    def do_GET(self) -> None:
        self._handle(self._list)

    def do_POST(self) -> None:
        self.document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._handle(lambda: self.answer(201, self.create()))

    def answer(self, status: int, document: Any, **headers: str) -> bool:
        raw = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)
        return True

    def create(self) -> dict[str, Any]:
        return self.github.add(title=self.document["title"], body=self.document["body"], labels=self.document["labels"])

    def lose(self) -> bool:
        """Closes the connection without an answer."""
        self.close_connection = True
        return True

    def stay_silent(self) -> bool:
        self.github.closing.wait(20)
        return self.lose()

    def _handle(self, usual: Callable[[], object]) -> None:
        self.github.requests.append(f"{self.command} {self.path}")
        with suppress(ConnectionError):
            if self.github.fault and self.github.fault(self):
                return
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                self.answer(401, {"message": "Bad credentials"})
            elif not re.fullmatch(rf"/repos/{REPO}/issues", urlsplit(self.path).path):
                self.answer(404, {"message": "Not Found"})
            else:
                usual()

    def _list(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        size, page = int(asked.get("per_page", "30")), int(asked.get("page", "1"))
        assert (asked.get("sort"), asked.get("direction")) == ("created", "desc")
        found = [one for one in self.github.issues if asked.get("state") == "all" or one["state"] == "open"]
        found = [one for one in found if one.get("updated_at", one["created_at"]) >= asked.get("since", "")]
        found.sort(key=lambda one: (one["created_at"], one["number"]), reverse=True)
        here = found[(page - 1) * size : page * size]
        more = {"Link": f'<{self.github.url}/x?page={page + 1}>; rel="next"'} if page * size < len(found) else {}
        self.answer(200, here, **more)

    def log_message(self, format: str, *args: Any) -> None:
        pass
