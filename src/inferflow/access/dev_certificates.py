"""Certificates for trying things out: an authority of one's own, and what it has signed.

Good for a development machine and for tests, where nobody else is asked to trust the authority.
Keys are elliptic (P-256), as every TLS library takes them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from inferflow.errors import InvalidInput, MissingExtra

_EARLIER = timedelta(minutes=5)
"""Clocks of two machines are never quite the same."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, as PEM text."""

    cert: bytes
    key: bytes = field(repr=False)


class Authority:
    """Signs certificates. What it signs ends when it does, at the latest."""

    def __init__(self, name: str, *, now: datetime, days: float) -> None:
        x509, _ = _library()
        self._now = now
        self._key = _new_key()
        self._until = now + timedelta(days=days)
        subject = _subject(name)
        builder = self._builder(subject, subject, self._key, self._until)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs=True), True)
        self._subject = subject
        self._cert = builder.sign(self._key, _sha256())

    @property
    def issued(self) -> Issued:
        """The authority's own."""
        return Issued(_pem(self._cert), _key_pem(self._key))

    def issue(
        self,
        name: str,
        *,
        hosts: Sequence[str] = (),
        uri: str = "",
        days: float | None = None,
    ) -> Issued:
        """A certificate for somebody called `name`, who may be a server at these hosts."""
        x509, oids = _library()
        key = _new_key()
        until = self._until if days is None else min(self._until, self._now + timedelta(days=days))
        builder = self._builder(_subject(name), self._subject, key, until)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs=False), True)
        uses = [oids.SERVER_AUTH, oids.CLIENT_AUTH] if hosts else [oids.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), False)
        names = [_host(each) for each in hosts]
        if uri:
            names.append(x509.UniformResourceIdentifier(uri))
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        return Issued(_pem(builder.sign(self._key, _sha256())), _key_pem(key))

    def _builder(self, subject: Any, issuer: Any, key: Any, until: datetime) -> Any:
        x509, _ = _library()
        if until <= self._now - _EARLIER:
            raise InvalidInput("days: a certificate that ended before it began")
        authority = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _EARLIER)
            .not_valid_after(until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority), False)
        )


def _library() -> tuple[Any, Any]:
    try:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID
    except ModuleNotFoundError as missing:
        raise MissingExtra("manager", for_what="making certificates") from missing
    return x509, ExtendedKeyUsageOID


def _subject(name: str) -> Any:
    x509, _ = _library()
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> Any:
    x509, _ = _library()
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _usage(*, signs: bool) -> Any:
    x509, _ = _library()
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _sha256() -> Any:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def _pem(cert: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    pem: bytes = cert.public_bytes(Encoding.PEM)
    return pem


def _key_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem
