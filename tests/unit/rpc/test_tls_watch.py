"""Certificates that are about to end are told about, in time and once."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from inferflow.rpc.tls import Certificates as Read
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_watch import CertificateWatch, Life

from ...servers.certificates import Certificates

DAY = 86_400.0


@pytest.fixture
def certs(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certs")


def life_of(path: Path) -> Life:
    from cryptography import x509

    read = x509.load_pem_x509_certificate(path.read_bytes())
    return Life(read.not_valid_before_utc.timestamp(), read.not_valid_after_utc.timestamp())


@pytest.mark.parametrize(
    ("whole", "first", "second"),
    [(365 * DAY, 30 * DAY, 7 * DAY), (DAY, 0.25 * DAY, 0.1 * DAY), (90 * DAY, 22.5 * DAY, 7 * DAY)],
)
def test_a_long_life_is_told_about_by_days_and_a_short_one_by_its_share(
    whole: float, first: float, second: float
) -> None:
    life = Life(0.0, whole)
    assert life.steps_passed(0) == 0
    assert life.steps_passed(whole - first - 1) == 0
    assert life.steps_passed(whole - first) == 1
    assert life.steps_passed(whole - second - 1) == 1
    assert life.steps_passed(whole - second) == 2
    assert life.steps_passed(whole - 1) == 2
    assert life.steps_passed(whole) == 3


def test_each_step_is_told_once_and_a_new_certificate_begins_anew(
    certs: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = certs.server()
    life, now = life_of(cert), [0.0]
    files = Read(TlsFiles(str(cert), str(key)))
    watch = CertificateWatch(files, lambda: now[0])

    def told(at: float) -> list[str]:
        caplog.clear()
        now[0] = at
        watch.look()
        watch.look()
        return [record.message for record in caplog.records if record.name.endswith("tls_watch")]

    with caplog.at_level(logging.WARNING):
        assert told(life.start + 1) == []
        assert told(life.end - 1) == ["certificate_expires"]
        record = caplog.records[0]
        assert (record.file, record.days_left) == (str(cert), 0.0)  # type: ignore[attr-defined]
        assert told(life.end + DAY) == ["certificate_expired"]
        assert told(life.end + 2 * DAY) == []
        certs.server()
        assert told(life.start + 1) == []
        assert told(life.end - 1) == ["certificate_expires"]


def test_it_looks_as_soon_as_it_begins_until_it_is_ended(
    certs: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = certs.server()
    watch = CertificateWatch(
        Read(TlsFiles(str(cert), str(key), str(certs.ca))), lambda: life_of(cert).end + 1
    )

    async def run() -> None:
        watch.begin()
        await asyncio.sleep(0)
        await watch.end()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert "certificate_expired" in caplog.messages
    asyncio.run(CertificateWatch(Read(TlsFiles(str(cert), str(key)))).end())  # never begun
