"""The commands of branches, names and deletion: `branch`, `branches`, `merge`, `tag`, `untag`, `tags`, `delete`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, cast

import click

from examples_shared.cost import metered
from examples_shared.opening import pass_opened
from examples_shared.terminal import clean, print_cost, print_json, print_table
from projects.errors import Invalid, Missing, Refused
from projects.service import AnyDocuments, AnyProject, Service
from singletable import AlreadyExists, InvalidRequest, NotFound
from singletable.documents import ItemChange, Items, Merge

AS_JSON = click.option("--json", "as_json", is_flag=True)
SHOWN = 12
"""Digits of a hash."""


@click.command()
@click.argument("project")
@click.argument("new")
@click.option("--version", type=click.IntRange(0), help="Where to begin; by default the newest.")
@pass_opened
def branch(app: Service, project: str, new: str, version: int | None) -> None:
    """A new project that begins as a version of another, and shares its contents."""
    made, took = metered(app.db, lambda: app.branch(project, new, version))
    click.echo(f"branched {project} into {made.id}, version {made.version}")
    print_cost(took.cost)


@click.command()
@click.argument("project")
@click.option("--onto", required=True, help="The project that is merged into.")
@click.option("--prefer", type=click.Choice(["ours", "theirs"]), help="Which side to keep where both changed an item.")
@click.option("--choose", "chosen", multiple=True, help="The side of one conflict: shapes/s1=theirs, name=ours.")
@AS_JSON
@pass_opened
def merge(app: Service, project: str, onto: str, prefer: Any, chosen: tuple[str, ...], as_json: bool) -> None:
    """Merge what was done in a branch into another project of its family. Exit status 1 where conflicts are left."""
    documents = app.documents_of(project)
    if app.documents_of(onto).context.kind is not documents.context.kind:
        raise Refused(f"{project!r} and {onto!r} are not of one kind: one is a board, the other a repository")
    try:
        found = documents.merge(project, onto=onto, prefer=prefer, choose=dict(map(_choice, chosen)))
    except InvalidRequest as error:
        raise Refused(f"{project!r} can't be merged into {onto!r}: {error.what}") from error
    if as_json:
        print_json(merge_json(found))
    else:
        _print_merge(onto, found)
    if not found.is_merged:
        raise SystemExit(1)


def _choice(said: str) -> tuple[tuple[str, str], Literal["ours", "theirs"]]:
    """Of `shapes/s1=theirs` the collection, the id and the side."""
    item, _, side = said.rpartition("=")
    if side not in ("ours", "theirs") or not item:
        raise Invalid(f"--choose takes ITEM=ours or ITEM=theirs, as shapes/s1=theirs, not {said!r}")
    collection, slash, id = item.partition("/")
    return ((collection, id) if slash else ("", item)), "ours" if side == "ours" else "theirs"


@click.command()
@click.argument("project")
@AS_JSON
@pass_opened
def branches(app: Service, project: str, as_json: bool) -> None:
    """The projects that a project can be merged with: what it was branched from, and all branches."""
    found = [each for each in app.documents_of(project).family(project) if each.document_id != project]
    if as_json:
        return print_json({"branches": [asdict(each) for each in found]})
    lines = [
        (each.document_id, f"{each.origin.document_id} {each.origin.number}" if each.origin is not None else "")
        for each in found
    ]
    return print_table(project, ("project", "branched from"), lines)


@click.command()
@click.argument("project")
@click.argument("name")
@click.option("--version", type=click.IntRange(0), help="By default the newest.")
@pass_opened
def tag(app: Service, project: str, name: str, version: int | None) -> None:
    """Name a version: `show PROJECT --tag NAME` shows it."""
    try:
        made = app.documents_of(project).tag(project, name, version=version)
    except AlreadyExists as error:
        raise Refused(f"{project!r} has a tag {name!r} already: untag it first") from error
    except NotFound as error:
        raise Missing(f"project {project!r} has no version {version}") from error
    click.echo(f"version {made.number} of {project} is {made.name}")


@click.command()
@click.argument("project")
@click.argument("name")
@pass_opened
def untag(app: Service, project: str, name: str) -> None:
    """Take a name away. Its version stays."""
    app.documents_of(project).untag(project, name)
    click.echo(f"{project} has no tag {name}")


@click.command()
@click.argument("project")
@AS_JSON
@pass_opened
def tags(app: Service, project: str, as_json: bool) -> None:
    """The names of a project's versions."""
    found = list(app.documents_of(project).tags(project, limit=1000))
    if as_json:
        return print_json({"tags": [{"name": each.name, "version": each.number} for each in found]})
    lines = [(each.name, str(each.number), f"{each.time:%Y-%m-%d %H:%M}") for each in found]
    return print_table(project, ("tag", "version", "named"), lines)


