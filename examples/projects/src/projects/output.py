"""What the command line prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from examples_shared.terminal import clean, print_table
from projects.errors import Missing
from projects.files import File
from projects.import_git import FILE_BYTES, ITEM_BYTES, CommitBytes, Imported
from projects.model import Project, Repository
from projects.service import AnyProject
from singletable import Page
from singletable.documents import Diff, Items, Listing, Replay, Version

HEAVIEST = 10
MOST_ITEMS = 200
"""Lines of a table; --json has all."""


# --- interfaces that scripts rely on ----------------------------------------------------------------------------------
def import_json(done: Imported, seconds: float) -> dict[str, Any]:
    """`versions` are all that the project has; `commits` are what this run imported, and bytes and seconds are theirs:
    an import that goes on where another stopped counts what it did itself."""
    return {
        "versions": done.versions,
        "commits": len(done.commits),
        "bytes_written": done.written,
        "bytes_if_copied": done.copied,
        "seconds": round(seconds, 3),
        "project": done.project,
    }


def version_json(found: AnyProject) -> dict[str, Any]:
    return {
        "id": found.id,
        "kind": _kind(found),
        "organisation": found.parent,
        "version": found.version,
        "time": found.time.isoformat(),
        "values": _values(found),
        "items": {name: {id: items.hash_of(id) for id in items} for name, items in _collections(found)},
    }


def projects_json(found: Sequence[tuple[str, Listing]]) -> dict[str, Any]:
    lines = [{"id": row.document_id, "kind": kind, "created": row.created.isoformat()} for kind, row in found]
    return {"projects": lines}


def history_json(page: Page[Version]) -> dict[str, Any]:
    return {"versions": [_version_line(row) for row in page], "after": page.cursor}


def diff_json(found: Diff) -> dict[str, Any]:
    values = {name: {"before": before, "after": after} for name, (before, after) in found.scalars.items()}
    items = {name: asdict(own) for name, own in found.collections.items()}
    return {"before": found.before, "after": found.after, "values": values, "items": items}


def replay_json(done: Replay) -> dict[str, Any]:
    rejected = [{"mutation": each.original.name, "error": each.outcome.error} for each in done.rejected]
    counts = {"onto": done.onto, "mutations": len(done.mutations), "rejected": rejected, "skipped": done.skipped}
    return counts | diff_json(done.diff)


def item_json(content: Any) -> Any:
    """A board's content as it is; a file's mode with its text, or with its bytes in hexadecimal digits."""
    if not isinstance(content, File):
        return content
    return {"mode": content.mode} | ({"hex": content.data.hex()} if content.data else {"text": content.text})


def item_of(found: AnyProject, path: str) -> Any:
    """The content of `shapes/s1` or `files/src/main.py`. Missing."""
    name, _, id = path.partition("/")
    items = dict(_collections(found)).get(name)
    if items is None or id not in items:
        raise Missing(f"version {found.version} of {found.id!r} has no item {path!r}")
    return items[id]


# --- for people -------------------------------------------------------------------------------------------------------
def print_import(done: Imported, seconds: float) -> None:
    heaviest = sorted(done.commits, key=lambda each: -each.written)[:HEAVIEST]
    if heaviest:
        title = f"{done.project}: the heaviest of {len(done.commits)} commits, in bytes"
        print_table(title, _COLUMNS, [_commit_line(each) for each in heaviest])
    over = sum(each.rest > each.allowed for each in done.commits)
    click.echo(f"imported {len(done.commits)} commits in {seconds:.2f} s; the project has {done.versions} versions")
    click.echo(f"wrote {done.written:,} bytes; copying every version whole would have written {done.copied:,}")
    click.echo(f"{over} commits wrote over {ITEM_BYTES:,} + {FILE_BYTES} a file bytes besides their changed contents")


def print_projects(organisation: str, found: Sequence[tuple[str, Listing]]) -> None:
    lines = [(row.document_id, kind, f"{row.created:%Y-%m-%d %H:%M}") for kind, row in found]
    print_table(organisation, ("project", "kind", "created"), lines)


def print_version(found: AnyProject) -> None:
    lines = [("kind", _kind(found)), ("organisation", found.parent), ("time", found.time.isoformat())]
    lines += [(name, str(value)) for name, value in _values(found).items()]
    print_table(f"{found.id}, version {found.version}", ("", ""), lines)
    for name, items in _collections(found):
        shown = [(id, items.hash_of(id)[:12]) for id in list(items)[:MOST_ITEMS]]
        print_table(f"{name}: {len(items)}", ("id", "sha256"), shown)
        if len(items) > len(shown):
            click.echo(f"and {len(items) - len(shown)} more; --json lists all")


def print_item(content: Any) -> None:
    if not isinstance(content, File):
        return click.echo(json.dumps(content, indent=2))
    click.echo(f"mode {content.mode}, {len(content.content)} bytes", err=True)
    if content.data:
        return click.echo(content.data)
    return click.echo("\n".join(map(clean, content.text.split("\n"))))


def print_history(project: str, page: Page[Version]) -> None:
    lines = [(str(row.number), f"{row.time:%Y-%m-%d %H:%M:%S}", _made_by(row), _about(row)) for row in page]
    print_table(project, ("version", "time", "by", ""), lines)
    if page.cursor is not None:
        click.echo(f"more: --after {page.cursor}")


def print_diff(project: str, found: Diff) -> None:
    lines = [(name, "value", f"{before!r} → {after!r}") for name, (before, after) in found.scalars.items()]
    for name, own in found.collections.items():
        parts = (("added", own.added), ("changed", own.changed), ("removed", own.removed))
        lines += [(name, verb, id) for verb, ids in parts for id in ids]
    print_table(f"{project}, from version {found.before} to {found.after}", ("", "", ""), lines[:MOST_ITEMS])
    if len(lines) > MOST_ITEMS:
        click.echo(f"and {len(lines) - MOST_ITEMS} more; --json lists all")


def print_replay(done: Replay) -> None:
    click.echo(f"replayed {len(done.mutations)} mutations onto {done.onto}, {len(done.rejected)} were rejected there")
    for each in done.rejected:
        click.echo(clean(f"{each.original.name} of version {each.original.version}: {each.outcome.error}"))
    print_diff(done.onto, done.diff)


_COLUMNS = (
    "version",
    "commit",
    "subject",
    "files",
    "changed",
    "written",
    "contents",
    "besides",
    "at most",
    "if copied",
)


def _commit_line(each: CommitBytes) -> tuple[str, ...]:
    numbers = (each.files, each.changed, each.written, each.contents, each.rest, each.allowed, each.copied)
    return str(each.version), each.commit[:10], each.subject[:50], *(f"{number:,}" for number in numbers)


def _version_line(row: Version) -> dict[str, Any]:
    mutations = [{"client": m.client, "id": m.id, "name": m.name, "rejected": m.rejected} for m in row.mutations]
    return {"version": row.number, "time": row.time.isoformat(), "values": row.scalars, "mutations": mutations}


def _made_by(row: Version) -> str:
    return ", ".join(f"{m.name}{' (rejected)' if m.rejected else ''}" for m in row.mutations)


def _about(row: Version) -> str:
    """A repository's newest commit; a board's name."""
    commit = str(row.scalars.get("commit", ""))
    return f"{commit[:10]} {row.scalars.get('subject', '')}" if commit else str(row.scalars.get("name", ""))


def _kind(found: AnyProject) -> str:
    return "board" if isinstance(found, Project) else "repository"


def _values(found: AnyProject) -> dict[str, str]:
    if isinstance(found, Project):
        return {"name": found.name, "description": found.description}
    return {"name": found.name, "commit": found.commit, "subject": found.subject}


def _collections(found: Project | Repository) -> Iterator[tuple[str, Items[Any]]]:
    if isinstance(found, Project):
        yield "shapes", found.shapes
        yield "comments", found.comments
    else:
        yield "files", found.files
