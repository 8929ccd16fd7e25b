"""How long the certificates in use last."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.servers.certificates import Certificates

from inferflow.rpc.tls import Certificates as Read
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_watch import CertificateWatch

DAY_S = 86_400


@pytest.fixture
def certs(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certs")


def read(certs: Certificates, *, ca: Path | str = "") -> Read:
    cert, key = certs.server()
    return Read(TlsFiles(str(cert), str(key), str(ca)))


def test_a_file_counts_by_the_first_of_its_certificates_to_expire(
    certs: Certificates, tmp_path: Path
) -> None:
    older = Certificates(tmp_path / "older", age_days=7)
    both = tmp_path / "both.pem"
    both.write_bytes(certs.ca.read_bytes() + older.ca.read_bytes())
    left = CertificateWatch(read(certs, ca=both), time.time).seconds_left()
    assert left["cert"] == pytest.approx(10 * DAY_S, abs=600)
    assert left["ca"] == pytest.approx(3 * DAY_S, abs=600)


def test_time_goes_by_and_after_the_end_there_is_less_than_nothing(certs: Certificates) -> None:
    now = [time.time()]
    expiry = CertificateWatch(read(certs), lambda: now[0])
    before = expiry.seconds_left()
    now[0] += 11 * DAY_S
    assert expiry.seconds_left() == pytest.approx({"cert": before["cert"] - 11 * DAY_S})
    assert expiry.seconds_left()["cert"] < 0


def test_a_renewed_certificate_counts_as_soon_as_it_is_in_use(tmp_path: Path) -> None:
    certs = Certificates(tmp_path / "certs", age_days=9)
    expiry = CertificateWatch(read(certs), time.time)
    assert expiry.seconds_left()["cert"] == pytest.approx(DAY_S, abs=600)
    Certificates(tmp_path / "certs").server()
    assert expiry.seconds_left()["cert"] == pytest.approx(10 * DAY_S, abs=600)
    (tmp_path / "certs" / "server.pem").write_text("not a certificate")
    assert expiry.seconds_left()["cert"] == pytest.approx(10 * DAY_S, abs=600)