@click.command()
@click.argument("project")
@click.option("--yes", is_flag=True, help="Don't ask.")
@pass_opened
def delete(app: Service, project: str, yes: bool) -> None:
    """Delete a project and its versions: hidden at once. Broken off, it goes on where it stopped when run again."""
    if not yes:
        click.confirm(f"Delete {project} with all its versions?", abort=True, err=True)
    for documents in (app.boards, app.repositories):
        try:
            documents.delete(project)
        except NotFound:
            continue
        return click.echo(f"deleted {project}")
    raise Missing(f"there is no project {project!r}")


# --- history of an item -----------------------------------------------------------------------------------------------
def item_history(app: Service, project: str, item: str, limit: int, before: int | None) -> list[ItemChange]:
    """Who changed `shapes/s1`, newest first. Missing."""
    documents: AnyDocuments = app.documents_of(project)
    name, _, id = item.partition("/")
    collection = documents.context.model.collections.get(name)
    if collection is None or not id:
        raise Missing(f"{item!r} is not an item: it is like {' or '.join(_examples(documents))}")
    return documents.item_history(project, cast("Items[Any]", collection), id, limit=limit, before=before)


def _examples(documents: AnyDocuments) -> list[str]:
    return [f"{name}/ID" for name in documents.context.model.collections]


def item_history_json(changes: list[ItemChange]) -> dict[str, Any]:
    return {"changes": [{**asdict(each), "time": each.time.isoformat()} for each in changes]}


def print_item_history(item: str, changes: list[ItemChange]) -> None:
    lines = [
        (
            f"{each.document_id} {each.version}",
            f"{each.time:%Y-%m-%d %H:%M:%S}",
            _verb(each),
            ", ".join(f"{m.name} {m.id} of {m.principal or m.client}" for m in each.mutations)
            + ("" if each.is_certain else " (one of these)"),
        )
        for each in changes
    ]
    print_table(item, ("version", "time", "", "by"), lines)


def _verb(change: ItemChange) -> str:
    if change.before is None:
        return "added"
    return "changed" if change.after is not None else "removed"


# --- merges -----------------------------------------------------------------------------------------------------------
def merge_json(found: Merge) -> dict[str, Any]:
    return {
        "merged": found.is_merged,
        "version": found.outcome.version if found.outcome is not None else None,
        "base": asdict(found.base),
        "ours": asdict(found.ours),
        "theirs": asdict(found.theirs),
        "taken": [{"collection": collection, "id": id} for collection, id in found.taken],
        "conflicts": [asdict(each) for each in found.conflicts],
    }


def _print_merge(onto: str, found: Merge) -> None:
    for each in found.conflicts:
        where = f"{each.collection}/{each.id}" if each.collection else each.id
        sides = ", ".join(f"{name} {_shown(each, name)}" for name in ("base", "ours", "theirs"))
        click.echo(clean(f"conflict in {where}: {sides}"))
    if not found.is_merged:
        click.echo(
            f"{len(found.conflicts)} conflicts; nothing was written. Say --prefer ours or theirs, or --choose for each."
        )
    elif found.outcome is None:
        click.echo(f"{onto} has all of it already")
    else:
        click.echo(f"merged {len(found.taken)} changes into {onto}, as version {found.outcome.version}")


def _shown(conflict: Any, side: str) -> str:
    value = getattr(conflict, side)
    if value is None:
        return "none"
    return str(value)[:SHOWN] if conflict.collection else repr(value)


def version_of_tag(app: Service, project: str, name: str) -> AnyProject:
    """A version by its name. Missing."""
    try:
        return app.documents_of(project).at(project, tag=name)
    except NotFound as error:
        raise Missing(f"project {project!r} has no tag {name!r}") from error
