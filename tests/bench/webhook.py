"""A service that gets messages: a web server on this machine that keeps what it is sent, and answers as it is told, or not at all."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Webhook:
    """`answers` are the statuses of the next requests, then 200; None stands for silence until it is closed."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.answers: list[int | None] = []
        self._changed = threading.Condition()
        self._closed = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with hook._changed:
                    hook.received.append(body)
                    answer = hook.answers.pop(0) if hook.answers else 200
                    hook._changed.notify_all()
                if answer is None:
                    hook._closed.wait()
                    return
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """For apprise, with a password that must stand nowhere."""
        return f"json://hook:{SECRET}@127.0.0.1:{self._server.server_port}/in"

    def wait_for(self, count: int, timeout: float = 60) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, timeout), f"{len(self.received)} of {count} messages came"

    def titles(self) -> list[str]:
        return [message["title"] for message in self.received]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


SECRET = "hush-hush-5309"
