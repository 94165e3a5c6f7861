"""The two ways to open a studio: mounted in an application, or on loopback."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from singletable.database_async import AsyncDatabase
from singletable.documents import BlobStore
from singletable.foundation import Table
from singletable.studio.application import Studio
from singletable.studio.gates import Authenticator, Authoriser, LoopbackGate, MountedGate
from singletable.studio.site import Site


def studio(
    db: AsyncDatabase,
    *tables: Table,
    authenticate: Authenticator,
    authorise: Authoriser,
    write: bool = False,
    title: str = "",
    module: str = "",
    secret: str = "",
    origins: Collection[str] = (),
    export: str = "",
    blobs: BlobStore | None = None,
    queues: Sequence[str] = (),
) -> Studio:
    """A studio of tables as an ASGI application, to be mounted: `app.mount("/admin", studio(...))`.

    `authenticate(request)` returns the user, or None for nobody. `authorise(user, kind, right)` says whether they may
    "read" or "write" the items of a class; both may be async, and are asked at each request. Without `write` nothing
    can be changed by anybody. `module` is the tables' name in the commands that pages show. Several processes need
    the same `secret`, or a form of one is refused by the other. `origins` are further addresses of the application,
    in addition to its Host header's, as behind a proxy. `export` is the place of the page SQL's last export, a
    directory or `s3://bucket/prefix`; it is for those who may read every class. `blobs` is the store of those documents
    whose class has none, `queues` are addresses of SQS whose depth is shown. The database is not closed with it.

    InvalidRequest without a table, without an AsyncDatabase, or where one of the two is not a function.
    """
    gate = MountedGate(authenticate, authorise, frozenset(origins))
    site = Site.of(db, tables, title=title, module=module, write=write, export=export, blobs=blobs, queues=queues)
    return Studio(site, gate, secret=secret)


def loopback_studio(
    db: AsyncDatabase,
    *tables: Table,
    port: int,
    write: bool = False,
    title: str = "",
    module: str = "",
    export: str = "",
    blobs: BlobStore | None = None,
    queues: Sequence[str] = (),
) -> tuple[Studio, str]:
    """A studio for one person on this machine, and the address that opens it, with its token.

    `port` is the one that it is served at, on 127.0.0.1: requests for another host are refused. It closes the database
    when its server ends.
    """
    token = secrets.token_urlsafe(24)
    gate = LoopbackGate(token, secrets.token_urlsafe(32), port)
    site = Site.of(db, tables, title=title, module=module, write=write, export=export, blobs=blobs, queues=queues)
    return Studio(site, gate, close=True), f"http://127.0.0.1:{port}/?token={token}"
