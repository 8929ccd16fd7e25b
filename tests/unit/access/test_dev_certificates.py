"""Certificates for trying things out."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from inferflow.access.dev_certificates import Authority, Issued
from inferflow.errors import InvalidInput

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def read(issued: Issued) -> x509.Certificate:
    return x509.load_pem_x509_certificate(issued.cert)


def test_what_an_authority_signs_is_verified_by_it_and_ends_with_it() -> None:
    authority = Authority("dev", now=NOW, days=10)
    server = read(authority.issue("server", hosts=["localhost", "127.0.0.1"], days=400))
    server.verify_directly_issued_by(read(authority.issued))
    assert server.not_valid_after_utc == NOW + timedelta(days=10)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_client_cannot_be_a_server_nor_an_authority() -> None:
    client = read(Authority("dev", now=NOW, days=1).issue("web", uri="spiffe://shop/web"))
    uses = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert x509.oid.ExtendedKeyUsageOID.SERVER_AUTH not in uses
    assert not client.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    names = client.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://shop/web"]


def test_certificate_and_key_belong_together(tmp_path: Path) -> None:
    issued = Authority("dev", now=NOW, days=1).issue("server", hosts=["localhost"])
    (tmp_path / "cert").write_bytes(issued.cert)
    (tmp_path / "key").write_bytes(issued.key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "cert", tmp_path / "key")
    assert b"PRIVATE" not in issued.cert
    assert "PRIVATE" not in repr(issued)


def test_a_certificate_that_never_was_good_is_not_made() -> None:
    with pytest.raises(InvalidInput, match="ended before it began"):
        Authority("dev", now=NOW, days=-1)
