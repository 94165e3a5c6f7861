"""The pictures of the documentation: of which page of which application, how large, and what each depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from singletable.studio.pages import pages

ROOT: Final = Path(__file__).parents[2]
_NAMED: Final = re.compile(r'\{%-?\s*(?:extends|import|include|from)\s+"([^"]+)"')
STUDIO: Final = ROOT / "src" / "singletable" / "studio"
BOARD: Final = "lighthouse"
"""The document that is shown."""
Application = Literal["goals", "manhunt", "organisations", "projects"]


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    application: Application
    path: str
    says: str
    """What is seen, for who does not see it."""
    height: int = 800
    scheme: Literal["light", "dark"] = "light"
    width: int = 1200
    wait_for: str = ""
    """A selector of what a script draws."""

    @property
    def file(self) -> str:
        return f"{self.name}.png"


QUESTION: Final = """-- Members of each group
SELECT "group", count(*) AS members FROM group_member GROUP BY ALL ORDER BY members DESC, "group\""""
SHOTS: Final = (
    Shot("home", "organisations", "/", "Home: classes with counts, sizes, and keys in the table and its index."),
    Shot("patterns", "organisations", "/patterns", "Patterns: every way to read, with its keys and cost."),
    Shot(
        "pattern",
        "organisations",
        "/patterns/organisations/OrganisationMember/of_organisation?organisation_id=harbour&personal=shown",
        "A pattern as a form, with what it found, and what it cost.",
    ),
    Shot(
        "partition",
        "organisations",
        "/partition/organisations?pk=organisation%2Fharbour",
        "A partition in key order: each class in its colour, field names over the values of keys.",
    ),
    Shot(
        "item",
        "organisations",
        "/item/organisations?pk=organisation%2Fharbour&sk=organisationMember%2Fada",
        "An item: its attributes, its size, the index entries that it has.",
    ),
    Shot("graph", "goals", "/graph/records?node=GOAL-G1", "A node with its neighbours.", wait_for="svg"),
    Shot(
        "document",
        "projects",
        f"/documents/projects/Project?id={BOARD}&personal=shown",
        "A document: its versions, what changed, who and when.",
    ),
    Shot("work", "manhunt", "/work/manhunt", "Work: consumers, tasks by due time, what was set aside."),
    Shot("model", "organisations", "/model/organisations", "Model: classes, and what names what.", scheme="dark"),
    Shot("sql", "organisations", f"/sql?sql={quote(QUESTION)}", "SQL: a question to the last export, drawn."),
)


def depends_on(shot: Shot) -> list[Path]:
    """The files that a picture is made of: its page's template with those that it names, its styles and scripts."""
    page = next(each for each in pages() if _fits(each.path, shot.path.partition("?")[0]))
    names = {f"static/{name}" for name in ("studio.css", "studio.js", page.style, page.script) if name}
    waiting = [page.template, "_parts.html"]
    while waiting:
        name = f"templates/{waiting.pop()}"
        if name not in names:
            names.add(name)
            waiting += _NAMED.findall((STUDIO / name).read_text())
    return [STUDIO / name for name in sorted(names)]


def digest_of(shot: Shot) -> str:
    """Of the picture's description and of what it depends on."""
    found = sha256(repr(shot).encode())
    for file in depends_on(shot):
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def _fits(pattern: str, path: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(
        want.startswith("{") or want == part for want, part in zip(wanted, parts, strict=True)
    )
