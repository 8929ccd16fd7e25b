"""`inferflow config`: the project's configs and their history."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from inferflow.cli import served
from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir, project_root

if TYPE_CHECKING:
    from inferflow.app.publish import Published
    from inferflow.configstore import ConfigStore, Version

app = typer.Typer(
    help="The project's configs and their history.", no_args_is_help=True, rich_markup_mode=None
)

app.command("status")(served.status)

Id = Annotated[str, typer.Argument(metavar="ID", help="The config's exact id.")]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="VERSION",
        help="Only when this is the newest version: a number, a hash, or 0 for a new config.",
    ),
]
Author = Annotated[
    str | None, typer.Option("--author", help="Who changes it.  [default: the user logged in]")
]
AVersion = Annotated[
    str | None, typer.Argument(metavar="[VERSION]", help="A number, a hash, or its beginning.")
]


@app.command("list")
def list_(directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Show every config, its newest version, and whether its file was edited since."""
    from inferflow.tabular import table

    with _store(directory) as store:
        folder, newest = store.current(), {each.id: each for each in store.versions()}
    found: list[dict[str, Any]] = []
    for document in folder.documents.values():
        version = newest.get(document.id)
        is_recorded = version is not None and version.hash == document.hash
        found.append(
            {
                "id": document.id,
                "file": document.file,
                "hash": document.hash,
                "state": "recorded" if is_recorded else "edited" if version else "new",
                "version": None if version is None else _facts(version),
            }
        )
    for broken in folder.unreadable:
        version = newest.get(broken.id)
        found.append(
            {
                "id": broken.id,
                "file": broken.file,
                "hash": "",
                "state": "unreadable",
                "version": None if version is None else _facts(version),
                "problem": broken.what,
            }
        )
    found.sort(key=lambda each: (each["id"], each["file"]))
    if as_json:
        say_json({"configs": found})
        return
    rows = [
        [each["id"], each["file"], each["state"], *_version_cells(each["version"])]
        for each in found
    ]
    say_table(table(["id", "file", "state", "version", "hash", "at", "author"], rows))
    for each in found:
        if "problem" in each:
            say(typer.style(f"{each['file']}: {each['problem']}", fg="red"))


@app.command("get")
def get(
    config_id: Id, version: AVersion = None, directory: ProjectDir = HERE, as_json: AsJson = False
) -> None:
    """Print a config as it is written now, or as a version said it."""
    from inferflow.configstore import find_version

    with _store(directory) as store:
        if version is None:
            document = store.get(config_id)
            text, facts = document.text, {"file": document.file, "hash": document.hash}
        else:
            found = find_version(config_id, store.history(config_id), version)
            text, facts = store.text(found), _facts(found)
    if as_json:
        say_json({"id": config_id, **facts, "text": text})
    else:
        typer.echo(text, nl=False)


