"""`studio`: the tables of a module in the browser, for one person on this machine."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import click

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.cli.sql import EXPORT_VARIABLE
from singletable.errors import NotConfigured
from singletable.foundation import Table

_INSTALL = "python -m pip install 'singletable[studio]'"


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1. [default: a free one]")
@click.option("--write", is_flag=True, help="Allow items to be changed and deleted.")
@click.option(
    "--from",
    "export",
    metavar="DIR|s3://BUCKET/PREFIX",
    envvar=EXPORT_VARIABLE,
    default="",
    help=f"The export that the page SQL asks. [env: {EXPORT_VARIABLE}]",
)
@click.option(
    "--static",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the model there instead, as pages that need no server. Sends nothing.",
)
@click.option(
    "--queue", "queues", multiple=True, metavar="URL", help="Show the depth of an SQS queue. May be repeated."
)
@options_anywhere("blobs", "db")
@click.pass_context
def studio(
    ctx: click.Context,
    module: str,
    port: int,
    write: bool,
    export: str,
    static: Path | None,
    blobs: str | None,
    queues: tuple[str, ...],
) -> None:
    """Look at the tables in a browser: classes, patterns, partitions, items.

    \b
    singletable studio shop.model
    singletable studio shop.model --db aws --write
    singletable studio shop.model --from exports
    singletable studio shop.model --static docs/model

    The first line of standard output is the address, with its token: whoever has it sees the tables. It is served on
    127.0.0.1 only, until Ctrl-C. Without --write nothing can be changed.
    """
    try:
        import uvicorn

        from singletable.documents import LocalBlobs
        from singletable.studio import loopback_studio
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("singletable"):
            raise
        raise NotConfigured(f"the studio needs {error.name}", hint=f"Install it: {_INSTALL}.") from error
    tables = tables_of(module)
    if static is not None:
        _write(tables, module, static)
        return
    bound = _bound(port)
    db = session_of(ctx).connect_async_to_read()
    sources: dict[str, Any] = {"export": export, "blobs": LocalBlobs(blobs) if blobs else None, "queues": queues}
    app, address = loopback_studio(db, *tables, port=bound.getsockname()[1], write=write, module=module, **sources)
    click.echo(address)
    output.note("Ctrl-C ends it.")
    options = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none", "lifespan": "on"}
    uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[bound])  # type: ignore[arg-type]  # a dict of both types


def _write(tables: list[Table], module: str, folder: Path) -> None:
    """The model as pages of a folder."""
    from singletable.studio.inspect import model_view, write_site

    done = write_site(model_view(tables, module), folder)
    removed = f", {done.removed} removed" if done.removed else ""
    click.echo(f"{folder}: {output.counted(done.files, 'file')}, {done.changed} changed{removed}")


def _bound(port: int) -> socket.socket:
    """A socket of 127.0.0.1, bound before the address is printed, so that nobody else can have its port."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(("127.0.0.1", port))
    except OSError as error:
        server.close()
        raise click.UsageError(f"port {port} of 127.0.0.1 can't be taken: {error.strerror}. Name another.") from error
    return server
