"""What is told of a blob store: its refusals name the bucket or the directory and the reason, and no path."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread  # noqa: TID251
from typing import Any

import pytest
from obstore.store import GCSStore, MemoryStore, S3Store

from singletable import Unavailable, connect
from singletable.documents import Documents, LocalBlobs, ObjectBlobs
from singletable.errors import Denied, SingletableError
from singletable.events import BlobCalled
from singletable.object_faults import place_of
from tests.documents.models import Project, Shape, app, put_shape
from tests.otel.traced import Recorded
from tests.support.engines import fresh

PATH = "the-parent/projects/the-document/shapes/ab.json.gz"
PREFIX = "the-parent/projects/"
VERBS: dict[str, Any] = {
    "put": lambda store: store.put(PATH, b"x"),
    "get": lambda store: store.get(PATH, 10),
    "has": lambda store: store.has(PATH),
    "list": lambda store: list(store.list(PREFIX)),
    "delete": lambda store: store.delete(PATH),
}
ANSWERS = {
    "another region": (301, "PermanentRedirect", "another region than the one that was asked"),
    "slow down": (400, "SlowDown", "SlowDown"),
    "broken": (500, "", "status 500 Internal Server Error"),
    "no bucket": (404, "NoSuchBucket", "the bucket is missing"),
}


@contextmanager
def answering(status: int, code: str) -> Iterator[S3Store]:
    """A bucket whose service gives one answer to all."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            body = f"<Error><Code>{code}</Code><Message>{self.path}</Message></Error>".encode() if code else b""
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_DELETE = do_POST = do_PUT

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield bucket_at(server.server_port)
        finally:
            server.shutdown()


