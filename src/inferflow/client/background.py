"""One event loop in a thread, for callers that have none.

All of them share it: gRPC wakes every loop of a process for the calls of each. It starts with its
first holder and ends with its last.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from inferflow.errors import InvalidInput

T = TypeVar("T")


class BackgroundLoop:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def hold(self) -> None:
        """Every `hold` is followed by one `release`."""
        with self._lock:
            self._holders += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="inferflow-client", daemon=True
                )
                self._thread.start()

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._end()

    def end(self) -> None:
        """End now, whoever still holds it."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(_cancel_the_others())
            self._loop.close()
            self._loop = self._thread = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Its result. Given up by the caller (Ctrl-C), the coroutine is cancelled."""
        with self._lock:  # so that nothing is begun on a loop that ends
            if self._loop is None:
                coroutine.close()
                raise InvalidInput("this client is closed")
            running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except CancelledError:
            raise InvalidInput("this client was closed during the call") from None
        except BaseException:
            running.cancel()
            raise


async def _cancel_the_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


SHARED = BackgroundLoop()
atexit.register(SHARED.end)
