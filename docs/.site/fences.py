"""Fences of the guides, as the site shows them.

A guide's fence says what its test does with it (`sh fails`, `yaml expressions.yaml`); the site
wants a title instead. A fence that is not understood would turn the rest of its page inside out
without a word, so a page in which one is left over fails the build.
"""

from __future__ import annotations

import re
from typing import Any

from mkdocs.exceptions import PluginError

FENCE = re.compile(r"^(?P<start>\s*```\w+) (?P<argument>[\w./-]+)$", re.MULTILINE)
LEFT_OVER = re.compile(r"<p>\s*```")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return FENCE.sub(_titled, markdown)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    if LEFT_OVER.search(html):
        raise PluginError(f"{page.file.src_uri}: a fence is not shown as one")
    return html


def _titled(fence: re.Match[str]) -> str:
    return f'{fence["start"]} title="{fence["argument"]}"'
