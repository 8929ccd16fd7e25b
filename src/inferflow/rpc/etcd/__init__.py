"""A small client of etcd: what a config store needs of it, and nothing else.

- `members`: where etcd is, and which of its members is asked next
- `client`: ranges, transactions, leases and logging in, as blocking calls with deadlines
- `entries`, `change`: what is there, and what a transaction compares and does
- `watching`: one stream of changes, from one revision on
- `known`: a range of keys as it is known from listings and changes
- `mirror`: that, kept true by a watch and checked by listings, on threads of its own
- `failures`: what etcd's refusals mean here

Calls block, because those who follow configs live on threads of their own: a reload compiles, and
must not do so on an event loop.
"""

from inferflow.rpc.etcd.change import Delete, Put, Same
from inferflow.rpc.etcd.client import EtcdClient
from inferflow.rpc.etcd.entries import Entry, Listing, prefix_end
from inferflow.rpc.etcd.members import EtcdOptions
from inferflow.rpc.etcd.mirror import Mirror

__all__ = [
    "Delete",
    "Entry",
    "EtcdClient",
    "EtcdOptions",
    "Listing",
    "Mirror",
    "Put",
    "Same",
    "prefix_end",
]
