"""The model as complete pages of HTML: no script, no server, no request to anywhere. They open from a disk.

index.html          every table: what names what, classes, access patterns, settings
TABLE.CLASS.html    a page for each class
model.json          the same as JSON
studio.css, model.css

The same declaration gives the same bytes, so a repository that holds them shows in each review what changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.studio.html import environment, render
from singletable.studio.model.diagram import colours_of, diagram_of
from singletable.studio.model.views import ModelView
from singletable.studio.text import encoded

INDEX: Final = "index.html"
_JSON: Final = "model.json"
_STYLES: Final = ("studio.css", "model.css")
_STATIC: Final = Path(__file__).parents[1] / "static"


class Written(Struct, frozen=True):
    """The changes of a folder."""

    files: int
    changed: int
    """The number of new or different pages."""
    removed: int
    """The number of pages of removed classes."""


@dataclass(frozen=True, eq=False)
class PageLinks:
    """Links between the pages of a folder."""

    pages: Mapping[tuple[str, str], str]

    def entity(self, table: str, name: str) -> str:
        return f"{quote(self.pages[table, name])}.html"

    def pattern(self, table: str, entity: str, name: str) -> str:
        """The patterns of a class stand on its page, those of a collection with their table."""
        page = self.pages.get((table, entity))
        return f"{quote(page)}.html#patterns" if page is not None else f"{INDEX}#collection-{table}-{quote(entity)}"


def write_site(model: ModelView, folder: Path) -> Written:
    """Write the pages into a folder, which is made where it is missing.

    Pages that an earlier call wrote there, and that the model has no more, are removed; other files stay.
    InvalidRequest if the folder has other files only.
    """
    before = _known(folder)
    files = dict(site_files(model))
    folder.mkdir(parents=True, exist_ok=True)
    gone = [name for name in before if name not in files and (folder / name).is_file()]
    for name in gone:
        (folder / name).unlink()
    changed = [name for name, content in files.items() if _read(folder / name) != content]
    for name in changed:
        (folder / name).write_bytes(files[name])
    return Written(len(files), len(changed), len(gone))


def site_files(model: ModelView) -> Iterator[tuple[str, bytes]]:
    """Each file with its content."""
    templates, links = environment(), PageLinks(model.pages)
    drawn = [
        (table, diagram_of(table, lambda each: links.entity(each.table, each.name)), colours_of(table))
        for table in model.tables
    ]
    names: dict[str, Any] = {"model": model, "links": links}
    yield INDEX, render(templates, "static_model.html", {**names, "tables": drawn}).encode()
    for table, _, colours in drawn:
        for view in table.classes:
            page = render(templates, "static_class.html", {**names, "view": view, "colours": colours})
            yield f"{view.page}.html", page.encode()
    yield _JSON, msgspec.json.format(encoded(model), indent=1) + b"\n"
    for style in _STYLES:
        yield style, (_STATIC / style).read_bytes()


class _Known(Struct):
    """The part that is read of the JSON of an earlier call."""

    class SiteTable(Struct):
        class Class(Struct):
            page: str

        classes: list[Class]

    tables: list[SiteTable]


def _known(folder: Path) -> list[str]:
    """The pages that an earlier call wrote."""
    if not folder.exists() or not any(folder.iterdir()):
        return []
    try:
        site = msgspec.json.decode((folder / _JSON).read_bytes(), type=_Known)
    except (OSError, msgspec.MsgspecError):
        raise InvalidRequest(
            f"{folder} holds other files, and no model.json that an earlier export wrote",
            hint="Name a new folder, or an empty one.",
        ) from None
    pages = (each.page for table in site.tables for each in table.classes)
    return [f"{page}.html" for page in pages if Path(page).name == page]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
