"""A tool server over real HTTP whose path selects its behaviour."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Handler(BaseHTTPRequestHandler):
    """Answers as the path says: /well, /redirect, /refuse, /compress, /large, /hang, /broken, /sse."""

    protocol_version = "HTTP/1.1"
    server: HttpServer

    def do_POST(self) -> None:
        if self.server.over.is_set():  # a connection that outlived its server
            self.close_connection = True
            return
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers.items()), asked))
        if "id" not in asked:
            self._send(202, b"")
        elif self.path == "/redirect":
            self._send(307, b"", Location=f"http://{self.headers['Host']}/well")
        elif self.path == "/refuse":
            self._send(401, b"")
        else:
            self._answer(asked)

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET  # noqa: N815

    def _answer(self, asked: dict[str, Any]) -> None:
        called = asked["method"] == "tools/call"
        told = {"jsonrpc": "2.0", "id": asked["id"], **result(asked)}
        body = json.dumps(told).encode()
        match self.path:
            case "/compress":
                self._send(200, gzip.compress(body), **{"Content-Encoding": "gzip"})
            case "/large" if called:
                self._pour()
            case "/hang" if called:
                self.server.over.wait()
            case "/broken" if called:
                self._send(200, b"{ this is no JSON")
            case "/sse":
                event = b"event: message\ndata: " + body + b"\n\n"
                self._send(200, event, **{"Content-Type": "text/event-stream"})
            case _:
                self._send(200, body)

    def _pour(self) -> None:
        """Send an endless response until the client disconnects."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(2**40))
        self.end_headers()
        try:
            while not self.server.over.is_set():
                self.wfile.write(b" " * 65536)
                self.server.poured += 65536
        except OSError:
            self.close_connection = True

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Log nothing."""


class HttpServer(ThreadingHTTPServer):
    """`seen` has the requests: paths, headers, messages."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.over = threading.Event()
        self.poured = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


def result(asked: dict[str, Any]) -> dict[str, Any]:
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            about = {"protocolVersion": version, "capabilities": {"tools": {}}}
            return {"result": {**about, "serverInfo": {"name": "test", "version": "1"}}}
        case "tools/list":
            return {
                "result": {"tools": [{"name": "echo", "description": "Say it again.", "inputSchema": TEXT}]}
            }
        case "tools/call":
            text = asked["params"]["arguments"]["text"]
            return {"result": {"content": [{"type": "text", "text": text}]}}
    return {"error": {"code": -32601, "message": "no such method"}}


@contextmanager
def http_server(port: int = 0) -> Iterator[HttpServer]:
    server = HttpServer(port)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        serving.join()
        server.server_close()
