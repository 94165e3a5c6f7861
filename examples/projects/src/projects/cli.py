"""The command line: the operator's front door, who may do everything.

python -m projects --db local:projects.db --blobs blobs import-git . --json
python -m projects --db local:projects.db --blobs blobs export main-1a2b3c4d --version 7 --to /tmp/seven
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from examples_shared.cost import metered
from examples_shared.opening import Opening, pass_opened
from examples_shared.reports import report_command
from examples_shared.terminal import Commands, print_cost, print_json, progress_bar, stopwatch
from projects.board.commands import serve, token
from projects.board.processors import work
from projects.branching import (
    branch,
    branches,
    delete,
    item_history,
    item_history_json,
    merge,
    print_item_history,
    tag,
    tags,
    untag,
    version_of_tag,
)
from projects.export import export_version
from projects.import_git import import_git
from projects.model import projects as projects_table
from projects.output import (
    diff_json,
    history_json,
    import_json,
    item_json,
    item_of,
    print_diff,
    print_history,
    print_import,
    print_item,
    print_projects,
    print_replay,
    print_version,
    projects_json,
    replay_json,
    version_json,
)
from projects.service import Service, blobs_at

DEMO = "demo"
"""The organisation where none is named, which is that of the board's demo."""
TIMES = ("%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
AS_JSON = click.option("--json", "as_json", is_flag=True)
ORGANISATION = click.option("--organisation", default=DEMO, show_default=True)


@click.group(cls=Commands)
@click.option(
    "--db",
    "target",
    default="local:data/projects.db",
    show_default=True,
    envvar="PROJECTS_DB",
    help="local, local:FILE, aws, or an address.",
)
@click.option(
    "--blobs",
    default="data/blobs",
    show_default=True,
    envvar="PROJECTS_BLOBS",
    help="A directory, or s3://bucket/prefix.",
)
@click.pass_context
def main(context: click.Context, target: str, blobs: str) -> None:
    """Boards and git histories in one DynamoDB table and a blob store, every version kept."""
    context.obj = Opening(context, target, projects_table, lambda db: Service(db, blobs_at(blobs)))


main.add_command(report_command(projects_table, Path(__file__).with_name("reports"), lambda app: app.db))


@main.command()
@pass_opened
def init(app: Service) -> None:
    """Create the table, on AWS or at an address. Locally that happens by itself."""
    click.echo(f"table {app.create_table()} is ready")


# --- making -----------------------------------------------------------------------------------------------------------
@main.command()
@click.argument("project")
@ORGANISATION
@click.option("--name", default="")
@click.option("--description", default="")
@pass_opened
def create(app: Service, project: str, organisation: str, name: str, description: str) -> None:
    """An empty board."""
    app.create_board(organisation, project, name, description)
    click.echo(f"created board {project}, version 0")


@main.command("import-git")
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--limit", type=click.IntRange(1), help="The first so many commits.")
@click.option("--project", help="Its id; by default the folder's name and the first commit.")
@ORGANISATION
@AS_JSON
@pass_opened
def import_git_(
    app: Service, repository: Path, limit: int | None, project: str | None, organisation: str, as_json: bool
) -> None:
    """Replay a git history along first parents, oldest first: version n is the n-th commit.

    What is there already is not done again: an import that was broken off goes on where it stopped.
    """
    with stopwatch() as seconds:
        with progress_bar(f"importing {repository.resolve().name}") as progress:
            done = import_git(
                app.db,
                app.blobs,
                repository,
                organisation=organisation,
                project=project,
                limit=limit,
                progress=progress,
            )
        took = seconds()
    if as_json:
        return print_json(import_json(done, took))
    return print_import(done, took)


@main.command()
@click.argument("project")
@click.argument("mutation")
@click.argument("arguments")
@pass_opened
def mutate(app: Service, project: str, mutation: str, arguments: str) -> None:
    """Change a board: put_shape '{"id": "s1", "shape": {"kind": "note", "text": "Hello"}}'."""
    click.echo(f"{mutation} made version {app.mutate(project, mutation, arguments)}")


@main.command()
@click.argument("project")
@click.argument("version", type=click.IntRange(0))
@pass_opened
def restore(app: Service, project: str, version: int) -> None:
    """Make a project what it was in a version. That is a version more: nothing is lost."""
    click.echo(f"{project} is what it was in version {version}, as version {app.restore(project, version)}")


@main.command()
@click.argument("project")
@click.option("--since", type=click.IntRange(0), required=True, help="The version whose successors are replayed.")
@click.option("--onto", required=True, help="Another project.")
@AS_JSON
@pass_opened
def replay(app: Service, project: str, since: int, onto: str, as_json: bool) -> None:
    """Apply to another project what was done to this one since a version, as a rebase does. It can be run again."""
    done = app.replay(project, since, onto)
    if as_json:
        return print_json(replay_json(done))
    return print_replay(done)


@main.command()
@click.argument("project")
@click.option("--version", type=click.IntRange(0), required=True)
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="Made, or empty.")
@pass_opened
def export(app: Service, project: str, version: int, folder: Path) -> None:
    """Write the files of a repository's version, byte for byte, with modes and symlinks."""
    click.echo(f"wrote {export_version(app, project, version, folder)} files into {folder}")


