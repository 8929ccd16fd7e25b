"""`inferflow features`: the project's feature store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir, opened_store, project_root
from inferflow.cli.requesting import named

if TYPE_CHECKING:
    from inferflow.featurestore import FeatureSchema, FeatureStore

app = typer.Typer(help="The project's feature store.", no_args_is_help=True, rich_markup_mode=None)

Entity = Annotated[str, typer.Argument(metavar="ENTITY")]
Key = Annotated[list[str], typer.Argument(metavar="KEY...", help="One text per part of the key.")]


@app.command("schema")
def schema(directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Show entities, their keys, groups and features."""
    from inferflow.app.inputs import find_project
    from inferflow.app.settings import read_settings
    from inferflow.tabular import duration_text, table

    root = project_root(directory)
    found = _schema_facts(find_project(root, read_settings(root)).require_schema())
    if as_json:
        say_json(found)
        return
    for entity in found["entities"]:
        say(f"{entity['entity']}, by {', '.join(entity['keys'])}")
        for group in entity["groups"]:
            kept = "" if group["ttl_s"] is None else f", kept for {duration_text(group['ttl_s'])}"
            say(f"  {group['group']}{kept}")
            rows = [
                [each["feature"], each["dtype"], each["dim"], _default_text(each["default"])]
                for each in group["features"]
            ]
            say(*table(["feature", "type", "length", "default"], rows, indent=4))


def _default_text(default: Any) -> str:
    from inferflow.tabular import cell_text

    return "none" if default is None else cell_text(default) or repr("")


def _schema_facts(schema: FeatureSchema) -> dict[str, Any]:
    return {
        "entities": [
            {
                "entity": entity.label,
                "keys": entity.keys,
                "groups": [
                    {
                        "group": group.label,
                        "ttl_s": group.ttl_s,
                        "features": [
                            {
                                "feature": feature.name,
                                "dtype": feature.dtype.name,
                                "dim": feature.dim if feature.dtype.is_vector else None,
                                "default": feature.default,
                            }
                            for feature in group.features.values()
                        ],
                    }
                    for group in entity.groups.values()
                ],
            }
            for entity in schema.entities.values()
        ]
    }


@app.command("get")
def get(entity: Entity, key: Key, directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Show every feature of one key: its value, whether it is real, and its age."""
    from inferflow.tabular import cell_text, duration_text, table

    with opened_store(directory) as store:
        found = store.get(entity, key)
    if as_json:
        say_json(
            {
                "entity": entity,
                "key": key,
                "features": [
                    {
                        "group": each.group,
                        "feature": each.feature,
                        "value": each.value,
                        "state": each.state.name.lower(),
                        "age_s": each.age_s,
                    }
                    for each in found
                ],
            }
        )
        return
    rows = [
        [
            each.group,
            each.feature,
            cell_text(each.value),
            each.state.name.lower(),
            None if each.age_s is None else duration_text(each.age_s),
        ]
        for each in found
    ]
    say_table(table(["group", "feature", "value", "state", "age"], rows))


@app.command("put")
def put(
    entity: Entity,
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY... NAME=VALUE...",
            help="The key, then features; a vector is written 1:2:3, NAME= clears a value.",
        ),
    ],
    group: Annotated[str | None, typer.Option("--group", "-g", help="The features' group.")] = None,
    directory: ProjectDir = HERE,
) -> None:
    """Write features of one key; those not named stay as they are."""
    with opened_store(directory) as store:
        _refuse_forgetful(store)
        names = store.schema.entity(entity).keys
        key, given = values[: len(names)], values[len(names) :]
        if len(key) < len(names) or not given:
            wanted = " ".join(name.upper() for name in names)
            raise typer.BadParameter(f"{entity} needs {wanted}, then at least one NAME=VALUE")
        row: dict[str, Any] = dict(zip(names, key, strict=True))
        row |= {name: value or None for name, value in named(given, "NAME=VALUE").items()}
        store.put(entity, group, [row])
    say(f"wrote {len(given)} feature(s) of {entity} {' '.join(key)}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file.")],
    entity: Annotated[
        str | None, typer.Option("--entity", "-e", help="Unless the file's name says it.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Unless the file's name says it.")
    ] = None,
    directory: ProjectDir = HERE,
) -> None:
    """Load a table: one row per key, columns by name. All rows fit, or none is loaded."""
    from inferflow.cli.progress import LoadingBar
    from inferflow.featurestore import import_file

    with opened_store(directory) as store:
        _refuse_forgetful(store)
        with LoadingBar() as bar:
            rows = import_file(
                store,
                file,
                entity=entity,
                group=group,
                progress=lambda done, total: bar(file.name, done, total),
            )
    say(f"loaded {rows:,} row(s) of {file.name}")


@app.command("export")
def export(
    entity: Entity,
    group: Annotated[str, typer.Argument(metavar="GROUP")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file.")],
    directory: ProjectDir = HERE,
) -> None:
    """Write every live row of a group to a file."""
    from inferflow.featurestore import export_file

    with opened_store(directory) as store:
        rows = export_file(store, entity, group, file)
    say(f"wrote {rows:,} row(s) to {file}")


@app.command("delete")
def delete(entity: Entity, key: Key, directory: ProjectDir = HERE) -> None:
    """Forget one key in every group. Exits with 1 when there was nothing to forget."""
    from inferflow.errors import NotFound

    with opened_store(directory) as store:
        _refuse_forgetful(store)
        if not store.delete(entity, key):
            raise NotFound(f"{entity} with the key", " ".join(key))
    say(f"deleted {entity} {' '.join(key)}")


def _refuse_forgetful(store: FeatureStore) -> None:
    from inferflow.errors import InvalidInput
    from inferflow.featurestore import MemoryBackend

    if isinstance(store.backend, MemoryBackend):
        raise InvalidInput(
            "this project keeps features in memory only, so a change would be forgotten at once; "
            "set feature_backend = 'lmdb' in inferflow.toml"
        )
