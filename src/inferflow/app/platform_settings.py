"""What a fleet shares: `[etcd]` for configs. And what only the original has a use for, so that a
deployment's variables need not be weeded: `[compatibility]`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inferflow.app.env_first import EnvFirst, Unused, named
from inferflow.app.setting_values import Listed, Milliseconds, Secret


class EtcdSettings(EnvFirst):
    endpoints: Listed = Field(
        (), validation_alias=named("endpoints", "ETCD_ENDPOINTS", "ETCD_SERVER")
    )
    """Its members, as `host:port` or URL, with commas between. When set, configs are kept there,
    and not in the project's folder."""
    dial_timeout: Milliseconds = Field(
        5_000, gt=0, validation_alias=named("dial_timeout", "ETCD_DIAL_TIMEOUT")
    )
    """For a connection to come up."""
    watcher_enabled: bool = Field(
        True, validation_alias=named("watcher_enabled", "ETCD_WATCHER_ENABLED")
    )
    """Take up changes while serving."""
    username: str = Field("", validation_alias=named("username", "ETCD_USERNAME"))
    """Who logs in; nobody when empty."""
    password: Secret = Field(Secret(""), validation_alias=named("password", "ETCD_PASSWORD"))
    """And how."""
    ca_file: str = Field("", validation_alias=named("ca_file", "ETCD_CA_FILE"))
    """Who has signed the certificates of `https://` members; the system's own when empty."""
    cert_file: str = Field("", validation_alias=named("cert_file", "ETCD_CERT_FILE"))
    """A certificate to show to them; none when empty."""
    key_file: str = Field("", validation_alias=named("key_file", "ETCD_KEY_FILE"))
    """And its key."""
    relist: Milliseconds = Field(60_000, gt=0, validation_alias=named("relist", "ETCD_RELIST"))
    """How often everything is read again, in case a change was never told."""


class CompatibilitySettings(EnvFirst):
    gc_percentage: Annotated[
        int | None, Unused("it tunes the garbage collector of another language")
    ] = Field(None, validation_alias=named("gc_percentage", "APP_GC_PERCENTAGE"))
    """Accepted, without effect."""
    dag_topology_cache_size: Annotated[
        int | None, Unused("a plan is compiled once, when its config is loaded")
    ] = Field(None, validation_alias=named("dag_topology_cache_size", "DAG_TOPOLOGY_CACHE_SIZE"))
    """Accepted, without effect."""
    dag_topology_cache_ttl_sec: Annotated[
        float | None, Unused("a plan lives as long as its config")
    ] = Field(
        None, validation_alias=named("dag_topology_cache_ttl_sec", "DAG_TOPOLOGY_CACHE_TTL_SEC")
    )
    """Accepted, without effect."""
