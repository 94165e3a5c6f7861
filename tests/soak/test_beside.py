"""Programs of the documentation beside what development does not have: Litestar, whose parser of forms takes the place
of another package's, and libraries for JavaScript. Each gets an environment of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from singletable import attr, connect
from singletable_local import ENGINE_VARIABLE, Engine, find_engine
from tests.docs.pages import DOCS, ROOT, run
from tools.distributions import PYTHONPATH

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
LITESTAR = "litestar==2.25.0"
HERE = Path(__file__).parent / "beside"
_BEFORE = """
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
const credentials = { accessKeyId: 'x', secretAccessKey: 'x' };
const client = new DynamoDBClient({ endpoint: process.argv[2], region: 'local', credentials });
"""
_AFTER = "console.log(JSON.stringify(data));"
PROGRAMS = {
    "electrodb": (
        "import electrodb from 'electrodb'; const { Entity } = electrodb;",
        "await Order.create",
        """
        await Order.patch({ email: 'dan@example.org', number: 1 }).set({ state: 'open' }).go();
        await Order.patch({ email: 'dan@example.org', number: 2 }).set({ state: 'paid' }).go();
        const { data } = await Order.query.ofCustomer({ email: 'dan@example.org' }).go();
        """,
    ),
    "toolbox": (
        """
        import { Entity, item, number, PutItemCommand, QueryCommand, set, string, Table, UpdateItemCommand }
          from 'dynamodb-toolbox';
        import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
        """,
        "await Order.build(PutItemCommand)",
        """
        const change = (number, state) => Order.build(UpdateItemCommand)
          .item({ email: 'Eve@example.org', number, state }).send();
        await change(1, 'open');
        await change(2, 'paid');
        const { Items: data } = await shop.build(QueryCommand).entities(Order)
          .query({ partition: 'CUSTOMER#Eve@example.org' }).send();
        """,
    ),
    "onetable": (
        "import { Table } from 'dynamodb-onetable';",
        "await Order.create",
        """
        await Order.update({ email: 'fay@example.org', number: 1, state: 'open' });
        await Order.update({ email: 'fay@example.org', number: 2, state: 'paid' });
        const data = await Order.find({ email: 'fay@example.org' });
        """,
    ),
}
"""By library: what its program imports, where it begins to write, and a second program after the same declarations."""
ORDERS = {
    "electrodb": ("electro_shop", "ElectroOrder", "dan@example.org"),
    "toolbox": ("toolbox_shop", "ToolboxOrder", "Eve@example.org"),
    "onetable": ("onetable_shop", "OneTableOrder", "fay@example.org"),
}
"""By library: the table and the class of the page, and whose orders its program writes."""


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / "how-to" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_program_for_litestar_runs(tmp_path: Path) -> None:
    """Its own assertions are the test."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    asked = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run([python, *asked, LITESTAR, "httpx", "httptools", "msgspec"], check=True)
    (declared,), program = blocks("web-frameworks.md", "python")[:1], blocks("web-frameworks.md", "py")
    (tmp_path / "shop.py").write_text("\n".join([declared, *program]))
    environ = {**os.environ, ENGINE_VARIABLE: str(find_engine(os.environ, ROOT)), "PYTHONPATH": PYTHONPATH}
    ran = subprocess.run([python, "-W", "error", "shop.py"], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "409 Conflict" in ran.stderr + ran.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries of npm, by their lock file."""
    folder = tmp_path_factory.mktemp("beside")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The classes of the page, which runs whole."""
    return run(DOCS / "how-to" / "coming-from.md").__dict__


def node(place: Path, program: str, url: str) -> list[Any]:
    """What a program prints last."""
    (place / "program.mjs").write_text(program)
    ran = subprocess.run(["node", "program.mjs", url], cwd=place, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    items: list[Any] = json.loads(ran.stdout)
    return items


@pytest.mark.parametrize("library", PROGRAMS)
def test_the_program_of_another_library_and_the_classes_write_one_table(
    library: str, place: Path, page: dict[str, Any]
) -> None:
    """Each reads what the other wrote, and updates it."""
    imports, begins, theirs = PROGRAMS[library]
    (table, name, email) = ORDERS[library]
    shop, order = page[table], page[name]
    program = (HERE / "orders" / f"{library}.js").read_text()
    with Engine.start(exposed=True) as engine, connect(engine.url) as db:
        db.create_table(shop)
        node(place, imports + _BEFORE + program + _AFTER, engine.url)
        (paid,) = db.all(order.of_customer(email))
        assert (paid.number, paid.state) == (1, "paid")
        db.put(paid)
        db.create(order(email=email, number=2))
        db.update(order.of_customer(email, 1), attr(order.state).set("sent"))
        data = node(place, imports + _BEFORE + program.partition(begins)[0] + theirs + _AFTER, engine.url)
        assert [(each["number"], each["state"]) for each in data] == [(1, "open"), (2, "paid")]
        assert [(each.number, each.state) for each in db.all(order.of_customer(email))] == [(1, "open"), (2, "paid")]
        if hasattr(order, "by_state"):
            assert [each.number for each in db.all(order.by_state("paid"))] == [2]
        assert db.check(shop) == []
