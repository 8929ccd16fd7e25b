"""The schema endpoint of one config, as a decoder would ask it, in a thread of the test run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from inferflow.api.http import start_http
from inferflow.api.log_schema import log_schema_trees
from inferflow.inferlog.schema import LogSchema


@contextmanager
def serving(schema: LogSchema) -> Iterator[str]:
    """Where it listens."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    trees = log_schema_trees(lambda *_: schema)
    server = asyncio.run_coroutine_threadsafe(start_http({}, trees=trees), loop).result(10)
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
