"""Programs of the documentation beside what development does not have: Litestar, whose parser of forms takes the place
of another package's, and ElectroDB with AWS's SDK for JavaScript. Each gets an environment of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from singletable import Table, attr, connect
from singletable_local import ENGINE_VARIABLE, Engine, find_engine
from tests.docs.pages import DOCS, ROOT, run
from tools.distributions import PYTHONPATH

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
LITESTAR = "litestar==2.25.0"
ELECTRODB = ("electrodb@3.9.3", "@aws-sdk/client-dynamodb@3.1164.0")
_BEFORE = """
const { Entity } = require('electrodb');
const { DynamoDBClient } = require('@aws-sdk/client-dynamodb');
const credentials = { accessKeyId: 'x', secretAccessKey: 'x' };
const client = new DynamoDBClient({ endpoint: process.argv[2], region: 'local', credentials });
(async () => {
"""
_THEIRS = """
await Order.patch({ email: 'dan@example.org', number: 1 }).set({ state: 'open' }).go();
await Order.patch({ email: 'dan@example.org', number: 2 }).set({ state: 'paid' }).go();
const { data } = await Order.query.ofCustomer({ email: 'dan@example.org' }).go();
"""
_AFTER = """
console.log(JSON.stringify(data));
})().catch((error) => { console.error(error); process.exit(1); });
"""


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


def test_the_program_of_electrodb_and_the_classes_write_one_table(tmp_path: Path) -> None:
    """Under ElectroDB's own name of the type, and with the version that it wants in each item."""
    (tmp_path / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *ELECTRODB], cwd=tmp_path, check=True)
    (program,) = blocks("coming-from.md", "js")
    (tmp_path / "shop.cjs").write_text(_BEFORE + program + _AFTER)
    (tmp_path / "more.cjs").write_text(_BEFORE + program.partition("await Order.create")[0] + _THEIRS + _AFTER)
    declared = blocks("coming-from.md", "python")[1].partition("\n\ndb = connect")[0]
    page = tmp_path / "page.md"
    own = declared.replace('indexes=["gsi1"])', 'indexes=["gsi1"], foreign=True, type_attribute="__edb_e__")')
    own = own.replace('type="order")', 'type="order", stamp={"__edb_v__": "1"})')
    page.write_text(f"```python\n{own}\n```\n")
    space: dict[str, Any] = run(page).__dict__
    shop, order = space["shop"], space["Order"]
    assert isinstance(shop, Table)
    engine = Engine.start(exposed=True)
    with connect(engine.url) as db:
        db.create_table(shop)
        ran = subprocess.run(["node", "shop.cjs", engine.url], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stderr  # none is open: the one there is was paid
        (found,) = db.all(order.of_customer("dan@example.org"))
        assert (found.number, found.state) == (1, "paid")
        assert [each.number for each in db.all(order.by_state("paid"))] == [1]
        db.put(found)
        db.create(order(email="dan@example.org", number=2))
        db.update(order.of_customer("dan@example.org", 1), attr(order.state).set("paid"))
        ran = subprocess.run(["node", "more.cjs", engine.url], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        states = [(each["number"], each["state"]) for each in json.loads(ran.stdout)]
        assert states == [(1, "open"), (2, "paid")]
        assert [(each.number, each.state) for each in db.all(order.of_customer("dan@example.org"))] == states
        assert [each.number for each in db.all(order.by_state("paid"))] == [2]
        assert db.check(shop) == []
    engine.stop()
