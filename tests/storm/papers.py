"""Documents in the storm: two clients write each, processes of two versions apply, garbage is collected meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from singletable import AlreadyExists, Database
from singletable.documents import Documents, LocalBlobs, Outcome, Submission
from singletable.errors import Corrupt
from tests.storm import paper_document
from tests.storm.journal import Journal, say, told
from tests.storm.life import Life
from tests.storm.models import VERSION
from tests.storm.paper_document import Paper, papers
from tests.support.findings import but_garbage

LENGTH = 60
"""Mutations of a client in one document; then it goes on with the next."""
POISON_EVERY = 17
NEWER_EVERY = 13
"""The newer version's own mutation: of the clients that run it."""


def documents_in(db: Database, folder: str) -> Documents[Paper]:
    return Documents(db, Paper, blobs=LocalBlobs(Path(folder) / "papers"))


class Papers:
    """One client of `<pair>-<side>`. It sends its n-th mutation of a document again until it knows the outcome."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.db = life.database(waits=False)
        self.docs = documents_in(self.db, life.folder)
        self.pair, _, self.side = life.client.rpartition("-")
        self.paper = 0
        self.is_created = False

    @property
    def id(self) -> str:
        return f"{self.pair}-{self.paper}"

    def close(self) -> None:
        self.db.close()

    def step(self) -> None:
        verbs = (self.write, self.process, self.read, self.collect)
        verb = self.life.chance.choices(verbs, (70, 15, 10, 2))[0]
        self.life.attempt("paper", verb, refused=(Corrupt,), is_one_write=False)

    def write(self) -> None:
        self._create()
        said = self.docs.last_ids(self.id, [self.life.client])[self.life.client]
        if said >= LENGTH:
            self.paper, self.is_created = self.paper + 1, False
            return
        wanted = min(LENGTH, said + self.life.chance.randint(1, 12))
        self._tell(self.docs.apply(self.id, [self.mutation(n) for n in range(said + 1, wanted + 1)]))

    def mutation(self, n: int) -> Submission:
        """The n-th of this client in a document: the same whenever it is made again."""
        name, args = choose(n, f"{self.life.client}:{n}")
        made: Submission = getattr(paper_document, name)(**args).by(self.life.client, n)
        return made

    def process(self) -> None:
        self._create()
        self._tell(self.docs.process(self.id))

    def read(self) -> None:
        self._create()
        log = self.docs.head(self.id).log
        assert len(set(log)) == len(log), f"{self.id} was written to twice"

    def collect(self) -> None:
        """One client of a pair collects, and takes over what a run left that was killed."""
        if self.side == "0":
            self._create()
            self.docs.collect_garbage(self.id, take_over=True)

    def _create(self) -> None:
        if not self.is_created:
            try:
                self.docs.create(self.pair, self.id)
            except AlreadyExists:
                self.is_created = True
            self.is_created = True

    def _tell(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.status in ("applied", "rejected"):
                place = f"{self.id} {outcome.client} {outcome.id}"
                say(say="mutated", place=place, status=outcome.status, why=outcome.error)


def choose(n: int, word: str, version: int = VERSION) -> tuple[str, dict[str, Any]]:
    """The name and arguments of a client's n-th mutation."""
    if n % POISON_EVERY == 0:
        return "poison", {"word": word}
    if n % NEWER_EVERY == 0 and version == 2:
        return "note_twice", {"word": word}
    if n % 3 == 0:
        return "draw", {"word": word, "width": n * n}
    before = word.replace(f":{n}", f":{n - 1}")
    if n % 3 == 1 and n > 1 and choose(n - 1, before, version)[0] == "draw":
        return "redraw", {"word": word, "figure": before}
    return "note", {"word": word}


# --- afterwards ---------------------------------------------------------------------------------------------------
def settle(db: Database, folder: str, clients: list[str]) -> None:
    """Apply what waits, and take over what dead collections left."""
    docs = documents_in(db, folder)
    for id in _written(docs, clients):
        docs.process(id)
        docs.collect_garbage(id, take_over=True)


def judge(db: Database, folder: str, clients: list[str], journal: Journal) -> Iterator[str]:
    """Every mutation once, in its client's order, with one outcome; every version with its blobs.

    A mutation that found no memory in a process with a limit is rejected, and said to be.
    """
    docs = documents_in(db, folder)
    for id in _written(docs, clients):
        head = docs.head(id)
        log = list(head.log)
        if {figure.colour for figure in head.figures.all().values()} - {"black", "blue"}:
            yield f"{id}: a figure has another colour than its version gives it"
        pair = id.rpartition("-")[0]
        for client in [client for client in clients if client.startswith(f"{pair}-")]:
            yield from _judge_client(docs, id, client, log, journal)
        yield from (f"{id}: {told(finding)}" for finding in but_garbage(docs.check(id)))
    yield from (told(finding) for finding in db.check(papers))


def _judge_client(docs: Documents[Paper], id: str, client: str, log: list[str], journal: Journal) -> Iterator[str]:
    last = docs.last_ids(id, [client])[client]
    rejected = {n for n in range(1, last + 1) if n % POISON_EVERY == 0} | _without_memory(docs, id, client, last)
    words = [f"{client}:{n}" for n in range(1, last + 1) if n not in rejected]
    written = [word for word in log if word.startswith(f"{client}:")]
    if written != words:
        yield f"{id}: {client} wrote {len(words)}, of which {len(written)} are there: {set(words) ^ set(written)}"
    for n in range(1, LENGTH + 1):
        told = journal.mutated.get(f"{id} {client} {n}")
        wanted = {"rejected" if n in rejected else "applied"}
        if told is not None and (told != wanted or n > last):
            why = journal.reasons.get(f"{id} {client} {n}")
            yield f"{id}: mutation {n} of {client} was told to be {told}, the last one of {last}: {why}"


def _without_memory(docs: Documents[Paper], id: str, client: str, last: int) -> set[int]:
    outcomes = docs.outcomes(id, [(client, n) for n in range(1, last + 1)])
    return {found.id for found in outcomes if found is not None and (found.error or "").startswith("MemoryError")}


def _written(docs: Documents[Paper], clients: list[str]) -> list[str]:
    pairs = sorted({client.rpartition("-")[0] for client in clients})
    found: list[str] = []
    for pair in pairs:
        after: str | None = None
        while True:
            page = docs.page(pair, limit=100, after=after)
            found += [listing.document_id for listing in page.items]
            if page.cursor is None:
                break
            after = page.cursor
    return found
