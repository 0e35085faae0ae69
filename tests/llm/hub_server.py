"""The few answers of the Hugging Face hub that a download needs, over HTTP: for tests."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serving(repository: str, directory: Path) -> Iterator[str]:
    """Serve a model's directory as a repository; gives the endpoint's address."""
    files = {path.name: path for path in directory.iterdir()}

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            name = path.rpartition("/")[2]
            headers = {"X-Repo-Commit": COMMIT}
            if path.startswith(f"/api/models/{repository}/tree/"):
                listing = [{"type": "file", "path": n} | sizes(p) for n, p in files.items()]
                content = json.dumps(listing).encode()
            elif path.startswith(f"/api/models/{repository}"):
                siblings = [{"rfilename": n} | sizes(p) for n, p in files.items()]
                about = {"id": repository, "sha": COMMIT, "siblings": siblings}
                content = json.dumps(about).encode()
            elif path.startswith(f"/{repository}/resolve/") and name in files:
                content = files[name].read_bytes()
                headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
            else:
                missing = not path.startswith("/api/") and name not in files and path != "/"
                self.send_response(200 if path == "/" else 404)
                if path != "/":
                    self.send_header("X-Error-Code", "EntryNotFound" if missing else "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            for header, value in headers.items():
                self.send_header(header, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    def sizes(path: Path) -> dict[str, object]:
        digest = hashlib.sha1(path.read_bytes()).hexdigest()
        return {"size": path.stat().st_size, "oid": digest, "blobId": digest}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
