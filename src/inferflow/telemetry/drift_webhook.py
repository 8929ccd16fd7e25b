"""Tells another service what was noticed: a POST with JSON, signed, made again when it fails.

The header `x-inferflow-signature` has `sha256=` and the HMAC of the body in hexadecimal, where a
secret is set. Answers of 2xx end it; anything else is tried again after a pause that doubles.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inferflow._version import __version__

log = logging.getLogger("inferflow.drift")

SIGNATURE = "x-inferflow-signature"
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Webhook:
    url: str
    secret: str = field(default="", repr=False)
    attempts: int = 6
    first_pause_s: float = 1.0

    def tell(self, event: Mapping[str, object], wait: Callable[[float], bool]) -> bool:
        """Whether it was taken. `wait` says True when there is no time left to go on."""
        body = json.dumps(event, sort_keys=True).encode()
        for attempt in range(self.attempts):
            if attempt and wait(self.first_pause_s * 2.0 ** (attempt - 1)):
                break
            why = self._post(body)
            if not why:
                return True
            log.warning("drift_webhook_refused", extra={"attempt": attempt + 1, "error": why})
        log.error("drift_webhook_failed", extra={"attempts": attempt + 1})
        return False

    def _post(self, body: bytes) -> str:
        """Why it was not taken; empty when it was."""
        request = urllib.request.Request(self.url, data=body, headers=self._headers(body))
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return ""
        except OSError as failed:  # refusals of the other side, too
            return str(failed)

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {"content-type": "application/json", "user-agent": f"inferflow/{__version__}"}
        if self.secret:
            signed = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
            headers[SIGNATURE] = f"sha256={signed}"
        return headers
