"""A Hub of a test's own, on the loopback interface."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.hub.folders import CONFIG, MODEL

PATH = f"/{MODEL}/resolve/main/config.json"


class Server:
    """`answers` maps paths to `(status, headers, body)`; `seen` are the requests: `(path, Authorization)`."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.seen: list[tuple[str, str | None]] = []
        self.hold = threading.Event()
        self.hold.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.seen.append((self.path, self.headers.get("Authorization")))
                server.hold.wait(30)
                status, headers, body = server.answers.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.http.server_port}"

    def gives(self, path: str = PATH, status: int = 200, body: bytes | None = None, **headers: str) -> None:
        data = json.dumps(CONFIG).encode() if body is None and status == 200 else body or b""
        self.answers[path] = (status, {name.replace("_", "-"): text for name, text in headers.items()}, data)

    def __enter__(self) -> Server:
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.hold.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
