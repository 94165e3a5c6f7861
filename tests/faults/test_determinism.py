"""F-L6: the bytes of a request do not hang on the hash seed or the locale of the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from singletable import attr
from singletable.operations import PutItem, TransactWriteItems
from singletable.records.write import Moment
from singletable.records.entity_writes import UpsertWrite
from singletable.records.item_writes import UpdateWrite
from tests.rules.models import Plain

entity = Plain(id="1", groups={"a", "b", "c", "\\u00e9"}, tags=["x"])
model = Plain.__model__
update = UpdateWrite(Plain.by_id("1"), (attr(Plain.groups).include({"q", "r", "s", "t"}),))
now = Moment(0.0, True)
parts = [write.main(None if write is not update else entity, now) for write in (UpsertWrite(entity), update)]
import hashlib
body = TransactWriteItems([part.action for part in parts], "token").request().body
print(hashlib.sha256(body + PutItem("shop", model.item(entity)).request().body).hexdigest())
"""


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LC_ALL"])
def test_the_same_bytes_in_every_process(name: str) -> None:
    values = ("1", "2", "3") if name == "PYTHONHASHSEED" else ("C", "C.UTF-8")
    said = set()
    for value in values:
        environ = {**os.environ, name: value}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True, timeout=60
        )
        said.add(done.stdout)
    assert len(said) == 1
