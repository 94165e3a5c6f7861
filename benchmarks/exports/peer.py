"""One export by another program, in its own environment: `.venv-peers/bin/python peer.py PROGRAM URL TABLE FOLDER`.

It prints what it took as JSON, from when it was imported to when the last file was closed. It imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


def awswrangler(url: str, table: str, folder: Path) -> Callable[[], int]:
    """`read_items` of the whole table into a data frame, which is written as Parquet."""
    import awswrangler as wr  # type: ignore[import-not-found]
    import boto3

    wr.config.dynamodb_endpoint_url = url
    session = boto3.Session()

    def export() -> int:
        frame = wr.dynamodb.read_items(table_name=table, allow_full_scan=True, boto3_session=session)
        for name in frame.columns:  # its sets have no form in Parquet
            if frame[name].map(lambda value: isinstance(value, set)).any():
                frame[name] = frame[name].map(lambda value: sorted(value) if isinstance(value, set) else value)
        frame.to_parquet(folder / "items.parquet", compression="zstd")
        return len(frame)

    return export


def boto3(url: str, table: str, folder: Path) -> Callable[[], int]:
    """The client's paginator; each item, as it came, a line of JSON by orjson."""
    import boto3 as library
    import orjson

    client = library.client("dynamodb", endpoint_url=url)

    def export() -> int:
        count = 0
        with open(folder / "items.jsonl", "wb") as file:
            for page in client.get_paginator("scan").paginate(TableName=table):
                for item in page["Items"]:
                    file.write(orjson.dumps(item, default=_plain, option=orjson.OPT_APPEND_NEWLINE))
                count += len(page["Items"])
        return count

    return export


def dynamodump(url: str, table: str, folder: Path) -> Callable[[], int]:
    """Its own backup: files of JSON of a page each. Its pause of a second after each page is left out."""
    from dynamodump import dynamodump as program  # type: ignore[import-not-found]

    program.LOCAL_SLEEP_INTERVAL = 0
    host, port = url.removeprefix("http://").split(":")
    place = ["--host", host, "--port", port, "--accessKey", "test", "--secretKey", "test", "--region", "local"]
    sys.argv = ["dynamodump", "-m", "backup", "-s", table, "--dumpPath", str(folder), "--log", "ERROR", *place]

    def export() -> int:
        try:
            program.main()
        except SystemExit as ended:
            if ended.code:
                raise
        pages = (folder / table / "data").glob("*.json")
        return sum(len(json.loads(page.read_text())["Items"]) for page in pages)

    return export


PROGRAMS = {"awswrangler": awswrangler, "boto3": boto3, "dynamodump": dynamodump}


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else str(value)


def main() -> None:
    name, url, table, folder = sys.argv[1:]
    os.environ.update(ENVIRONMENT)
    export = PROGRAMS[name](url, table, Path(folder))
    cpu, wall = time.process_time(), time.perf_counter()
    items = export()
    took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    print(json.dumps({"items": items, "bytes": size, **took, "version": version(name)}))


if __name__ == "__main__":
    main()
