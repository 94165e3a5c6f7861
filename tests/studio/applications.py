"""The four applications with their own data, for a studio: what their tours load and write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from examples_demo.tours import TOURS
from goals.model import records
from manhunt.model import manhunt
from organisations.model import organisations
from projects.model import projects
from singletable import Database, Table, connect

TABLES: dict[str, Table] = {
    "organisations": organisations,
    "goals": records,
    "projects": projects,
    "manhunt": manhunt,
}


@dataclass(frozen=True)
class Application:
    """One of them, in a data file."""

    name: str
    table: Table
    target: str
    db: Database

    @property
    def module(self) -> str:
        return f"{self.name}.model"


def filled(name: str, folder: Path) -> Iterator[Application]:
    """An application whose tour was made."""
    target = f"local:{folder / name}.db"
    tour = next(tour for tour in TOURS if tour.application == name)
    with connect(target) as db:
        for call in tour.calls(db, folder / "blobs"):
            call.act()
        yield Application(name, TABLES[name], target, db)
