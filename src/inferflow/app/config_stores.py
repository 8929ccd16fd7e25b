"""Where configs are kept: in the project's folder, or in etcd when the settings name one.

Commands ask the store itself. Servers follow it, and can go on without it: what they served last
is kept on their own disk, whichever store it came from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.app.places import config_dir
from inferflow.app.settings import Settings
from inferflow.configstore import ConfigStore, DirectoryStore, ServedStore, Texts

if TYPE_CHECKING:
    from inferflow.configstore.etcd import FollowedStore
    from inferflow.rpc.etcd import EtcdClient


def open_configs(root: Path, settings: Settings) -> ConfigStore:
    """The store, as it is whenever it is asked. The caller closes it."""
    if not settings.etcd.endpoints:
        return DirectoryStore(root / "configs", config_dir(root, settings))
    from inferflow.configstore.etcd import EtcdStore

    return EtcdStore(open_etcd(settings), settings.telemetry.app_name)


def follow_configs(root: Path, settings: Settings) -> ConfigStore:
    """The store for somebody who serves: it answers at once, also while etcd is away."""
    if not settings.etcd.endpoints:
        return open_configs(root, settings)
    return follow_etcd(settings, open_served(root, settings))


def follow_etcd(settings: Settings, served: ServedStore) -> FollowedStore:
    from inferflow.configstore.etcd import FollowedStore

    return FollowedStore(
        open_etcd(settings),
        settings.telemetry.app_name,
        served,
        follow=settings.etcd.watcher_enabled,
        relist_s=settings.etcd.relist / 1000,
    )


def open_served(root: Path, settings: Settings) -> ServedStore:
    """What was served last, on this host."""
    home = config_dir(root, settings)
    return ServedStore(home, Texts(home / "texts"))


def open_etcd(settings: Settings) -> EtcdClient:
    from inferflow.rpc.etcd import EtcdClient, EtcdOptions

    etcd = settings.etcd
    return EtcdClient(
        EtcdOptions(
            etcd.endpoints,
            username=etcd.username,
            password=etcd.password.get_secret_value(),
            ca_file=etcd.ca_file,
            cert_file=etcd.cert_file,
            key_file=etcd.key_file,
            dial_timeout_s=etcd.dial_timeout / 1000,
        )
    )