# --- upkeep -----------------------------------------------------------------------------------------------------------
@main.command()
@click.argument("project")
@pass_opened
def check(app: Service, project: str) -> None:
    """Look for what is not as it should be in a project: its versions, their contents, its mutations."""
    findings = app.documents_of(project).check(project)
    for finding in findings:
        click.echo(str(finding))
    if findings:
        raise click.ClickException(f"{len(findings)} findings in {project}")
    click.echo(f"{project} is sound")


@main.command("collect-garbage")
@click.argument("project")
@pass_opened
def collect_garbage(app: Service, project: str) -> None:
    """Delete contents that no version reaches. What is given up by one run goes in the next two."""
    done = app.documents_of(project).collect_garbage(project)
    click.echo(f"deleted {done.deleted} of {done.stored} contents")


# --- reading ----------------------------------------------------------------------------------------------------------
@main.command()
@ORGANISATION
@AS_JSON
@pass_opened
def projects(app: Service, organisation: str, as_json: bool) -> None:
    """The projects of an organisation, by their ids."""
    found, took = metered(app.db, lambda: app.projects(organisation))
    if as_json:
        return print_json(projects_json(found))
    print_projects(organisation, found)
    return print_cost(took.cost)


@main.command()
@click.argument("project")
@click.argument("item", required=False)
@click.option("--version", type=click.IntRange(0), help="By default the newest.")
@click.option("--time", type=click.DateTime(TIMES), help="What was the newest then, in UTC where no zone is given.")
@click.option("--tag", "name", help="The version of this name.")
@AS_JSON
@pass_opened
def show(
    app: Service,
    project: str,
    item: str | None,
    version: int | None,
    time: datetime | None,
    name: str | None,
    as_json: bool,
) -> None:
    """A version of a project; with ITEM, like shapes/s1 or files/README.md, the content of that."""
    if [version, time, name].count(None) < 2:
        raise click.UsageError("--version, --time and --tag name one version each: leave the others out")
    found, took = metered(
        app.db, lambda: app.version(project, version, time) if name is None else version_of_tag(app, project, name)
    )
    if item is not None:
        content = item_of(found, item)
        return print_json(item_json(content)) if as_json else print_item(content)
    if as_json:
        return print_json(version_json(found))
    print_version(found)
    return print_cost(took.cost)


@main.command()
@click.argument("project")
@click.argument("item", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", help="The cursor that the page before gave.")
@click.option("--before", type=click.IntRange(1), help="With ITEM: what was changed before this version.")
@AS_JSON
@pass_opened
def history(
    app: Service, project: str, item: str | None, limit: int, after: str | None, before: int | None, as_json: bool
) -> None:
    """The versions of a project, newest first, with the mutations that made each; with ITEM who changed that."""
    if item is not None:
        changes, took = metered(app.db, lambda: item_history(app, project, item, limit, before))
        if as_json:
            return print_json(item_history_json(changes))
        print_item_history(item, changes)
        return print_cost(took.cost)
    found, took = metered(app.db, lambda: app.history(project, limit, after))
    if as_json:
        return print_json(history_json(found))
    print_history(project, found)
    return print_cost(took.cost)


@main.command()
@click.argument("project")
@click.argument("before", type=click.IntRange(0))
@click.argument("after", type=click.IntRange(0))
@AS_JSON
@pass_opened
def diff(app: Service, project: str, before: int, after: int, as_json: bool) -> None:
    """What differs between two versions: values, and items added, changed, removed. No content is read."""
    found, took = metered(app.db, lambda: app.documents_of(project).diff(project, before, after))
    if as_json:
        return print_json(diff_json(found))
    print_diff(project, found)
    return print_cost(took.cost)


# --- branches and names -----------------------------------------------------------------------------------------------
for command in (branch, branches, merge, tag, untag, tags, delete):
    main.add_command(command)


# --- the board --------------------------------------------------------------------------------------------------------
main.add_command(serve)
main.add_command(token)
main.add_command(work)
