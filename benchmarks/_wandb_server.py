"""A stand-in for W&B's server: says yes to what the real client (0.31) asks, and keeps who asked.

It listens on 127.0.0.1 and prints its port, then one JSON line a request: method, path, key.
"""

from __future__ import annotations

import base64
import http.server
import json
import threading
from typing import Any

RUN = {
    "id": "b1",
    "name": "run",
    "displayName": "run",
    "description": "",
    "config": "{}",
    "sweepName": None,
    "historyLineCount": 0,
    "project": {"id": "p1", "name": "p", "entity": {"id": "e1", "name": "me"}},
}


ONE_LINE = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Its lines are the requests alone."""

    def do_POST(self) -> None:
        body = self.body()
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}  # its file stream is packed
        self.answer(self.answer_to(asked if isinstance(asked, dict) else {}))

    def do_PUT(self) -> None:
        self.body()
        self.answer({})

    def answer_to(self, asked: dict[str, Any]) -> dict[str, Any]:
        query, variables = str(asked.get("query") or ""), asked.get("variables") or {}
        if "upsertBucket" in query:
            return {"data": {"upsertBucket": {"bucket": RUN, "inserted": True}}}
        if "createRunFiles" in query:
            url = f"http://127.0.0.1:{self.server.server_address[1]}/up/"
            files = [{"name": name, "uploadUrl": url + name} for name in variables.get("files") or []]
            return {"data": {"createRunFiles": {"runID": "b1", "uploadHeaders": [], "files": files}}}
        if "viewer" in query:
            teams: dict[str, Any] = {"edges": []}
            return {
                "data": {
                    "viewer": {"id": "u1", "entity": "me", "username": "me", "flags": "{}", "teams": teams}
                }
            }
        return {"data": {}} if query else {"exitcode": None, "limits": {}}

    def body(self) -> bytes:
        said = self.headers.get("Authorization", "")
        key = base64.b64decode(said[6:]).decode() if said.startswith("Basic ") else ""
        with ONE_LINE:
            print(json.dumps([self.command, self.path, key.partition(":")[2]]), flush=True)
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        blocks = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            blocks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(blocks)

    def answer(self, said: dict[str, Any]) -> None:
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
