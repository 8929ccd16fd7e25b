"""Where a project's feature schema and expressions are: in its folder, or in etcd.

A project without etcd needs nothing but its folder, so what speaks to etcd is loaded here, on use:
an embedded project must open where only the base is installed.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from inferflow.app.config_stores import open_configs
from inferflow.app.project import FolderInputs, Inputs, Project, read_project
from inferflow.app.settings import Settings
from inferflow.configstore import ConfigStore, Folder, ServedStore
from inferflow.errors import ConfigStoreFailed, RemoteFailed, Unreachable


def follow_inputs(
    root: Path, settings: Settings, configs: ConfigStore, last: ServedStore
) -> Inputs:
    """For somebody who serves these configs. The caller closes it."""
    if not settings.etcd.endpoints:
        return FolderInputs(root)
    from inferflow.app.etcd_inputs import FollowedInputs
    from inferflow.configstore.etcd import FollowedStore

    assert isinstance(configs, FollowedStore)
    return FollowedInputs(root, settings, configs.mirror, configs.layout.schema, last)


def find_project(root: Path, settings: Settings, configs: Folder | None = None) -> Project:
    """A project as it is now, wherever its parts are. With `configs`, those count. Raises what
    etcd's client raises, ConfigStoreFailed when etcd is away."""
    if not settings.etcd.endpoints:
        return read_project(root, configs)
    from inferflow.app.etcd_inputs import AskedInputs

    if configs is None:
        with closing(open_configs(root, settings)) as store:
            configs = store.current()
    with closing(AskedInputs(root, settings)) as inputs:
        try:
            return read_project(root, configs, inputs)
        except (Unreachable, RemoteFailed) as failed:
            raise ConfigStoreFailed(str(failed)) from failed
