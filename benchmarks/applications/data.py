"""The applications' tables with a thousand to a million items, and documents of a hundred and a thousand.

Data files, built once and kept in `data/benchmarks/`:

    python -m benchmarks.applications.data                  builds those that are missing
    python -m benchmarks.applications.data 1000 100000      of these sizes only

A million items take some minutes. A file is built in memory where there is a file system for that, and gets its name
when it is whole: a build that was broken off is begun anew. Everything in it is made from numbers alone.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Final

import obstore.store
from msgspec import structs

from goals.generated import FLAT, generate
from goals.model import records
from manhunt.model import Delivery, Kind, Planned, Resolution, Search, SearchAttempt, Status, manhunt
from organisations.model import (
    Organisation,
    OrganisationMember,
    OrganisationService,
    User,
    UserOrganisation,
    organisations,
)
from projects.model import Project, Shape, projects, put_shape
from singletable import ANY, Database, Entity, Key, Table, connect
from singletable.documents import Documents, ObjectBlobs
from singletable.graph import Graph
from singletable.operations import MAX_BATCH_WRITE, batch_write
from singletable.schema.models import model_for
from singletable.tables import create

SIZES: Final = (1_000, 100_000, 1_000_000)
"""Items in the table."""
KEPT: Final = Path(__file__).parents[2] / "data" / "benchmarks"
_MEMORY: Final = Path("/dev/shm")
_ITEMS_A_GOAL: Final = 11
"""Itself and ten edges."""
MEMBERS: Final = 8
_ITEMS_AN_ORGANISATION: Final = 20
"""Itself, a service, eight members on both sides, two users."""
ATTEMPTS: Final = 9
ITEMS_A_SEARCH: Final = 1 + ATTEMPTS
DOMAIN: Final = "d1"
BOARD_SIZES: Final = (100, 1_000)
"""Items in a document."""
ORGANISATION, BOARD, TWIN = "o1", "board-one", "board-two"
_BEGAN: Final = datetime(2026, 1, 5, 8, 30, tzinfo=timezone.utc)
_A_BATCH: Final = 400

Fill = Callable[[Database, int], None]


def fill_goals(db: Database, items: int) -> None:
    """A graph of goals with ten edges each; one team has a part in all."""
    db.create_table(records)
    for part in generate(items // _ITEMS_A_GOAL, FLAT):
        Graph(db).load(part.nodes, part.edges)


def fill_organisations(db: Database, items: int) -> None:
    """Organisations of eight members, each of whom is a user in four."""
    db.create_table(organisations)
    entities = _organisations(items // _ITEMS_AN_ORGANISATION)
    while part := list(islice(entities, _A_BATCH)):
        db.write_many(puts=[entity for entity in part if not isinstance(entity, Organisation)])
        for organisation in (entity for entity in part if isinstance(entity, Organisation)):
            db.put(organisation)  # it counts its writes


def _organisations(count: int) -> Iterator[Entity]:
    for number in range(count):
        id, name = organisation_id(number), f"Organisation {number}"
        emails = [email(number * 2 + position, count) for position in range(MEMBERS)]
        yield Organisation(organisation_id=id, organisation_name=name, owners={emails[0]})
        yield OrganisationService(organisation_id=id, service_id="pages", service_name="Pages")
        for address in emails[:2]:
            yield User(
                email=address, first_name="Ada", last_name="Lovelace", phone="+44 20 7946 0000", created_at=_BEGAN
            )
        for position, address in enumerate(emails):
            since = _BEGAN + timedelta(minutes=position)
            yield UserOrganisation(
                email=address, organisation_id=id, organisation_name=name, invited_at=since, accepted_at=since
            )
            yield OrganisationMember(
                organisation_id=id,
                email=address,
                first_name="Ada",
                last_name="Lovelace",
                created_at=_BEGAN,
                groups={"serviceGroup/pages/reader"} if position else {"organisationGroup/owner"},
                accepted_at=since,
            )


def organisation_id(number: int) -> str:
    return f"o{number:06}"


def email(number: int, organisations: int) -> str:
    return f"user{number % (2 * organisations):06}@example.org"


def fill_manhunt(db: Database, items: int) -> None:
    """Searches that were answered at the ninth attempt, four for each contact."""
    db.run(create(db.port, structs.replace(manhunt.definition, stream=None)))  # what fills a table is nobody's news
    entities = _searches(items // ITEMS_A_SEARCH)
    while part := [model_for(entity).item(entity) for entity in islice(entities, _A_BATCH)]:
        batches = [
            batch_write(manhunt.name, part[i : i + MAX_BATCH_WRITE]) for i in range(0, len(part), MAX_BATCH_WRITE)
        ]
        assert not any(db.run(db.port.send_all(batches)))


def _searches(count: int) -> Iterator[Entity]:
    plan = [Planned(f"m{step}", Kind.SMS, f"+4420794600{step:02}", 60) for step in range(ATTEMPTS)]
    for number in range(count):
        began = _BEGAN + timedelta(minutes=number)
        yield Search(
            search_id=search_id(number),
            domain_id=DOMAIN,
            contact_id=f"c{number // 4:06}",
            contact_name="Ada Lovelace",
            started_at=began,
            status=Status.ANSWERED,
            message="$name is needed at the theatre",
            metadata={"name": "Ada"},
            plan=plan,
            answer_seconds=600,
            step=ATTEMPTS,
            begun_at=began,
            ended_at=began + timedelta(minutes=ATTEMPTS),
            ended_step=ATTEMPTS,
            resolution=Resolution("Ada Lovelace", "sms", "on my way"),
        )
        for step, method in enumerate(plan):
            at = began + timedelta(minutes=step)
            yield SearchAttempt(
                search_id=search_id(number),
                step=step,
                method=method,
                due_at=at,
                attempted_at=at,
                worker="w1",
                delivery=Delivery.SENT,
                tries=1,
                claimed_at=at,
                sent_at=at,
                reference=f"r{number}-{step}",
            )


def search_id(number: int) -> str:
    return f"s{number:06}"


# --- documents --------------------------------------------------------------------------------------------------------
copied = Table("copied")


class Copied(Entity, table=copied, type="copied"):
    """A shape of one version of a board, as a model keeps it that copies a board for each version."""

    board: str
    version: int
    id: str
    shape: Shape

    @copied.key
    @staticmethod
    def of_version(board: str, version: int, id: str = ANY) -> Key:
        """The shapes of a version."""
        return f"Board#{board}", f"{version:012}#{id}"


def fill_documents(db: Database, items: int) -> None:
    """Two boards that are alike, and the same as copied shapes. The contents are thrown away: they follow from the
    numbers of the shapes."""
    db.create_table(projects)
    documents = Documents(db, Project, blobs=ObjectBlobs(obstore.store.MemoryStore()))
    for board in (BOARD, TWIN):
        documents.create(ORGANISATION, board, name="A board")
        puts = [put_shape(id=shape_id(n), shape=shape(n)).by("load", n + 1) for n in range(items)]
        for first in range(0, items, _A_BATCH):
            documents.apply(board, puts[first : first + _A_BATCH])
    db.write_many(puts=[Copied(board=BOARD, version=1, id=shape_id(n), shape=shape(n)) for n in range(items)])


def shape_id(number: int) -> str:
    return f"{number:036}"


def shape(number: int) -> Shape:
    """About 300 bytes."""
    return {"kind": "note", "x": number, "y": number, "width": 160, "height": 100, "text": f"Note {number}. " * 20}


APPLICATIONS: Final[Mapping[str, Fill]] = {
    "goals": fill_goals,
    "organisations": fill_organisations,
    "manhunt": fill_manhunt,
    "documents": fill_documents,
}


@contextmanager
def opened(application: str, items: int, say: Callable[[str], None]) -> Iterator[Database]:
    """A database on a copy of the data file, which is built where it is missing, so that the file stays as it is."""
    file = build(application, items, say)
    with tempfile.TemporaryDirectory(dir=_scratch(), ignore_cleanup_errors=True) as place:
        shutil.copy(file, copied := Path(place) / file.name)
        with connect(f"local:{copied}") as db:
            yield db


def build(application: str, items: int, say: Callable[[str], None]) -> Path:
    """The application's data file of that many items."""
    file = KEPT / f"{application}-{items}.db"
    if file.exists():
        return file
    say(f"building {file.name}, once; a million items take some minutes")
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_scratch(), ignore_cleanup_errors=True) as place:
        made = Path(place) / file.name
        with connect(f"local:{made}") as db:
            APPLICATIONS[application](db, items)
        draft = file.with_suffix(".part")
        shutil.copy(made, draft)
        draft.rename(file)
    return file


def _scratch() -> Path | None:
    return _MEMORY if _MEMORY.is_dir() else None


def main(sizes: Sequence[int]) -> None:
    for application in APPLICATIONS:
        own = BOARD_SIZES if application == "documents" else SIZES
        for items in own if not sizes else [size for size in own if size in sizes]:
            build(application, items, lambda said: print(said, file=sys.stderr, flush=True))


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
