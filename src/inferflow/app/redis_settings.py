"""Settings of the Redis feature backend, the `[redis]` table of `inferflow.toml`."""

from __future__ import annotations

from pydantic import Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Milliseconds, Secret
from inferflow.featurestore.redis_clients import RedisOptions


class RedisSettings(EnvFirst):
    url: Secret = Field(
        Secret(""), validation_alias=named("url", "INFERFLOW_REDIS_URL", "REDIS_URL")
    )
    """`redis://[user:password@]host[:port][/db]`, or `rediss://…` for TLS; of a cluster one node,
    or several with commas between."""
    namespace: str = Field(
        "inferflow", validation_alias=named("namespace", "INFERFLOW_REDIS_NAMESPACE")
    )
    """What the names of all records begin with; stores of different namespaces share a server."""
    timeout: Milliseconds = Field(
        1_000, gt=0, validation_alias=named("timeout", "INFERFLOW_REDIS_TIMEOUT")
    )
    """For a connection to come up, and for an answer."""
    max_connections: Count = Field(
        64, validation_alias=named("max_connections", "INFERFLOW_REDIS_MAX_CONNECTIONS")
    )
    """Per process, and per node of a cluster; further reads wait for one."""
    ca_file: str = Field("", validation_alias=named("ca_file", "INFERFLOW_REDIS_CA_FILE"))
    """Who has signed the certificate of a `rediss://` server; the system's own when empty."""
    cert_file: str = Field("", validation_alias=named("cert_file", "INFERFLOW_REDIS_CERT_FILE"))
    """A certificate to show to it; none when empty."""
    key_file: str = Field("", validation_alias=named("key_file", "INFERFLOW_REDIS_KEY_FILE"))
    """And its key."""

    @property
    def options(self) -> RedisOptions:
        return RedisOptions(
            self.url.get_secret_value(),
            self.namespace,
            timeout_s=self.timeout / 1000,
            max_connections=self.max_connections,
            ca_file=self.ca_file,
            cert_file=self.cert_file,
            key_file=self.key_file,
        )
