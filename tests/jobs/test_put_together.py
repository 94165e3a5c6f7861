"""Stats, a plan and an export by two processes after one was killed: the result is that of one process alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from singletable import connect
from singletable.exchange import DirectoryStore, Exports, read_manifest
from singletable.jobs import Jobs, JobStatus
from singletable.migrations import Migrations
from singletable.reports import Stats, TableShape
from tests.jobs import people
from tests.jobs.people import put_people
from tests.migrations.models import new
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.embedded("its processes share one engine's socket"),
    pytest.mark.timeout(300),
]


def by_two(url: str, kind: str, options: Mapping[str, Any]) -> JobStatus:
    with connect(url, traits=LOCAL) as db:
        jobs = Jobs(db, new)
        job = jobs.begin(kind, options, sections=6)
        with child(people.work, url, job.id, "1.0", "2") as victim:
            while victim.poll() is None and not jobs.show(job.id).held:
                continue
        with (
            child(people.work, url, job.id, "1.0", "2") as one,
            child(people.work, url, job.id, "1.0", "2") as two,
        ):
            assert (one.wait(120), two.wait(120)) == (0, 0)
        return jobs.show(job.id)


def test_two_processes(tmp_path: Path) -> None:
    with fresh_url() as url, connect(url, traits=LOCAL) as db:
        put_people(db, 202)
        plain, exported = Stats(db, new).read(), Exports(db, new).export(tmp_path / "plain").manifest
        assert exported is not None
        assert msgspec.convert(by_two(url, "stats", {}).result, TableShape) == plain
        done = by_two(url, "export", {"to": str(tmp_path / "job"), "personal": True})
        manifest = read_manifest(DirectoryStore(tmp_path / "job"))
        assert done.result is not None
        assert done.result["id"] == manifest.id
        assert {d.name: d.rows for d in manifest.datasets} == {d.name: d.rows for d in exported.datasets}
        planned = Migrations(db, new).plan(job=False).steps
        named = by_two(url, "plan", {}).id
        late = Migrations(db, new).plan(job=named).steps
        assert [(step.name, step.takes.items) for step in late] == [(step.name, step.takes.items) for step in planned]
