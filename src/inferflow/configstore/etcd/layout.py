"""Which key holds what, for one application.

    /config/inferflow/services/<APP_NAME>/
        archive/texts/<sha256>                what versions said
        archive/versions/<id>/<number>        every version, as JSON
        heads/<id>                            the newest version of each config
        inputs/feature-schema                 what configs are compiled against
        model-config/config-map/<id>          a config
        model-config/config-map/<id>/<part>   or one of its three parts
        model-config/config-map               or all configs in one object
        model-config/service-config           what holds for all configs, or a key per field
        status/<id>/<server>                  how a config stands on a server

`model-config/` is the original's, and it follows every key that begins with `model-config`; so
nothing of ours does. Names are such that what a server follows, `heads/`, `inputs/` and
`model-config/`, is one range with nothing else in it: a watch of it tells a push whole, and no
server's status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from inferflow.errors import InvalidInput
from inferflow.rpc.etcd import prefix_end

BASE = "/config/inferflow/services"
PARTS: Mapping[str, str] = {
    "dagexecutionconfig": "dag_execution_config",
    "componentconfig": "component_config",
    "responseconfig": "response_config",
}
"""Parts of a split config, as their names are compared → as a config names them."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a key under `model-config/` holds."""

    kind: Literal["config", "part", "all", "stray"]
    id: str = ""
    """Exactly as written; of a stray key, all that follows `config-map/`."""
    part: str = ""


class Layout:
    def __init__(self, app_name: str) -> None:
        if not app_name or "/" in app_name:
            raise InvalidInput(f"APP_NAME: {app_name!r} cannot be part of a key of etcd")
        self._home = f"{BASE}/{app_name}"
        self.configs = f"{self._home}/model-config/"
        self.heads = f"{self._home}/heads/".encode()

    @property
    def followed(self) -> tuple[bytes, bytes]:
        """The range with every config, the newest version of each, and the feature schema."""
        return self.heads, prefix_end(self.configs.encode())

    @property
    def schema(self) -> bytes:
        """The feature schema, as `features/schema.yaml` says it."""
        return f"{self._home}/inputs/feature-schema".encode()

    @property
    def service(self) -> bytes:
        """What counts for all configs, as one object."""
        return f"{self.configs}service-config".encode()

    def config(self, config_id: str) -> bytes:
        return f"{self.configs}config-map/{config_id}".encode()

    def head(self, config_id: str) -> bytes:
        return self.heads + config_id.encode()

    def versions(self, config_id: str) -> bytes:
        return f"{self._home}/archive/versions/{config_id}/".encode()

    def version(self, config_id: str, number: int) -> bytes:
        return self.versions(config_id) + f"{number:08d}".encode()

    def text(self, name: str) -> bytes:
        return f"{self._home}/archive/texts/{name}".encode()

    def status(self, config_id: str, server: str) -> bytes:
        return f"{self._home}/status/{config_id}/{server}".encode()

    def service_field(self, key: str) -> str | None:
        """Which field for all configs a key holds, empty for all of them; None for other keys."""
        first, *rest = key.removeprefix(self.configs).split("/")
        if not key.startswith(self.configs) or compared(first) != "serviceconfig":
            return None
        return "" if not rest else rest[0] if len(rest) == 1 else None

    def parse(self, key: str) -> Key | None:
        """What a key holds; None for what is no config's. Of names, case and hyphens do not
        matter; of ids everything does."""
        first, *rest = key.removeprefix(self.configs).split("/")
        if not key.startswith(self.configs) or compared(first) != "configmap":
            return None
        if not rest:
            return Key("all")
        if len(rest) == 1 and rest[0]:
            return Key("config", rest[0])
        if len(rest) == 2 and rest[0] and compared(rest[1]) in PARTS:
            return Key("part", rest[0], PARTS[compared(rest[1])])
        return Key("stray", "/".join(rest))


def compared(name: str) -> str:
    """Names that are equal so are the same name."""
    return name.replace("-", "").replace("_", "").lower()
