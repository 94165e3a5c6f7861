"""Where the embedded engine accepts what AWS refuses, the library refuses; and the tool that finds such places.

The engine's part of each is in docs/reference/engine-differences.toml.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Index, InvalidRequest, InvalidValue, Key, Table, attr, field
from singletable.errors import DeclarationError, MissingPath
from tests.support.engines import fresh
from tools.engine_differences.__main__ import main
from tools.engine_differences.suite import PART
from tools.engine_differences.table import read

pytestmark = pytest.mark.embedded("it is about what the embedded engine accepts")
jars = Table("jars", indexes=["gsi1"])


class Jar(Entity, table=jars, type="jar"):
    id: str
    shelf: str | None = None
    place: str | None = None
    size: int = 0
    open: bool = False
    labels: list[str] = field(default_factory=list[str])
    free: dict[str, Any] = field(default_factory=dict[str, Any])

    @jars.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"jar#{id}", "jar"

    @jars.index("gsi1")
    @staticmethod
    def on_shelf(shelf: str, place: str = ANY) -> Key:
        return f"shelf#{shelf}", f"{place}"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create(Jar(id="1", shelf="a", place="b", labels=["x"], free={"text": "x", "list": [1]}))
        yield made


JAR = Jar.by_id("1")
BEFORE_SENDING: dict[str, tuple[Callable[[Database], Any], type[Exception], str]] = {
    "a range that ends before it begins, as a filter": (
        lambda db: db.all(Jar.on_shelf("a").where(attr(Jar.size).between(5, 3))),
        InvalidRequest,
        "lower value first",
    ),
    "a range that ends before it begins, as a condition": (
        lambda db: db.update(JAR, attr(Jar.size).set(1), where=attr(Jar.size).between(5, 3)),
        InvalidRequest,
        "lower value first",
    ),
    "an order of flags": (
        lambda db: db.update(JAR, attr(Jar.size).set(1), where=attr(Jar.open) < True),
        InvalidRequest,
        "not a bool",
    ),
    "an order of lists": (
        lambda db: db.all(Jar.on_shelf("a").where(attr(Jar.labels) >= ["x"])),
        InvalidRequest,
        "not a list",
    ),
    "an index's partition key over 2,048 bytes": (
        lambda db: db.create(Jar(id="2", shelf="x" * 2048, place="a")),
        InvalidValue,
        "2048",
    ),
    "an index's sort key over 1,024 bytes": (
        lambda db: db.create(Jar(id="2", shelf="x", place="x" * 1025)),
        InvalidValue,
        "1024",
    ),
    "an update to such a key": (
        lambda db: db.update(Jar(id="1", shelf="a"), attr(Jar.place).set("x" * 1025)),
        InvalidValue,
        "1024",
    ),
    "an element with a number that no list has": (
        lambda db: db.update(JAR, attr(Jar.size).set(1), where=attr(Jar.labels[2**31]) == "x"),
        InvalidValue,
        "at most 2,147,483,647",
    ),
    "a name inside a map over 65,535 bytes": (
        lambda db: db.update(JAR, attr(Jar.size).set(1), where=attr(Jar.free["x" * 65_536]) == 1),
        InvalidValue,
        "65535 bytes",
    ),
    "a stored map with such a name": (
        lambda db: db.put(Jar(id="1", free={"inner": {"x" * 65_536: 1}})),
        InvalidValue,
        "65535 bytes",
    ),
    "a projection of a part": (
        lambda db: db.get(JAR.only(Jar.free, attr(Jar.free["text"]))),  # pyright: ignore[reportArgumentType]
        InvalidRequest,
        "only",
    ),
}


@pytest.mark.parametrize("name", BEFORE_SENDING)
def test_it_is_refused_before_anything_is_sent(db: Database, name: str) -> None:
    call, error, said = BEFORE_SENDING[name]
    with db.meter() as meter, pytest.raises(error, match=said):
        call(db)
    assert meter.requests == 0


@pytest.mark.parametrize(
    "change",
    [
        attr(Jar.free["text"]["inner"]).remove(),
        attr(Jar.free["nothing"]["inner"]).remove(),
        attr(Jar.free["text"][0]).remove(),
        attr(Jar.free["list"][7]).set(1),
        attr(Jar.labels[3]).set("y"),
    ],
    ids=["within a text", "within nothing", "an element of a text", "behind the end", "behind the end of labels"],
)
def test_a_path_through_what_is_no_map_or_list_changes_nothing(db: Database, change: Any) -> None:
    before = db.get(JAR)
    with pytest.raises(MissingPath):
        db.update(JAR, change)
    assert db.get(JAR) == before


def test_an_attribute_without_a_name_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"stored under no name.*attribute Nameless\.text"):

        class Nameless(Entity, table=jars, type="nameless"):
            id: str
            text: str = field(name="", default="")

            @jars.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"nameless#{id}", "nameless"


TOO_LONG = "x" * 256
LONG_NAMES: dict[str, Callable[[], Table]] = {
    "of the table's key": lambda: Table("long", key=("pk", TOO_LONG)),
    "of an index's key": lambda: Table("long", indexes={"gsi1": Index("a", TOO_LONG)}),
    "that an index holds": lambda: Table("long", indexes={"gsi1": Index("a", "b", (TOO_LONG,))}),
    "of expiry": lambda: Table("long", ttl_attribute=TOO_LONG),
    "of expiry, empty": lambda: Table("long", ttl_attribute=""),
}


@pytest.mark.parametrize("declare", LONG_NAMES.values(), ids=LONG_NAMES)
def test_a_name_over_255_bytes_is_refused_when_a_table_is_declared(declare: Callable[[], Table]) -> None:
    with pytest.raises(DeclarationError, match="1 to 255 bytes"):
        declare()


def test_expiry_is_no_part_of_a_key() -> None:
    with pytest.raises(DeclarationError, match="'sk' has two uses"):
        Table("doubled", ttl_attribute="sk")


def test_a_name_over_65535_bytes_is_refused_when_a_class_is_declared() -> None:
    with pytest.raises(DeclarationError, match=r"1 to 65535 bytes.*attribute Longest\.text"):

        class Longest(Entity, table=jars, type="longest"):
            id: str
            text: str = field(name="x" * 65_536, default="")

            @jars.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"longest#{id}", "longest"


def test_a_projection_names_an_attribute_once(db: Database) -> None:
    """DynamoDB refuses paths that overlap."""
    found = db.get(JAR.only(Jar.size, Jar.labels, Jar.size))
    assert found is not None
    assert (found.size, found.labels) == (0, ["x"])


# --- the tool, on a suite of the same shape ---------------------------------------------------------------------------
CONFTEST = """
import boto3, botocore, pytest
from test.conftest import dynamic_scope
from test.cqlpy.conftest import host
from test.pylib.connect_options import add_host_option
from test.pylib.skip_types import skip_env

