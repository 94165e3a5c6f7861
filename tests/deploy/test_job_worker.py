"""The function that works on jobs: its role allows what its jobs ask for, and nothing outside of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from singletable import Table
from singletable.documents import Documents, LocalBlobs
from singletable.errors import DeclarationError
from singletable.graph import Graph
from singletable.jobs import Jobs
from singletable_deploy import BlobBucket, Deployment, collects_garbage, job_worker, works_on_jobs
from singletable_deploy.cloudformation import template
from tests.documents.models import Project, Shape, app
from tests.graph.models import Goal, User, records
from tests.jobs.people import put_people
from tests.migrations.models import new
from tests.support.attempts import attempts_of, table_arn
from tests.support.engines import fresh
from tests.support.iam import Attempt, is_allowed
from tests.support.roles import recording
from tests.support.templates import statements_of


def statements(table: Table, *kinds: str, may: Any = (), buckets: Any = ()) -> list[dict[str, Any]]:
    function = job_worker(table, *kinds, handler="shop.functions.work_on_jobs", may=may)
    return statements_of(template(Deployment("shop", [table], functions=[function], buckets=buckets)), "JobWorker")


class Asked:
    """All that a process asks leave for."""

    def __init__(self, table: Table) -> None:
        self.definitions, self.attempts = {table.name: table.definition}, list[Attempt]()

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None:
        self.attempts += attempts_of(prefix, operation, msgspec.json.decode(body), self.definitions)


def asked(table: Table, kind: str, options: Any, prepare: Any) -> list[Attempt]:
    """All that a job's worker asks leave for, from its call to the job's end, with bounds."""
    asked = Asked(table)
    with fresh() as db, pytest.MonkeyPatch.context() as patched:
        prepare(db)
        jobs = Jobs(db, table)
        job = jobs.begin(kind, options, sections=2, read_cap=1e6, write_rate=1e6)
        recording(patched, asked)
        assert jobs.lambda_handler(at_once=1)({}) == {job.id: "ended"}
    assert len(asked.attempts) > 10
    return asked.attempts


@pytest.mark.parametrize("kind", ["fill", "check", "plan", "stats"])
def test_its_role_allows_what_a_job_asks_for(kind: str) -> None:
    held = statements(new, kind)
    for attempt in asked(new, kind, {}, lambda db: put_people(db, 20)):
        assert is_allowed(held, attempt), attempt


def test_a_worker_on_scans_of_an_erasure_may_only_scan() -> None:
    held = statements(new, "erase")
    wanted = {"subjects": [], "types": {}, "watched": {"person": {"a layer": 1}}, "is_apply": False, "salt": ""}
    attempts = asked(new, "erase", wanted, lambda db: put_people(db, 20))
    for attempt in attempts:
        assert is_allowed(held, attempt), attempt
    delete = Attempt("dynamodb:DeleteItem", table_arn("people"), {"dynamodb:LeadingKeys": ("person#1",)})
    assert not is_allowed(held, delete)


def test_a_check_of_a_graph_reads_its_index() -> None:
    held = statements(records, "check")
    attempts = asked(records, "check", {}, lambda db: Graph(db).load([User(id="ada"), Goal(id="g")], []))
    for attempt in attempts:
        assert is_allowed(held, attempt), attempt


def test_a_collection_needs_what_collects_garbage_allows(tmp_path: Path) -> None:
    bucket = BlobBucket("blobs")

    def prepare(db: Any) -> None:
        docs = Documents(db, Project, blobs=LocalBlobs(str(tmp_path)))
        docs.create("o1", "p1")
        docs.store("p1", Project.shapes, [Shape(n, n) for n in range(3)])

    held = statements(app, "collect", may=[collects_garbage(Project, blobs=bucket)], buckets=[bucket])
    for attempt in asked(app, "collect", {"blobs": str(tmp_path)}, prepare):
        assert is_allowed(held, attempt), attempt


def test_a_role_that_checks_writes_the_items_of_jobs_alone() -> None:
    held = statements(new, "check")
    jobs, person = {"dynamodb:LeadingKeys": ("_migration",)}, {"dynamodb:LeadingKeys": ("person#1",)}
    part = {"dynamodb:LeadingKeys": ("_migration#job_part#check-1#0",)}
    for action in ("PutItem", "UpdateItem", "DeleteItem"):
        allowed = [
            is_allowed(held, Attempt(f"dynamodb:{action}", table_arn("people"), keys)) for keys in (jobs, part, person)
        ]
        assert allowed == [True, True, False], action
        assert is_allowed(statements(new, "fill"), Attempt(f"dynamodb:{action}", table_arn("people"), person))
    for action in ("CreateTable", "UpdateTable", "DeleteTable", "ExportTableToPointInTime"):
        assert not is_allowed(held, Attempt(f"dynamodb:{action}", table_arn("people")))
    assert not is_allowed(statements(new, "collect"), Attempt("dynamodb:GetItem", table_arn("people"), person))


def test_the_function_is_called_again_and_has_the_longest_time() -> None:
    function = job_worker(new, "fill", handler="shop.functions.work", every=timedelta(minutes=10))
    assert (function.seconds, function.role.service, function.on) == (900, "lambda", timedelta(minutes=10))
    resources = template(Deployment("shop", [new], functions=[function]))["Resources"]
    assert resources["JobWorkerRule"]["Properties"]["ScheduleExpression"] == "rate(10 minutes)"
    assert resources["JobWorkerFunction"]["Properties"]["Timeout"] == 900


def test_other_kinds_are_refused() -> None:
    with pytest.raises(DeclarationError, match="no kind of job is named"):
        works_on_jobs(new)
    with pytest.raises(DeclarationError, match="no kind of job 'copy' runs in a function"):
        works_on_jobs(new, "fill", "copy")
