"""A write that was accepted can be read, whatever happens to the process that accepted it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from inferflow.demo.shop import write_shop

from ..e2e import feature_store_process
from ..e2e.feature_store_process import prices, set_price
from ..e2e.serving_process import Process
from ..servers.processes import free_port
from .load import eventually
from .scenario import StartScenario

WRITERS = 4
KILLS = 4


class Writer:
    """Writes ever higher prices of one product, and remembers which were accepted."""

    def __init__(self, store: Process, product: str) -> None:
        self.product = product
        self.sent = self.accepted = 0
        self._store = store
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        while not self._ends.is_set():
            self.sent += 1
            try:
                set_price(self._store, self.product, self.sent)
            except grpc.RpcError:
                return
            self.accepted = self.sent

    def end(self) -> None:
        self._ends.set()
        self._thread.join()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_shop(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def store(shop: Path) -> Iterator[Process]:
    made = feature_store_process.start(shop, port=free_port())
    yield made
    made.close()


def test_every_accepted_row_is_there_after_the_store_was_killed(
    shop: Path, store: Process, scenario: StartScenario
) -> None:
    tried = scenario("A16", f"the feature store killed {KILLS} times while it takes writes")
    lost: list[str] = []
    accepted = 0
    products = [str(number + 1) for number in range(WRITERS)]
    for _ in range(KILLS):
        writers = [Writer(store, product) for product in products]
        eventually(lambda writers=writers: all(each.accepted >= 20 for each in writers))
        store.close()
        for each in writers:
            each.end()
        again = feature_store_process.start(shop, port=store.port)
        store.popen, store.http = again.popen, again.http
        found = dict(zip(products, prices(store, *products), strict=True))
        accepted += sum(each.accepted for each in writers)
        lost += [
            f"{each.product}: {found[each.product]} of {each.accepted}"
            for each in writers
            if float(found[each.product]) not in (each.accepted, each.sent)
        ]
    tried.none(f"row of {accepted} accepted is lost", lost)