def pytest_addoption(parser):
    parser.addoption("--url")
    add_host_option(parser)

@pytest.fixture(scope=dynamic_scope())
def dynamodb(request):
    config = botocore.client.Config(parameter_validation=False, retries={"max_attempts": 0})
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    url = request.config.getoption("url")
    return boto3.resource("dynamodb", endpoint_url=url, region_name="us-east-1", config=config, **keys)

@pytest.fixture(autouse=True)
def dynamodb_test_connection(dynamodb):
    if dynamodb_test_connection.scylla_crashed:
        skip_env("Server down")
    yield
    try:
        dynamodb.meta.client.list_tables()
    except Exception:
        dynamodb_test_connection.scylla_crashed = True
        pytest.fail("crashed")

dynamodb_test_connection.scylla_crashed = False

@pytest.fixture(scope=dynamic_scope())
def table(dynamodb):
    key = [{"AttributeName": "p", "KeyType": "HASH"}]
    types = [{"AttributeName": "p", "AttributeType": "S"}]
    made = dynamodb.create_table(
        TableName="small", KeySchema=key, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST"
    )
    made.put_item(Item={"p": "kept", "a": 1})
    return made

@pytest.fixture
def scylla_only():
    pass
"""
TESTS = """
import pytest
from botocore.exceptions import ClientError

def test_right(table):
    assert table.get_item(Key={"p": "kept"})["Item"]["a"] == 1

def test_other_answer(table):
    assert table.get_item(Key={"p": "kept"})["Item"]["a"] == 2

def test_accepted(table):
    with pytest.raises(ClientError, match="ValidationException"):
        table.get_item(Key={"p": "kept"})

def test_other_words(table):
    with pytest.raises(ClientError, match="ValidationException.*no such words"):
        table.get_item(Key={"q": "kept"})

def test_other_error(table):
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        table.get_item(Key={"q": "kept"})

def test_refused(table):
    table.get_item(Key={"q": "kept"})

def test_of_scylla(table, scylla_only):
    assert False

@pytest.mark.xfail
def test_that_scylla_fails(table):
    table.get_item(Key={"p": "kept"})

def test_deadly(table):
    with pytest.raises(ClientError, match="ValidationException"):
        table.delete_item(Key={"p": "kept"}, ConditionExpression="(" * 4096)

def test_after_it(table):
    assert table.get_item(Key={"p": "kept"})["Item"]["a"] == 1
"""
OUTCOMES = {
    "test_small.py::test_other_answer": "answers otherwise",
    "test_small.py::test_accepted": "accepts what AWS refuses",
    "test_small.py::test_other_words": "other words of the error",
    "test_small.py::test_other_error": "another error",
    "test_small.py::test_refused": "refuses what AWS accepts",
    "test_small.py::test_deadly": "ended the engine",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout" / PART
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "util.py").write_text("scylla_config_temporary = None\n")
    (folder / "test_small.py").write_text(TESTS)
    return tmp_path / "checkout"


def test_the_tool_names_each_outcome_and_starts_the_engine_again(
    checkout: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.toml"
    assert main(["run", str(checkout), "--table", str(table)]) == 0
    found = read(table.read_text())
    assert found.outcomes == OUTCOMES
    assert found.counts["passed"] == 3
    assert found.counts["skipped"] == 1
    assert main(["compare", str(checkout), "--table", str(table)]) == 0
    table.write_text(table.read_text().replace('test_other_error" = "another error"', 'test_other_error" = "failed"'))
    capfd.readouterr()
    assert main(["compare", str(checkout), "--table", str(table)]) == 1
    assert "test_small.py::test_other_error: failed, now another error" in capfd.readouterr().out


def test_a_folder_without_the_suite_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path), "--table", str(tmp_path / "t.toml")]) == 2
    assert "the suite can't be run" in capsys.readouterr().err
    assert not (tmp_path / "t.toml").exists()


def test_the_kept_table_holds_names_and_outcomes_only() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "engine-differences.toml").read_text()
    assert len(json.dumps(read(text).outcomes)) > len(text) / 2
