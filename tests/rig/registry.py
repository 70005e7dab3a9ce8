"""A registry of images on the rig, of the standard library: what a pull by tag and by digest needs of the HTTP API V2.

    python -m tests.rig.registry FOLDER PORT

FOLDER holds blobs/sha256/<digest>, tags.json (tag → digest) and asked.log, a line for each request: client, path.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.rig.rig import CTL_ADDRESS, ROOT, Rig

PORT = 5000
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


class Registry:
    """The desk's side: images go in, requests come out."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)
        (folder / "asked.log").touch()
        self.tags: dict[str, str] = {}

    def add(self, saved: bytes) -> str:
        """Takes an image in as `docker save` wrote it; the digest of its manifest."""
        with tarfile.open(fileobj=io.BytesIO(saved)) as archive:

            def read(name: str) -> bytes:
                file = archive.extractfile(name)
                assert file is not None
                return file.read()

            image = json.loads(read("manifest.json"))[0]
            config = self.blob(read(image["Config"]), "container.image.v1+json")
            layers = [self.blob(read(name), "image.rootfs.diff.tar") for name in image["Layers"]]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        return str(self.blob(json.dumps(manifest).encode(), "")["digest"])

    def blob(self, data: bytes, kind: str) -> dict[str, str | int]:
        """Stores it; its descriptor."""
        name = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / name).write_bytes(data)
        return {"mediaType": f"application/vnd.docker.{kind}", "size": len(data), "digest": f"sha256:{name}"}

    def tag(self, tag: str, digest: str) -> None:
        self.tags[tag] = digest
        (self.folder / "tags.json").write_text(json.dumps(self.tags))

    def asked(self) -> list[tuple[str, str]]:
        """(client, path) of every request so far."""
        return [
            (client, path)
            for client, path in map(str.split, (self.folder / "asked.log").read_text().splitlines())
        ]

    @contextlib.contextmanager
    def serving(self, rig: Rig) -> Iterator[str]:
        """Serves where the controller sits; `host:port`, the beginning of the images' names."""
        module = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.rig.registry"]
        command = rig.from_ctl([*module, str(self.folder), str(PORT)])
        server = subprocess.Popen(command)
        try:
            wait = f"until exec 3<>/dev/tcp/{CTL_ADDRESS}/{PORT}; do sleep .05; done"
            subprocess.run(
                rig.from_ctl(["timeout", "60", "bash", "-c", wait]), check=True, stderr=subprocess.DEVNULL
            )
            yield f"{CTL_ADDRESS}:{PORT}"
        finally:
            server.kill()
            server.wait()


class Handler(BaseHTTPRequestHandler):
    folder: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        with (self.folder / "asked.log").open("a") as log:
            log.write(f"{self.client_address[0]} {self.path}\n")
        if self.path.rstrip("/") == "/v2":
            self.answer(b"{}", "application/json")
            return
        _, kind, name = self.path.rsplit("/", 2)
        if kind == "manifests":
            name = json.loads((self.folder / "tags.json").read_text()).get(name, name)
        path = self.folder / "blobs" / name.replace(":", "/")
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        self.answer(data, MANIFEST if kind == "manifests" else "application/octet-stream", name)

    do_HEAD = do_GET

    def answer(self, data: bytes, media: str, digest: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[1])
    ThreadingHTTPServer(("", int(sys.argv[2])), Handler).serve_forever()
