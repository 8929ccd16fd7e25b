"""Certificates as files: read whole, checked, and taken up again when they change.

Whoever replaces certificate and key one after the other leaves a moment in which they do not
belong together. What does not is never used: the ones before stay in force, which is logged once.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from inferflow.errors import InvalidInput

log = logging.getLogger(__name__)

_TRIES = 3
_MOMENT_S = 0.05

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files; empty for those there are not."""

    cert: str = ""
    """The own certificate, with those between it and the authority's."""
    key: str = ""
    ca: str = ""
    """The authorities whose certificates are trusted."""

    def __post_init__(self) -> None:
        if bool(self.cert) != bool(self.key):
            given, other = ("cert", "key") if self.cert else ("key", "cert")
            raise InvalidInput(f"tls.{given}: there is no tls.{other} that goes with it")


@dataclass(frozen=True, slots=True)
class Pems:
    """What the files hold, at one moment."""

    cert: bytes
    key: bytes = field(repr=False)
    ca: bytes


class Certificates:
    """The files as they are now. Used from any thread."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises InvalidInput for files that cannot be used."""
        self.files = files
        self._lock = threading.Lock()
        self._seen = _stamp(files)
        self._pems = _read_first(files)
        self._refused: Stamp | None = None

    def current(self) -> Pems:
        """The same object as long as nothing has changed."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp is not None and stamp not in (self._seen, self._refused):
                self._take_up(stamp)
            return self._pems

    def _stamp_now(self) -> Stamp | None:
        try:
            return _stamp(self.files)
        except InvalidInput:  # between the old file and the new one
            return None

    def _take_up(self, stamp: Stamp) -> None:
        try:
            self._pems, self._seen, self._refused = _read(self.files), stamp, None
        except InvalidInput as refused:
            self._refused = stamp
            log.warning("certificates_refused", extra={"error": str(refused)})
        else:
            log.info("certificates_changed", extra={"cert": self.files.cert})


def _stamp(files: TlsFiles) -> Stamp:
    found = []
    for path in filter(None, (files.cert, files.key, files.ca)):
        try:
            facts = os.stat(path)
        except OSError as missing:
            raise InvalidInput(f"tls: {path}: {missing.strerror}") from missing
        found.append((facts.st_mtime_ns, facts.st_ino, facts.st_size))
    return tuple(found)


def _read(files: TlsFiles) -> Pems:
    """All of one moment, and fit for use. Raises InvalidInput."""
    for _ in range(_TRIES):
        before = _stamp(files)
        pems = Pems(*(_bytes(path) for path in (files.cert, files.key, files.ca)))
        _check(files)
        if _stamp(files) == before:
            return pems
    raise InvalidInput(f"tls: {files.cert or files.ca} changes all the time")


def _read_first(files: TlsFiles) -> Pems:
    """As `_read`, when there are none before to go on with: what does not belong together may be
    about to be replaced, and is given a moment for that."""
    for _ in range(_TRIES):
        before = _stamp(files)
        try:
            return _read(files)
        except InvalidInput:
            time.sleep(_MOMENT_S)
            if _stamp(files) == before:
                raise
    return _read(files)


def _bytes(path: str) -> bytes:
    if not path:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as failed:
        raise InvalidInput(f"tls: {path}: {failed.strerror}") from failed


def _check(files: TlsFiles) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        if files.cert:
            # An encrypted key is refused; without a password here OpenSSL would ask the terminal.
            context.load_cert_chain(files.cert, files.key, password="")
    except (ssl.SSLError, OSError) as refused:
        why = "no PEM certificate with its key, unencrypted"
        raise InvalidInput(f"tls: {files.cert}, {files.key}: {why}: {refused}") from refused
    try:
        if files.ca:
            context.load_verify_locations(files.ca)
    except (ssl.SSLError, OSError) as refused:
        raise InvalidInput(f"tls: {files.ca}: no PEM certificates: {refused}") from refused