def bucket_at(port: int) -> S3Store:
    return S3Store(
        "pictures",
        endpoint=f"http://127.0.0.1:{port}",
        region="eu-west-1",
        access_key_id="the-access-key",
        secret_access_key="the-secret-key",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


def refused(store: Any, verb: str, kind: type[SingletableError] = Unavailable) -> SingletableError:
    """The error of a verb, whose traceback, causes among it, holds no part of a path and no credential."""
    with pytest.raises(kind) as caught:
        VERBS[verb](store)
    told = "".join(traceback.format_exception(caught.value))
    assert not [part for part in ("the-parent", "the-document", "-key") if part in told]
    assert caught.value.operation == f"blob {verb}"
    return caught.value


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_bucket_that_refuses_is_named_with_its_reason(verb: str, answer: str) -> None:
    status, code, why = ANSWERS[answer]
    with answering(status, code) as bucket:
        store = ObjectBlobs(bucket)
        if verb == "has" and answer == "no bucket":  # an answer to HEAD has no code
            assert not store.has(PATH)
            return
        error = refused(store, verb)
    if verb == "has" and code == "SlowDown":
        why = "status 400 Bad Request"
    where = f"S3 bucket pictures in eu-west-1 at {error.endpoint}"
    assert error.what == f"the blob store ({where}) could not {verb}: {error.what.rpartition(': ')[2]}"
    assert error.what.endswith(why)
    assert (error.region, error.endpoint.startswith("http://127.0.0.1:")) == ("eu-west-1", True)


@pytest.mark.parametrize("verb", ["put", "get", "list", "delete"])  # an answer to HEAD has no code
def test_expired_credentials_are_a_denial(verb: str) -> None:
    with answering(400, "ExpiredToken") as bucket:
        error = refused(ObjectBlobs(bucket), verb, Denied)
    assert error.what.endswith("ExpiredToken")
    assert error.hint.startswith("Renew or replace the credentials of S3 bucket pictures in eu-west-1 at ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_denial_names_what_to_allow(verb: str) -> None:
    with answering(403, "AccessDenied") as bucket:
        error = refused(ObjectBlobs(bucket), verb, Denied)
    assert error.hint.startswith("Allow s3:")
    assert error.hint.endswith(" on the bucket pictures to the credentials of this program.")


def test_a_bucket_that_is_not_reached_is_no_connection() -> None:
    assert refused(ObjectBlobs(bucket_at(1)), "get").what.endswith(
        "at http://127.0.0.1:1) could not get: no connection"
    )


@pytest.mark.parametrize(
    ("store", "name", "endpoint"),
    [
        (S3Store("b", region="eu-west-1"), "S3 bucket b in eu-west-1", "https://s3.eu-west-1.amazonaws.com"),
        (GCSStore("b"), "GCSStore bucket b", "GCSStore:"),
        (MemoryStore(), "MemoryStore", "MemoryStore:"),
        (object(), "object", "object:"),
    ],
)
def test_each_store_has_a_name(store: Any, name: str, endpoint: str) -> None:
    place = place_of(store)
    assert (place.name, place.endpoint) == (name, endpoint)


@pytest.mark.skipif(os.getuid() == 0, reason="root may do all")
def test_a_directory_that_denies_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert refused(LocalBlobs(tmp_path), "put", Denied).hint.endswith(f"write in {tmp_path}.")


@pytest.mark.parametrize("verb", ["put", "list", "delete"])
def test_a_directory_that_fails_is_named(tmp_path: Path, verb: str) -> None:
    directory = tmp_path / "blobs"
    directory.write_text("a file where the directory should be")
    error = refused(LocalBlobs(directory), verb)
    assert error.what == f"the blob store (directory {directory}) could not {verb}: ENOTDIR"
    assert error.endpoint == directory.as_uri()


def test_an_error_of_a_store_is_not_at_the_place_of_the_table(tmp_path: Path) -> None:
    with fresh() as db:
        docs = Documents(db, Project, blobs=ObjectBlobs(bucket_at(1)))
        docs.create("o1", "p1")
        docs.submit("p1", [put_shape(id="s", shape=Shape()).by("c", 1)])
        with pytest.raises(Unavailable) as caught:
            docs.process("p1")
    assert (caught.value.table, caught.value.endpoint) == ("documents-test", "http://127.0.0.1:1")
    assert (caught.value.region, caught.value.region_from) == ("eu-west-1", "")


def test_each_call_of_a_store_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    caplog.set_level(logging.DEBUG, "singletable.blobs")
    with fresh(listeners=[heard.append]) as db:
        docs = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        docs.create("the-parent", "the-document")
        docs.apply("the-document", [put_shape(id="s", shape=Shape(text="x" * 100)).by("c", 1)])
        assert docs.head("the-document").shapes["s"].text == "x" * 100
        docs.delete("the-document")
    calls = [event for event in heard if isinstance(event, BlobCalled)]
    assert {"put", "get", "list", "delete"} <= {event.verb for event in calls}
    assert {(event.store, event.outcome) for event in calls} == {(f"directory {tmp_path}", "ok")}
    (put,) = [event for event in calls if event.verb == "put"]
    assert (
        put.size == len(next(file for file in tmp_path.rglob("*.gz")).read_bytes())
        if list(tmp_path.rglob("*.gz"))
        else 1
    )
    assert [record.levelname for record in caplog.records] == ["DEBUG"] * len(calls)
    assert caplog.records[0].getMessage().startswith(f"blob put, directory {tmp_path}: {put.size} bytes, ")
    assert not [event for event in calls if "the-" in repr(event)]


def test_a_call_that_fails_or_is_slow_is_told() -> None:
    facts: dict[str, Any] = {"verb": "get", "store": "S3 bucket b", "size": 7, "why": ""}
    quick = BlobCalled(milliseconds=20.0, outcome="ok", **facts)
    slow = BlobCalled(milliseconds=1000.0, outcome="ok", **facts)
    failed = BlobCalled(milliseconds=20.0, outcome="denied", **{**facts, "why": "the blob store refused"})
    assert [event.level for event in (quick, slow, failed)] == [logging.DEBUG, logging.INFO, logging.WARNING]
    assert slow.text == "blob get, S3 bucket b: 7 bytes, 1000.0 ms (slow)"
    assert failed.text == "blob get failed after 20 ms: the blob store refused"
    assert len({quick.cause, slow.cause, failed.cause}) == 3


def test_a_failed_call_is_told_with_its_code() -> None:
    heard: list[Any] = []
    with fresh(listeners=[heard.append]) as db:
        docs = Documents(db, Project, blobs=ObjectBlobs(bucket_at(1)))
        docs.create("o1", "p1")
        with pytest.raises(Unavailable) as caught:
            docs.apply("p1", [put_shape(id="s", shape=Shape()).by("c", 1)])
    (failed,) = [event for event in heard if isinstance(event, BlobCalled)]
    assert (failed.verb, failed.outcome, failed.why) == ("put", "unavailable", caught.value.what)


def test_a_trace_has_the_calls_of_the_store(tmp_path: Path) -> None:
    recorded = Recorded()
    with connect("local", listeners=[recorded.listener()]) as db:
        db.create_table(app)
        docs = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        docs.create("o1", "p1")
        docs.apply("p1", [put_shape(id="s", shape=Shape()).by("c", 1)])
    span = recorded.named("put blob")
    applied = recorded.named("process Project")
    assert span.parent is not None
    assert span.parent.span_id == applied.get_span_context().span_id  # type: ignore[union-attr]
    said = dict(span.attributes or {})
    assert (said["singletable.blob.verb"], said["singletable.blob.store"]) == ("put", f"directory {tmp_path}")
    (point,) = [
        p for p in recorded.points()["singletable.blob.duration"] if p.attributes["singletable.blob.verb"] == "put"
    ]
    assert point.count == 1
