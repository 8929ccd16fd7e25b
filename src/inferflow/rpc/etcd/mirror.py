"""A range of etcd's keys held in memory, and kept true.

A listing at one revision, then a watch from the next revision on, resumed where it broke off. When
etcd has forgotten the changes in between, another listing. And because a watch is not believed
blindly, a listing every so often, compared with what is held after the watch had time to catch up.

What was seen last stays readable, however long etcd is away. Nothing here waits for it.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable

from inferflow.errors import InferflowError
from inferflow.rpc.etcd.client import EtcdClient
from inferflow.rpc.etcd.entries import Listing
from inferflow.rpc.etcd.known import Change, Known
from inferflow.rpc.etcd.watching import Compacted, Lost, Watch

LOG = logging.getLogger("inferflow.etcd")
RELIST_S = 60.0
GRACE_S = 1.0
"""Time for a watch to tell what a listing has seen."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_AGAIN_S = 2.0
"""After a listing that failed."""


class Mirror:
    """Follows etcd on two threads until closed."""

    def __init__(
        self,
        client: EtcdClient,
        start: bytes,
        end: bytes,
        *,
        follow: bool = True,
        relist_s: float = RELIST_S,
        grace_s: float = GRACE_S,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Unless it is to `follow`, what is there first is all it ever sees."""
        self._client, self._start, self._end = client, start, end
        self._follow = follow
        self._relist_s, self._grace_s = relist_s, grace_s
        self._clock, self._chance = clock, chance
        self._guard = threading.Lock()
        # Listings are adopted in the order in which they were asked for, so that one with a lower
        # revision than the last can only mean that etcd itself went back.
        self._one_listing = threading.Lock()
        self._known = Known()
        self._away_since: float | None = clock()
        self._watch: Watch | None = None
        self._closing = threading.Event()
        self._tried = threading.Event()
        self._listed = threading.Event()
        self.resyncs = 0
        """Listings that were needed because etcd had forgotten changes."""
        self.drifts = 0
        """Listings that showed something else than the watch had told."""
        self.why_away = ""
        """What was said when contact was lost last; empty while there is contact."""
        self._threads = [threading.Thread(target=self._run, name="inferflow-etcd", daemon=True)]
        if follow:
            self._threads.append(
                threading.Thread(target=self._compare, name="inferflow-etcd-list", daemon=True)
            )
        for thread in self._threads:
            thread.start()

    # --- looking ----------------------------------------------------------------------------

    def seen(self) -> Listing | None:
        """As of the last change; None until etcd has answered for the first time."""
        with self._guard:
            return self._known.listing() if self._listed.is_set() else None

    def fresh(self) -> Listing:
        """As of this moment: etcd is asked. Raises what the client raises."""
        self._list()
        with self._guard:
            return self._known.listing()

    def learn(self, changes: Iterable[Change]) -> None:
        """Take over changes that somebody here has made, before the watch tells of them."""
        with self._guard:
            self._known.apply(changes, 0)

    def wait(self, timeout_s: float, *, patiently: bool = False) -> bool:
        """Wait for the first listing or, unless `patiently`, the first failure. Whether there is a
        listing."""
        (self._listed if patiently else self._tried).wait(timeout_s)
        return self._listed.is_set()

    def stale_s(self) -> float:
        """For how long etcd could not be heard; 0 while it can."""
        with self._guard:
            since = self._away_since
        return 0.0 if since is None else self._clock() - since

    def close(self) -> None:
        self._closing.set()
        with self._guard:
            watch = self._watch
        if watch is not None:
            watch.cancel()
        for thread in self._threads:
            thread.join()

    # --- following --------------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._closing.is_set():
            try:
                if not self._listed.is_set():
                    self._list()
                    self._listed.set()
                    self._tried.set()
                if not self._follow:
                    return
                self._read_on()
            except Compacted as gap:
                LOG.warning("etcd_compacted", extra={"why": str(gap)})
                self._relist()
            except (Lost, InferflowError) as error:
                pause_s = _FIRST_PAUSE_S if self._away_since is None else 2 * pause_s
                self._lose(str(error))
            except Exception as fault:  # the thread outlives whatever it meets
                LOG.exception("etcd_fault")
                self._lose(f"{type(fault).__name__}: {fault}")
            pause_s = min(pause_s, _LONGEST_PAUSE_S)
            self._closing.wait(pause_s * (0.5 + self._chance() / 2))

    def _read_on(self) -> None:
        """Take over changes until the watch ends, which it does by raising."""
        with self._guard:
            revision = self._known.revision + 1
        watch = Watch(self._client, self._start, self._end, revision=revision)
        with self._guard:
            self._watch = watch
        if self._closing.is_set():  # it was asked to end before there was a watch to cancel
            watch.cancel()
        for batch in watch:
            with self._guard:
                self._known.apply(batch.changes, batch.revision)
            self._hear()

    def _relist(self) -> None:
        try:
            self._list()
        except InferflowError as error:
            self._lose(str(error))
        else:
            self.resyncs += 1

    # --- comparing --------------------------------------------------------------------------

    def _compare(self) -> None:
        pause_s = self._relist_s
        while not self._closing.wait(pause_s):
            pause_s = self._relist_s
            try:
                if self._listed.is_set():
                    self._compare_once()
            except InferflowError as error:
                # The watch may be well and have nothing to tell: only a listing can end this.
                self._lose(str(error))
                pause_s = min(pause_s, _AGAIN_S)
            except Exception:  # the thread outlives whatever it meets
                LOG.exception("etcd_fault")

    def _compare_once(self) -> None:
        wrong = self._list(self._grace_s)
        if wrong:
            self.drifts += 1
            LOG.warning("etcd_drift", extra={"keys": wrong})

    def _list(self, grace_s: float = 0.0) -> int:
        """Ask for a listing, and adopt it after a while. How many keys were wrong before."""
        with self._one_listing:
            listing = self._client.listing(self._start, self._end)
            self._closing.wait(grace_s)
            return self._adopt(listing)

    def _adopt(self, listing: Listing) -> int:
        with self._guard:
            is_another = self._known.is_past(listing)
            wrong = self._known.adopt(listing)
            watch = self._watch
        if is_another and watch is not None:
            watch.cancel()  # it waits for revisions that will not come for a long time
        self._hear()
        return wrong

    # --- contact ----------------------------------------------------------------------------

    def _hear(self) -> None:
        with self._guard:
            was_away, self._away_since = self._away_since is not None, None
        self.why_away = ""
        if was_away:
            LOG.info("etcd_heard", extra={"endpoints": self._client.options.addresses})

    def _lose(self, why: str) -> None:
        self._tried.set()
        if self._closing.is_set():
            return
        with self._guard:
            is_new = self._away_since is None or not self.why_away
            if self._away_since is None:
                self._away_since = self._clock()
        self.why_away = why
        if is_new:
            LOG.warning(
                "etcd_away", extra={"endpoints": self._client.options.addresses, "why": why}
            )
