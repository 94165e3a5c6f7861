"""Clients push in every order, twice and with gaps, processors race, answers get lost: and a model says the same."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from singletable import OutcomeUnknown, SingletableError, Unavailable, connect
from singletable.documents import BlobStore, Documents, LocalBlobs, Mutation, Submission
from singletable.documents.document import document_model
from singletable.errors import Corrupt
from singletable.wire import RetryPolicy
from tests.documents.models import (
    Project,
    Shape,
    app,
    delete_shape,
    fail,
    move_shape,
    note,
    nothing,
    put_shape,
    rename,
    said,
)
from tests.faults.actions import ApplyThen500, ApplyThenCut, DropBefore, PartialPage, Throttle, TruncateBody
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.findings import but_garbage
from tests.support.sampling import fewer_elsewhere
from tests.support.traits import LOCAL

CLIENTS = ("a", "b", "c")
ITEMS = st.sampled_from(["s1", "s2", "s3"])
NUMBERS = st.integers(0, 3)
MUTATIONS: st.SearchStrategy[Mutation] = st.one_of(
    st.builds(lambda i, n: put_shape(id=i, shape=Shape(n, n, "t")), ITEMS, NUMBERS),
    st.builds(lambda i, n: put_shape(id=i, shape=Shape(n, n, "large" * 300)), ITEMS, NUMBERS),
    st.builds(lambda i, n: move_shape(id=i, x=n, y=n), ITEMS, NUMBERS),
    st.builds(lambda i: delete_shape(id=i), ITEMS),
    st.builds(lambda n: rename(name="n" * n * 600), NUMBERS),
    st.builds(lambda n: note(word=str(n)), NUMBERS),
    st.just(nothing()),
    st.just(fail(after="x")),
    st.just(Mutation.of("$unknown", {})),
    st.just(Mutation.of("rename", {"name": 1})),
)
_LOSSES = (ApplyThenCut(), ApplyThen500(), DropBefore(), TruncateBody(), Throttle())


class FlakyBlobs(LocalBlobs):
    """A directory that fails now and then, before or after it has done what it was asked for."""

    def __init__(self, directory: str, faults: Faults) -> None:
        super().__init__(directory)
        self.faults = faults

    def put(self, path: str, data: bytes) -> bool:
        return bool(self._perhaps(lambda: super(FlakyBlobs, self).put(path, data)))

    def get(self, path: str, most: int) -> bytes | None:
        found: bytes | None = self._perhaps(lambda: super(FlakyBlobs, self).get(path, most))
        return found

    def _perhaps(self, work: Any) -> Any:
        chance = self.faults._chance.random() if self.faults.rules else 1.0
        if chance < 0.03:
            raise Unavailable("the blob store is away")
        found = work()
        if chance < 0.06:
            raise Unavailable("the answer of the blob store is lost")
        return found


class Model:
    """What the mutations do, written once more in the plainest way."""

    def __init__(self) -> None:
        self.name = ""
        self.log: list[str] = []
        self.shapes: dict[str, Shape] = {}

    def apply(self, mutation: Mutation) -> bool:
        """False where it is rejected, and changes nothing."""
        good = mutation.name != "$unknown" and mutation.arguments != '{"name":1}'
        given: Any = document_model(Project).mutators[mutation.name].read(mutation.arguments) if good else {}
        match mutation.name if good else "":
            case "put_shape":
                self.shapes[given["id"]] = given["shape"]
            case "move_shape" if given["id"] in self.shapes:
                self.shapes[given["id"]] = Shape(given["x"], given["y"], self.shapes[given["id"]].text)
            case "delete_shape" if given["id"] in self.shapes:
                del self.shapes[given["id"]]
            case "rename" if len(given["name"]) < 1400:
                self.name = given["name"]
            case "note":
                self.log.append(given["word"])
            case "nothing":
                return True
            case _:
                return False
        return True


class Clients(RuleBasedStateMachine):
    """The model: what each client has pushed under each id; its first push of an id counts."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.faults = Faults(seed=1)
        proxy = self.stack.enter_context(FaultProxy(self.url, self.faults))
        directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        flaky = FlakyBlobs(directory, self.faults)
        self.workers = [self._documents(proxy.url, flaky) for _ in range(2)]
        self.reader = self._documents(self.url, LocalBlobs(directory))
        self.made: dict[str, list[Mutation]] = {client: [] for client in CLIENTS}
        self.id = ""

    def _documents(self, url: str, store: BlobStore) -> Documents[Project]:
        db = self.stack.enter_context(connect(url, environ={}, retry=RetryPolicy(base_seconds=0.001, attempts=4)))
        db.port.traits = LOCAL
        return Documents(db, Project, blobs=store)

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        db: Any = self.reader.db
        if db.describe_table(app) is not None:
            db.delete_table(app)
        db.create_table(app)
        for worker in self.workers:
            worker.db.port.ready.add(app.name)
        self.id = "p1"
        self.reader.create("o1", self.id)
        self.faults._chance.seed(seed)
        self.faults.add(*(Rule(Match(probability=0.02), loss) for loss in _LOSSES))
        self.faults.add(Rule(Match("TransactWriteItems", probability=0.15), ApplyThenCut()))
        self.faults.add(Rule(Match("Query", probability=0.1), PartialPage(1)))

    def teardown(self) -> None:
        try:
            if self.id:
                self.faults.clear()
                for client, mutations in self.made.items():
                    self._push(0, client, range(1, len(mutations) + 1))
                self.reader.process(self.id)
                self.check_versions()
                assert self.reader.last_ids(self.id, CLIENTS) == {c: len(made) for c, made in self.made.items()}
                assert but_garbage(self.reader.check(self.id)) == []
                self.reader.collect_garbage(self.id)
                assert but_garbage(self.reader.check(self.id)) == []
        finally:
            self.stack.close()

    # --- what happens -------------------------------------------------------------------------------------------------
    @rule(client=st.sampled_from(CLIENTS), mutations=st.lists(MUTATIONS, min_size=1, max_size=5))
    def make(self, client: str, mutations: list[Mutation]) -> None:
        """A client goes on, offline."""
        self.made[client] += mutations

    @rule(w=st.integers(0, 1), client=st.sampled_from(CLIENTS), data=st.data())
    def push(self, w: int, client: str, data: Any) -> None:
        """Any of what it made, in any order, again or for the first time, with gaps."""
        ids = range(1, len(self.made[client]) + 1)
        if ids:
            self._push(w, client, data.draw(st.lists(st.sampled_from(list(ids)), unique=True, min_size=1)))

    def _push(self, w: int, client: str, ids: Any) -> None:
        self._tried(lambda: self.workers[w].submit(self.id, [self._submission(client, id) for id in ids]))

    def _submission(self, client: str, id: int) -> Submission:
        return self.made[client][id - 1].by(client, id)

    @rule(w=st.integers(0, 1))
    def process(self, w: int) -> None:
        for outcome in self._tried(lambda: self.workers[w].process(self.id)) or ():
            assert outcome.status in ("applied", "rejected")

    @rule()
    def collect(self) -> None:
        self.reader.collect_garbage(self.id)

    def _tried(self, call: Any) -> Any:
        """What fails is known to have failed, or not to be known: it never says what is not so."""
        try:
            return call()
        except Corrupt:
            raise
        except (Unavailable, OutcomeUnknown):
            return None
        except SingletableError as error:
            raise AssertionError(f"nothing else can go wrong here: {error!r}") from error

    # --- what has to hold ---------------------------------------------------------------------------------------------
    @invariant()
    def check_versions(self) -> None:
        """The versions' own order, run through the model, gives each outcome and the state."""
        if not self.id:
            return
        model, next_id = Model(), dict.fromkeys(CLIENTS, 1)
        versions = self.reader.history(self.id, limit=1000).items
        for version in reversed(versions):
            for each in version.mutations:
                assert each.id == next_id[each.client]
                next_id[each.client] += 1
                assert each.rejected is not model.apply(self.made[each.client][each.id - 1])
        head = self.reader.head(self.id)
        assert head.version == len(versions) - 1
        assert (head.name, said(head), dict(head.shapes.all())) == (model.name, model.log, model.shapes)
        assert self.reader.last_ids(self.id, CLIENTS) == {client: id - 1 for client, id in next_id.items()}


def _run(engine_url: str, examples: int, steps: int, *, is_fresh: bool = False) -> None:
    Clients.url = engine_url
    default = settings.get_profile("default")
    more = settings(default, max_examples=examples, stateful_step_count=steps, derandomize=not is_fresh)
    run_state_machine_as_test(Clients, settings=more)


def test_clients_and_processors(engine_url: str) -> None:
    _run(engine_url, fewer_elsewhere(6), 20)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_clients_and_processors_for_long(engine_url: str) -> None:
    _run(engine_url, int(os.environ.get("DOCUMENTS_EXAMPLES", "100")), 50, is_fresh=True)
