"""A server of any kind that takes connections and says nothing."""

import socket
import threading


class Silent:
    """Lets go of all connections when it is told to, or at so many of them as `let_go_at` says; and of each at once from then on."""

    def __init__(self, *, let_go_at: int | None = None) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.count, self._let_go_at, self._news = 0, let_go_at, threading.Condition()
        self._open: list[socket.socket] | None = []
        self._taking = threading.Thread(target=self._take, daemon=True)

    def __enter__(self) -> "Silent":
        self._taking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._taking.join(10)

    def wait_for(self, count: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.count >= count, 60)

    def let_go(self) -> None:
        with self._news:
            held, self._open = self._open or [], None
        for one in held:
            one.close()

    def _take(self) -> None:
        while True:
            try:
                one, _ = self._listening.accept()
            except OSError:
                return
            with self._news:
                self.count += 1
                self._news.notify_all()
                gone = self._open is None
                if self._open is not None:
                    self._open.append(one)
            if gone:
                one.close()
            elif self.count == self._let_go_at:
                self.let_go()
