"""Contents in a bucket whose requests fail: nothing is committed without its content, and no mutation is lost."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from obstore.store import S3Store

from singletable import Unavailable
from singletable.documents import Documents, ObjectBlobs
from tests.documents.faulty_bucket import faulty_bucket
from tests.documents.models import Project, Shape, put_shape
from tests.documents.shells import s3_blobs
from tests.faults.actions import Action, ApplyThenCut, DropBefore, Refuse
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh

FAILURES: dict[str, Action] = {
    "another put of the name is under way": Refuse("ConditionalRequestConflict", status=409),
    "too many requests": Refuse("SlowDown", status=503),
    "an error inside": Refuse("InternalError", status=500),
    "it never arrives": DropBefore(),
    "it is done and the answer lost": ApplyThenCut(),
}
OF_SHAPES = "/shapes/"


@pytest.fixture
def docs(aws_emulator: str, faults: Faults) -> Iterator[Documents[Project]]:
    """Documents in a bucket behind a proxy; the client of the bucket tries twice, without much of a wait."""
    bucket = f"b-{secrets.token_hex(8)}"
    s3_blobs(aws_emulator, bucket)
    with faulty_bucket(aws_emulator, faults) as url, fresh() as db:
        options: dict[str, Any] = {"client_options": {"allow_http": True}}
        soon = timedelta(milliseconds=1)
        backoff: Any = {"init_backoff": soon, "max_backoff": soon, "base": 2}
        store = S3Store(
            bucket,
            endpoint=url,
            access_key_id="test",
            secret_access_key="test",
            region="us-east-1",
            retry_config={"max_retries": 1, "backoff": backoff, "retry_timeout": timedelta(seconds=30)},
            **options,
        )
        made = Documents(db, Project, blobs=ObjectBlobs(store))
        made.create("o1", "p1")
        yield made
        assert made.check("p1") == []


@pytest.mark.parametrize("failure", FAILURES)
def test_a_put_that_fails_once_is_made_again(docs: Documents[Project], faults: Faults, failure: str) -> None:
    faults.add(Rule(Match("PUT", key=OF_SHAPES, nth=1), FAILURES[failure]))
    (outcome,) = docs.apply("p1", [put_shape(id="s", shape=Shape(1, 2)).by("c", 1)])
    assert (outcome.status, docs.head("p1").shapes["s"]) == ("applied", Shape(1, 2))
    assert len(faults.actions) == 1


@pytest.mark.parametrize("failure", FAILURES)
def test_a_put_that_goes_on_failing_commits_nothing(docs: Documents[Project], faults: Faults, failure: str) -> None:
    faults.add(Rule(Match("PUT", key=OF_SHAPES), FAILURES[failure]))
    docs.submit("p1", [put_shape(id="s", shape=Shape(1, 2)).by("c", 1)])
    with pytest.raises(Unavailable, match="the blob store"):
        docs.process("p1")
    assert (docs.head("p1").version, docs.last_ids("p1", ["c"])) == (0, {"c": 0})
    faults.clear()
    assert [outcome.status for outcome in docs.process("p1")] == ["applied"]
    assert docs.head("p1").shapes["s"] == Shape(1, 2)
