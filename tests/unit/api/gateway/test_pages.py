"""The web pages: whatever no route is for."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from inferflow.api.gateway.pages import Pages

from ....robustness.scenario import StartScenario

BUNDLE = "assets/index-B4kfYx1z.js"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<p>pages</p>")
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path / BUNDLE).write_text("run()")
    return tmp_path


def get(pages: Pages, path: str, accepted: str = "") -> tuple[int, dict[str, str], bytes]:
    told: list[Any] = []

    async def keep(message: Any) -> None:
        told.append(message)

    async def nothing() -> Any:
        return {"type": "http.request"}

    headers = [(b"accept-encoding", accepted.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    asyncio.run(pages(scope, nothing, keep))
    given = {name.decode(): value.decode() for name, value in told[0]["headers"]}
    return told[0]["status"], given, told[1]["body"]


def test_files_with_a_hash_in_their_name_are_kept_for_ever(built: Path) -> None:
    status, headers, body = get(Pages(built), f"/{BUNDLE}")
    assert (status, body) == (200, b"run()")
    assert "immutable" in headers["cache-control"]
    assert headers["content-type"].startswith("text/javascript")


def test_large_files_are_sent_compressed_to_those_who_take_it(built: Path) -> None:
    text = b"run();" * 1_000
    (built / BUNDLE).write_bytes(text)
    pages = Pages(built)
    _, headers, body = get(pages, f"/{BUNDLE}", "br, gzip")
    assert (headers["content-encoding"], gzip.decompress(body)) == ("gzip", text)
    _, headers, body = get(pages, f"/{BUNDLE}")
    assert "content-encoding" not in headers
    assert body == text


@pytest.mark.parametrize("path", ["/", "/configs", "/configs/ranker/history"])
def test_a_place_inside_the_application_is_its_page(
    built: Path, path: str, scenario: StartScenario
) -> None:
    status, headers, body = get(Pages(built), path)
    assert (status, body, headers["cache-control"]) == (200, b"<p>pages</p>", "no-cache")
    policy = headers["content-security-policy"]
    scripts, frames = "script-src 'self'", "frame-ancestors 'none'"
    scenario("H8", "markup in a model's words").holds(
        "no inline script", scripts, scripts in policy
    )
    scenario("G11", "a page in a frame of another").holds("forbidden", frames, frames in policy)


@pytest.mark.parametrize("path", ["/missing.js", "/../secret.txt", "/assets/../../etc.passwd"])
def test_a_file_that_is_not_there_is_not_found(built: Path, path: str) -> None:
    with pytest.raises(HTTPException) as refused:
        get(Pages(built), path)
    assert refused.value.status_code == 404


def test_pages_that_were_not_built_say_how_to_build_them(tmp_path: Path) -> None:
    status, _, body = get(Pages(tmp_path / "nowhere"), "/")
    assert status == 200
    assert b"make ui" in body
