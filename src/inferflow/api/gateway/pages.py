"""The web pages, served from the package: whatever no route is for.

Files whose names hold a hash never change and are kept for ever; the page that names them is asked
for each time. A path that is no file is a place inside the application, so it gets that page too.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from inferflow.api.gateway.shielding import header

INDEX = "index.html"
FOR_EVER = "public, max-age=31536000, immutable"
EACH_TIME = "no-cache"
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws: wss:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Inferflow</title></head>
<body><h1>Inferflow</h1>
<p>The gateway answers, but its web pages have not been built. With Node installed, run
<code>make ui</code> in a checkout and start again; released packages bring the pages along.</p>
<p><a href="/docs">The HTTP API</a> works without them.</p></body></html>
"""

_SMALL = 1_000
_PACKED = ("image/png", "image/jpeg", "image/webp", "font/")
_HASHED = re.compile(r".*[-.][0-9A-Za-z_-]{8,}\.[a-z0-9]+")
_API = re.compile(r"/(v1|v2|api|health|metrics|openapi\.json|docs)(/.*)?")
_UNSUPPORTED = re.compile(
    r"/v2/(systemsharedmemory|cudasharedmemory|trace|logging)(/.*)?|/v2/models/.*/(generate.*|trace.*)"
)


@dataclass(slots=True)
class _File:
    body: bytes
    media_type: str
    keep: str
    _packed: bytes | None = None

    def packed(self) -> bytes:
        """Compressed, when somebody first asks for it."""
        if self._packed is None:
            self._packed = gzip.compress(self.body, mtime=0)
        return self._packed

    @property
    def packs_well(self) -> bool:
        return len(self.body) > _SMALL and not self.media_type.startswith(_PACKED)


def are_built() -> bool:
    """Whether this installation has the web pages."""
    return (files("inferflow") / "ui" / "dist" / INDEX).is_file()


class Pages:
    """An ASGI application. Files are read once: there are few of them and they are small."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._files = _read(folder if folder is not None else files("inferflow") / "ui" / "dist")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "no such stream"})
            return
        await self._response(scope)(scope, receive, send)

    def _response(self, scope: Scope) -> Response:
        path: str = scope["path"]
        if _UNSUPPORTED.fullmatch(path):
            raise HTTPException(501, "this extension is not supported")
        if _API.fullmatch(path) or scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(404, "there is nothing here")
        if not self._files:
            return HTMLResponse(NOT_BUILT, headers=_headers(EACH_TIME))
        name = path.lstrip("/") or INDEX
        found = self._files.get(name)
        if found is None and "." in name.rpartition("/")[2]:
            raise HTTPException(404, "there is no such file")
        return _response_of(found or self._files[INDEX], header(scope, "accept-encoding"))


def _response_of(file: _File, accepted: str) -> Response:
    headers, body = _headers(file.keep), file.body
    if file.packs_well:
        headers["vary"] = "accept-encoding"
        if "gzip" in accepted:
            headers["content-encoding"], body = "gzip", file.packed()
    return Response(body, media_type=file.media_type, headers=headers)


def _headers(keep: str) -> dict[str, str]:
    return {"cache-control": keep, "content-security-policy": POLICY}


def _read(folder: Traversable, above: str = "") -> dict[str, _File]:
    found: dict[str, _File] = {}
    if not folder.is_dir():
        return found
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            found |= _read(entry, f"{name}/")
        else:
            kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
            keep = FOR_EVER if above and _HASHED.fullmatch(entry.name) else EACH_TIME
            found[name] = _File(entry.read_bytes(), kind, keep)
    return found if above or INDEX in found else {}
