"""Packages import downward, every module imports, and an application loads no more of the library than it uses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from threading import Thread  # noqa: TID251 a server of one answer

import pytest

from tests.architecture.import_all import modules
from tests.architecture.sources import ROOT
from tools.distributions import EXAMPLE_SOURCES, PYTHONPATH, SOURCES

# Heavy, or of one shell, one back-end or one command only: loaded by whoever needs it, when it is needed.
NOT_LOADED = ("asyncio", "boto3", "botocore", "click", "cryptography", "httpx", "nacl", "pydantic", "rich")
# The layers above records: a program pays for those it uses.
LAYERS_ABOVE = tuple(f"singletable{name}" for name in (".graph", ".documents", ".streams", ".tasks", ".cli", "_local"))

# Of the library, until a program has its first item. One more costs a quarter of a millisecond of every start.
# Three of them tell of a slow call, as on a busy machine.
MOST_MODULES = 123
_OTHER_SHELL = {
    "database": ("asyncio", "singletable.database_async", "singletable.wire.asyncio_port"),
    "database_async": ("singletable.database", "singletable.wire.blocking_port"),
}
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
_ADA = (
    b'{"Item": {"pk": {"S": "user#ada"}, "sk": {"S": "user"}, "_type": {"S": "user"}, "_v": {"N": "1"}, '
    b'"id": {"S": "ada"}}}'
)


def test_packages_import_downward_only() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    ran = run(str(lint_imports), "--no-cache")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_front_door_loads_nothing_heavy() -> None:
    names = NOT_LOADED + LAYERS_ABOVE
    assert loaded_by("Entity, Table, connect", names) == ""


@pytest.mark.parametrize(
    ("connect", "got", "shell"),
    [("connect", "db.get(key)", "database"), ("connect_async", "asyncio.run(db.get(key))", "database_async")],
    ids=["blocking", "asyncio"],
)
def test_the_first_item_loads_nothing_that_it_does_not_need(connect: str, got: str, shell: str) -> None:
    """No writes, no thread; nor what Python has for rare cases, up to 4 ms each; nor the other shell."""
    names = [f"singletable.records.{name}" for name in ("batches", "commit", "entity_writes", "item_writes", "send")]
    names += ["singletable.records.transactions", "singletable.operations.batch", "singletable.operations.transact"]
    names += ["singletable.schema.guard_items", *_OTHER_SHELL[shell]]
    rare = [
        "concurrent.futures.thread",
        "email",
        "importlib.util",
        "ipaddress",
        "json",
        "random",
        "secrets",
        "urllib.parse",
    ]
    with one_answer(_ADA) as url:
        program = (
            "import sys, asyncio, singletable" if shell == "database_async" else "import sys, singletable",
            f"names = [name for name in {[*names, *rare]!r} if name not in sys.modules]",
            f"db = singletable.{connect}({url!r})",
            "class User(singletable.Entity, table=(app := singletable.Table('app')), type='user'):",
            "    id: str",
            "    @app.key",
            "    @staticmethod",
            "    def by_id(id: str) -> singletable.Key: return f'user#{id}', 'user'",
            "key = User.by_id('ada')",
            f"assert {got} == User(id='ada')",
            "print('loaded:', *[name for name in names if name in sys.modules])",
            "print(sum(name.startswith('singletable') for name in sys.modules))",
        )
        loaded, count = output_of("-c", "\n".join(program), **_CREDENTIALS).splitlines()
    assert loaded == "loaded:"
    assert int(count) <= MOST_MODULES


def test_verbs_that_are_loaded_late_are_found() -> None:
    code = "from singletable.records import flows; print(*[n for n in flows.__all__ if not hasattr(flows, n)])"
    assert output_of("-c", code) == ""


def test_declarations_load_no_transport() -> None:
    names = ("httptools", "singletable.database", "singletable.wire.blocking_port", "socket", "ssl")
    assert loaded_by("ANY, Collection, Entity, Index, Key, Table, attr, between, field, key_of", names) == ""


def test_the_package_itself_loads_nothing() -> None:
    code = "import sys, singletable; print(*sorted(n for n in sys.modules if n.startswith('singletable.')))"
    assert output_of("-c", code) == "singletable.late_names singletable.version"


def test_the_list_of_commands_imports_none_of_them() -> None:
    """So that a command is listed by the docstring in its source: see `singletable.cli.app`."""
    layers = ("erasure", "exchange", "migrations", "reports", "studio", "sync")
    names = tuple(name for name in LAYERS_ABOVE if name != "singletable.cli")
    shown = (
        f"print('loaded:', *[n for n in {(*names, *(f'singletable.{name}' for name in layers))!r} if n in sys.modules])"
    )
    listed = f"import sys; from singletable.cli.app import app; app(['--help'], standalone_mode=False); {shown}"
    assert output_of("-c", listed).splitlines()[-1] == "loaded:"


def test_the_front_door_gives_all_that_it_names() -> None:
    code = "import singletable; print(*[n for n in singletable.__all__ if not hasattr(singletable, n)])"
    assert output_of("-c", code) == ""


def test_every_module_imports_from_this_checkout() -> None:
    """The type checkers don't tell: they find a module that is gone from here in the checkout that is installed."""
    folders = [str(source.relative_to(ROOT)) for source in (*SOURCES, *EXAMPLE_SOURCES)]
    assert [folder for folder in folders if len(modules(folder)) < 3] == []
    assert output_of("-m", "tests.architecture.import_all", *folders) == ""


def loaded_by(imported: str, names: Sequence[str]) -> str:
    """Which of these modules are loaded by a program that imports that of the package."""
    code = f"import sys; from singletable import {imported}; print(*[n for n in {names!r} if n in sys.modules])"
    return output_of("-c", code)


@contextmanager
def one_answer(body: bytes) -> Generator[str, None, None]:
    """A server that answers one request with a body, dated as a service's answers are."""
    head = f"HTTP/1.1 200 OK\r\nDate: {formatdate(usegmt=True)}\r\nContent-Length: {len(body)}\r\n\r\n"

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            asked = b""
            while not asked.endswith(b"}"):
                asked += connection.recv(65536)
            connection.sendall(head.encode() + body)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def output_of(*arguments: str, **environ: str) -> str:
    """What a new Python prints."""
    ran = run(sys.executable, *arguments, **environ)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run it at the root, with the library, the examples and the benchmarks at hand."""
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH, **more}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
