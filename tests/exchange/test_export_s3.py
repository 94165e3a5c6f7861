"""Exports into a bucket: of an emulator, and of an endpoint that refuses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread  # noqa: TID251 a server of the test
from urllib.request import Request, urlopen

import pyarrow.parquet as pq
import pytest

from singletable import Database
from singletable.errors import Denied, Unavailable
from singletable.exchange import AsyncExports, Exports, read_manifest, store_at
from singletable.jobs import Jobs
from tests.exchange.models import order, shop
from tests.support.engines import fresh, fresh_async

COUNT = 30


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(COUNT)])
        yield made


@pytest.fixture
def bucket(aws_emulator: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, which the environment leads to."""
    environment(monkeypatch, aws_emulator)
    urlopen(Request(f"{aws_emulator}/reports", method="PUT"), timeout=30).close()
    return "s3://reports/shop"


def environment(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    found = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    for name, value in found.items():
        monkeypatch.setenv(name, value)


def test_an_export_as_a_job_in_a_bucket(db: Database, bucket: str) -> None:
    jobs = Jobs(db, shop)
    done = jobs.run(jobs.begin("export", {"to": bucket, "personal": True}, sections=2).id)
    store = store_at(bucket)
    manifest = read_manifest(store)
    assert done.result is not None
    assert (done.state, done.result["id"], manifest.dataset("order").rows) == ("ended", manifest.id, COUNT)
    files = [file for dataset in manifest.datasets for file in dataset.files]
    assert {*store.list("")} == {"manifest.json", *(file.path for file in files)}
    assert all(pq.read_metadata(store.fetch(file.path)).num_rows == file.rows for file in files)


def test_an_export_in_a_bucket(db: Database, bucket: str) -> None:
    Exports(db, shop).export(bucket)
    done = Exports(db, shop).export(bucket)
    store = store_at(bucket)
    manifest = read_manifest(store)
    assert done.manifest == manifest
    (file,) = manifest.dataset("order").files
    content = store.read(file.path)
    assert content is not None
    assert len(content) == file.bytes
    assert pq.read_table(io.BytesIO(content)).num_rows == COUNT
    assert "unfinished.json" not in list(store.list(""))


async def test_an_export_by_the_awaiting_shell(bucket: str) -> None:
    async with fresh_async() as db:
        await db.create_table(shop)
        await db.write_many(puts=[order(n) for n in range(COUNT)])
        done = await AsyncExports(db, shop).export(bucket, format="jsonl")
    assert (done.items, done.unknown) == (COUNT, 0)


def test_a_bucket_that_is_missing(db: Database, bucket: str) -> None:
    with pytest.raises(Unavailable, match="s3://nowhere/x could not"):
        Exports(db, shop).export("s3://nowhere/x")


class _Refusing(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = _refuse

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the test's standard error."""


def test_a_bucket_that_refuses(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        environment(monkeypatch, f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(Denied, match="s3://reports/shop refused to"):
            Exports(db, shop).export("s3://reports/shop")
        server.shutdown()
