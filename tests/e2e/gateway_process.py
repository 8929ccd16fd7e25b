"""A real `inferflow gateway`, and hands to ask it and to end it."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from .role_process import RoleProcess, heard, launch


@dataclass
class GatewayProcess(RoleProcess):
    url: str
    http: httpx.Client

    @property
    def address(self) -> tuple[str, int]:
        found = httpx.URL(self.url)
        return found.host, found.port or 0

    def close(self) -> None:
        self.http.close()
        super().close()


def start_gateway(*arguments: str, **environment: str) -> GatewayProcess:
    popen = launch("gateway", "--port", "0", *arguments, **environment)
    found = heard(popen, r"HTTP  (http://\S+)\nasks  \S+\nready\n")
    return GatewayProcess(popen, found[1], httpx.Client(base_url=found[1], timeout=30))
