"""An HTTP server that keeps what it is sent, and refuses as often as it is told to."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@dataclass
class Hook:
    url: str = ""
    refusals: int = 0
    """How many of the next messages are refused."""
    bodies: queue.Queue[bytes] = field(default_factory=queue.Queue)
    headers: list[dict[str, str]] = field(default_factory=list)

    def next(self) -> Any:
        return json.loads(self.bodies.get(timeout=30))


@contextmanager
def listening() -> Iterator[Hook]:
    hook = Hook()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            is_refused, hook.refusals = hook.refusals > 0, max(0, hook.refusals - 1)
            self.send_response(503 if is_refused else 204)
            self.end_headers()
            if not is_refused:
                hook.headers.append({k.lower(): v for k, v in self.headers.items()})
                hook.bodies.put(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Taking)
    hook.url = f"http://127.0.0.1:{server.server_address[1]}/retrain"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
