"""Configs in etcd, where the original keeps them, with their history beside.

- `layout`: which key holds what
- `written`: configs as keys hold them, in all the forms there are
- `heads`: the newest version of each config, and earlier ones
- `recording`: one change as a transaction
- `store`: the config store
- `view`: what the store sees of etcd
- `followed`: the same for a server, from memory, also while etcd is away
- `status`: what each server makes of each config, for people to see

Needs gRPC, so it is imported when it is used.
"""

from inferflow.configstore.etcd.followed import FollowedStore
from inferflow.configstore.etcd.layout import Layout
from inferflow.configstore.etcd.status import StatusBoard
from inferflow.configstore.etcd.store import EtcdStore

__all__ = ["EtcdStore", "FollowedStore", "Layout", "StatusBoard"]
