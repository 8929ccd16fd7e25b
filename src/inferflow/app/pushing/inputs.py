"""What configs are compiled against, brought to etcd: the feature schema, and each expression.

A key is only written if it is as it was read, so two who push at once cannot overwrite each
other unseen. Expressions that are in etcd and not in the folder stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from inferflow.app.config_stores import open_etcd
from inferflow.app.etcd_expressions import expression_key
from inferflow.app.expression_files import ExpressionFiles
from inferflow.app.project import EXPRESSIONS_FILE, SCHEMA_FILE, Project, source_text
from inferflow.app.pushing.outcome import Outcome, Part
from inferflow.app.settings import Settings
from inferflow.errors import ConfigStoreBusy
from inferflow.rpc.etcd import EtcdClient, Put, Same


def push_schema(project: Project, settings: Settings, *, dry_run: bool) -> Iterator[Outcome]:
    """Raises SchemaInvalid, or what etcd's client raises."""
    from inferflow.configstore.etcd import Layout

    project.require_schema()
    text = source_text(project.root, SCHEMA_FILE, [])
    if text is None:
        return
    key = Layout(settings.telemetry.app_name).schema
    with closing(open_etcd(settings)) as etcd:
        yield _put(etcd, "features", "schema", key, text.encode(), dry_run=dry_run)


def push_expressions(project: Project, settings: Settings, *, dry_run: bool) -> Iterator[Outcome]:
    """Those that are wrong are refused, and the others are pushed all the same."""
    wrong = dict(project.expressions.problems)
    written = ExpressionFiles(project.root / EXPRESSIONS_FILE).read()
    app = settings.telemetry.app_name
    with closing(open_etcd(settings)) as etcd:
        for name, source in written.sources.items():
            compute_id = str(name)
            problem = wrong.get(compute_id)
            if problem is not None:
                yield Outcome("expressions", compute_id, "refused", str(problem))
                continue
            key, value = expression_key(app, compute_id), _value(source)
            yield _put(etcd, "expressions", compute_id, key, value, dry_run=dry_run)


def _value(source: Any) -> bytes:
    """An object, which is what a compute service reads: what was not written as one becomes it."""
    content = source if isinstance(source, Mapping) else {"expression": source}
    return json.dumps(content, ensure_ascii=False).encode()


def _put(
    etcd: EtcdClient, part: Part, name: str, key: bytes, value: bytes, *, dry_run: bool
) -> Outcome:
    there = etcd.get(key)
    if there is not None and there.value == value:
        return Outcome(part, name, "unchanged", "there already")
    what = "new" if there is None else "changed"
    if dry_run:
        return Outcome(part, name, "differs", what)
    if not etcd.change([Same(key, 0 if there is None else there.revision)], [Put(key, value)]):
        raise ConfigStoreBusy(f"{key.decode()}: somebody else changed it meanwhile; push again")
    return Outcome(part, name, "pushed", what)
