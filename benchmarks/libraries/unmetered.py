"""singletable, blocking, outside of any meter."""

from __future__ import annotations

from benchmarks.libraries import Client
from benchmarks.libraries.blocking import client_of
from singletable import connect


def open_client(url: str) -> Client:
    return client_of(connect(url))
