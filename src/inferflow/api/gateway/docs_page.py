"""The HTTP API as a page to read: every route, who may call it, and an example. It needs nothing
from elsewhere, so it works without a way out."""

from __future__ import annotations

from html import escape
from typing import Any

import orjson

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Inferflow HTTP API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
summary { cursor: pointer; padding: .3rem 0; }
pre { overflow: auto; padding: .5rem; border: 1px solid #8884; }
.verb { display: inline-block; min-width: 4.5rem; font-weight: 600; }
</style></head><body>
"""


def docs_page(document: dict[str, Any]) -> str:
    """The page of an OpenAPI document."""
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            sections.setdefault(tag, []).append(_entry(verb, path, operation))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in sections.items())
    title = f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>"
    link = '<p>As a document for programs: <a href="/openapi.json">openapi.json</a></p>'
    return f"{_HEAD}{title}{link}{body}</body></html>"


def _entry(verb: str, path: str, operation: dict[str, Any]) -> str:
    needs = operation.get("x-permission", "")
    who = f"<p>Permission: {escape(needs)}</p>" if needs else ""
    content = operation.get("requestBody", {}).get("content", {})
    examples = [given["example"] for given in content.values() if "example" in given]
    shown = "".join(f"<pre>{escape(_indented(each))}</pre>" for each in examples)
    return (
        f"<details><summary><span class=verb>{escape(verb.upper())}</span>"
        f"<code>{escape(path)}</code></summary>"
        f"<p>{escape(operation.get('description', ''))}</p>{who}{shown}</details>"
    )


def _indented(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