@app.command("push")
def push(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A config file; - reads stdin.")],
    config_id: Annotated[
        str | None,
        typer.Option("--id", help="The config's id, unless the file holds or is named by it."),
    ] = None,
    expect: Expect = None,
    force: Annotated[
        bool, typer.Option("--force", help="Push even if golden requests fail; it is recorded.")
    ] = False,
    note: Annotated[str, typer.Option("--note", help="Kept with the version.")] = "",
    author: Author = None,
    format: Annotated[
        Literal["json", "yaml"] | None,
        typer.Option("--format", help="Of what stdin holds.", case_sensitive=False),
    ] = None,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Check a config, run its golden requests, and make it the newest version.

    Nothing is changed when it does not compile, when a golden request fails, or when --expect
    names another version than the newest.
    """
    from inferflow.app.publish import push as publish
    from inferflow.configstore.folder import format_of
    from inferflow.plan.document import file_text

    if file == "-":
        text, stem, kind = sys.stdin.read(), config_id or "", format or "yaml"
        if not stem:
            raise typer.BadParameter("name the config of stdin", param_hint="--id")
    else:
        path = Path(file)
        text, stem, kind = file_text(path), path.stem, format or format_of(path)
    done = publish(
        project_root(directory),
        text,
        kind,
        author=author_of(author),
        config_id=config_id or "",
        stem=stem,
        expected=expect,
        force=force,
        note=note,
    )
    _say_published(done, as_json=as_json)


@app.command("history")
def history(config_id: Id, directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Show every version of a config, newest first."""
    from inferflow.tabular import table

    with _store(directory) as store:
        versions = list(reversed(store.history(config_id)))
        if not versions:
            store.get(config_id)  # says so when there is no such config at all
    if as_json:
        say_json({"id": config_id, "versions": [_facts(each) for each in versions]})
        return
    if not versions:
        say(f"{config_id} has no versions yet: nobody has pushed or served it")
        return
    rows = [
        [*_version_cells(_facts(each)), each.origin, each.checks, each.note] for each in versions
    ]
    say_table(table(["version", "hash", "at", "author", "origin", "checks", "note"], rows))


@app.command("diff")
def diff(
    config_id: Id,
    old: Annotated[
        str | None, typer.Argument(metavar="[OLD]", help="A version.  [default: the newest]")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="[NEW]", help="A version.  [default: as written now]")
    ] = None,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two versions, or since one."""
    from inferflow.configstore import difference, find_version
    from inferflow.errors import InvalidInput

    with _store(directory) as store:
        versions = store.history(config_id)
        if not versions:
            store.get(config_id)
            raise InvalidInput(f"config {config_id!r} has no versions yet to compare with")
        first = find_version(config_id, versions, old or str(versions[-1].number))
        first_text = "" if first.is_removal else store.text(first)
        if new is None:
            document = store.get(config_id)
            name, text = document.file, document.text
        else:
            second = find_version(config_id, versions, new)
            name, text = second.label, "" if second.is_removal else store.text(second)
    found = difference(first_text, text, old_name=first.label, new_name=name)
    if as_json:
        say_json({"id": config_id, "old": first.label, "new": name, "diff": found})
    else:
        say(found or f"{config_id}: {first.label} and {name} say the same")


@app.command("rollback")
def rollback(
    config_id: Id,
    version: AVersion = None,
    expect: Expect = None,
    author: Author = None,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Make an earlier version the newest again; unless named, the one before.

    It is compiled first. Golden requests are not asked: they describe what is being left.
    """
    from inferflow.app.publish import roll_back

    done = roll_back(
        project_root(directory), config_id, version, author=author_of(author), expected=expect
    )
    _say_published(done, as_json=as_json)


@contextmanager
def _store(directory: Path) -> Iterator[ConfigStore]:
    from inferflow.app.config_stores import open_configs
    from inferflow.app.settings import read_settings

    root = project_root(directory)
    with closing(open_configs(root, read_settings(root))) as store:
        yield store


def _say_published(done: Published, *, as_json: bool) -> None:
    version = done.version
    if as_json:
        golden = [each.as_dict() for each in done.outcomes]
        notes = [each.as_dict() for each in done.notes]
        say_json({"version": _facts(version), "golden": golden, "notes": notes})
        return
    passed = sum(outcome.passed for outcome in done.outcomes)
    asked = f", {passed} of {len(done.outcomes)} golden requests passed" if done.outcomes else ""
    say(f"{version.id} is at {version.label}: {version.checks}{asked}")
    for outcome in done.outcomes:
        if not outcome.passed:
            say(typer.style(str(outcome), fg="yellow"))


def _facts(version: Version) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(version), "at": _when(version.at_ms)}


def _version_cells(facts: dict[str, Any] | None) -> list[Any]:
    if facts is None:
        return [None, None, None, None]
    return [facts["number"], facts["hash"][:12], facts["at"], facts["author"]]


def _when(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def author_of(given: str | None) -> str:
    """Who is named, else who is logged in."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return ""
