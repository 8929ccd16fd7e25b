"""A disk without room: what was asked fails, what was there stays."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferflow.access import OPERATOR
from inferflow.errors import RegistryFailed
from inferflow.serving.manager.orders import UploadLimits, UploadOrder
from inferflow.serving.manager.storage.records import Stage

from .office import UPLOADER, Office, info


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """One megabyte, and no more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        while True:
            try:
                ballast.write(bytes(4096))
            except OSError:
                return


@pytest.mark.scenario("I4")
@pytest.mark.parametrize("full", ["files", "registry"])
def test_a_full_disk_fails_the_upload_and_nothing_else(
    small_disk: Path, tmp_path: Path, full: str
) -> None:
    places = {"files": tmp_path / "files", "registry": tmp_path} | {full: small_disk}
    database = f"sqlite:///{places['registry'] / 'registry.db'}"
    office = Office(database, places["files"], limits=UploadLimits())
    try:
        version = office.publish(stage=Stage.PRODUCTION)
        data = os.urandom(200_000)
        order = UploadOrder("ranker", (info("model.onnx", data),))
        begun = office.run(office.services.uploads.begin(UPLOADER, order))
        fill(small_disk)
        with pytest.raises(RegistryFailed):
            office.run(
                office.services.uploads.append(UPLOADER, begun.upload_id, "model.onnx", 0, data)
            )
        assert office.services.registry.model(OPERATOR, "ranker").versions == (version,)
        (small_disk / "ballast").unlink()
        office.reopen()
        office.run(office.services.uploads.append(UPLOADER, begun.upload_id, "model.onnx", 0, data))
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
        numbers = [v.number for v in office.services.registry.model(OPERATOR, "ranker").versions]
        assert numbers == [1, 2]
    finally:
        office.close()
