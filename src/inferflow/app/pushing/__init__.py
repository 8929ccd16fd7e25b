"""A project folder brought to where a deployment reads it: etcd, the feature store, the manager.

- `project`: all parts in the order in which they need each other
- `inputs`: the feature schema and the expressions, to etcd
- `features`: rows of the feature files, to a service or to Redis
- `models`: model files, to a fleet's manager
- `configs`: checked one by one, to etcd
- `service`: what holds for all configs, to etcd
- `pruning`: what is in etcd alone, taken away when asked for
- `outcome`: what became of each piece

What is there already is left alone, so pushing again says that nothing changed.
"""
