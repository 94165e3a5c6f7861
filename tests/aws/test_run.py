"""`make aws` against ministack: what it says, what it costs, where it stops, what it records, that nothing stays."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from singletable.flow import DYNAMODB, SQS
from tests.aws.accounts import KEY_SCHEMA, QUICK, account_at, all_at, count_apart, finish, left_at, replay, run, start
from tests.support.emulators import MINISTACK
from tools.aws.cleaning import Cleaner, NotDeleted
from tools.aws.gateway import Gateway
from tools.aws.journal import Journal, Made, Run, left_journals
from tools.aws.names import FAMILY, TAG, Names
from tools.aws.run import CAPPED, INTERRUPTED, NOT_STARTED, PASSED
from tools.aws.scanner import secrets_in_folder

_LINE = re.compile(r"^(requests|read units|write units|units) +([\d,.]+) +([\d,.]+)", re.MULTILINE)
_PATIENCE_SECONDS = 300.0
_MOMENTS = 6
_LARGEST_BATCH = 25
ALL_KINDS = ("tests/queues/test_clocks.py", "tests/documents/test_bucket.py", "tests/engine/test_versions.py")
"""What makes queues, buckets and tables: some seconds."""


def test_it_says_all_first_and_makes_nothing_without_a_yes(aws_emulator: str, tmp_path: Path) -> None:
    status, said = run(aws_emulator, folder=tmp_path, said="n\n")
    assert status == NOT_STARTED, said
    for word in ("account ", "000000000000 in us-east-1", "tables", "reads ", "writes ", "money ", "stops at "):
        assert word in said
    assert re.search(r"singletable-test-[0-9a-f]{10}-\.\.\., tagged singletable-test-run=", said)
    assert "Nothing was made." in said
    assert not [*tmp_path.iterdir()]


@pytest.mark.soak
def test_it_uses_what_was_predicted_and_records_what_replays(aws_emulator: str, tmp_path: Path) -> None:
    journals, cassettes = tmp_path / "journals", tmp_path / "cassettes"
    status, said = run(aws_emulator, "--yes", "--record", str(cassettes), folder=journals)
    assert status == PASSED, said
    figures = {name: (number(first), number(second)) for name, first, second in _LINE.findall(said)}
    assert figures.keys() == {"requests", "read units", "write units", "units"}
    for name, (predicted, counted) in figures.items():
        assert predicted == pytest.approx(counted, rel=0.02), name
    assert figures["units"][1] > 100
    assert left_at(aws_emulator) == []
    assert not [*journals.iterdir()]

    assert [*secrets_in_folder(cassettes)] == []
    output = replay(cassettes, QUICK)
    assert re.search(r"^\d\d passed", output, re.MULTILINE), output
    assert "failed" not in output


def test_it_stops_at_the_cap(aws_emulator: str, tmp_path: Path) -> None:
    status, said = run(aws_emulator, "--yes", "--cap", "20", folder=tmp_path)
    assert status == CAPPED, said
    assert "the cap of 20 units is reached" in said
    counted = next(number(second) for name, _, second in _LINE.findall(said) if name == "units")
    assert 20 <= counted < 20 + 16 * _LARGEST_BATCH  # with what was under way
    assert left_at(aws_emulator) == []


@pytest.fixture(scope="module")
def own_emulator() -> Iterator[str]:
    """A ministack that nothing else uses: all that is there is to be gone."""
    with MINISTACK.running() as url:
        yield url


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(_MOMENTS))
def test_at_any_moment(own_emulator: str, tmp_path: Path, seed: int) -> None:
    """Seeded moments, by SIGINT or SIGTERM; every third time more of them for as long as it cleans."""
    chance = random.Random(seed)
    process = start(own_emulator, "--yes", "--only", *ALL_KINDS, folder=tmp_path)
    wait_for_lines(process, tmp_path, chance.randint(1, 40))
    time.sleep(chance.random() / 2)  # noqa: TID251
    process.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM]))
    while seed % 3 == 0 and process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)  # noqa: TID251
    status, said = finish(process)
    assert status == INTERRUPTED, said
    assert "Deleted what was left" in said
    assert "Traceback" not in said
    assert all_at(own_emulator) == []
    assert not [*tmp_path.iterdir()]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_what_a_kill_at_any_moment_left_is_cleaned(own_emulator: str, tmp_path: Path, seed: int) -> None:
    """The second is killed while it deletes, and so is the first `clean` of the third."""
    chance = random.Random(seed)
    process = start(own_emulator, "--yes", "--only", *ALL_KINDS, folder=tmp_path)
    wait_for_lines(process, tmp_path, chance.randint(10, 40))
    if seed == 1:
        process.send_signal(signal.SIGINT)
        time.sleep(chance.random())  # noqa: TID251
    process.kill()
    finish(process)
    if seed == 2:
        cleaning = start(own_emulator, "--yes", command="clean", folder=tmp_path)
        time.sleep(0.5 + chance.random())  # noqa: TID251
        cleaning.kill()
        finish(cleaning)
    status, said = finish(start(own_emulator, "--yes", command="clean", folder=tmp_path))
    assert status == 0, said
    assert all_at(own_emulator) == []
    assert not [*tmp_path.iterdir()]


@pytest.mark.soak
def test_what_streams_use_on_aws_is_counted_on_the_embedded_engine() -> None:
    status, said = count_apart("tests/streams/test_stream_answers.py")
    assert status == 0, said
    assert "stream_reads=2" in said


@pytest.mark.soak
def test_tests_that_end_early_are_not_counted() -> None:
    status, said = count_apart("tests/streams/no_such_file.py")
    assert status != 0
    assert "NotCounted: pytest ended with status 4 at its start" in said


def test_only_what_has_the_name_and_the_tag_is_deleted(aws_emulator: str) -> None:
    """Another's tables, queues and buckets stay, also those with a name like a run's."""
    with closing(account_at(aws_emulator)) as account:
        run_id, key = "aaaaaaaaaa", KEY_SCHEMA
        ours, untagged, other = f"{FAMILY}{run_id}-app", f"{FAMILY}{run_id}-other", "singletable-app"
        tags = [{"Key": TAG, "Value": run_id}]
        account.call(DYNAMODB, "CreateTable", {"TableName": ours, "Tags": tags} | key)
        account.call(DYNAMODB, "CreateTable", {"TableName": other, "Tags": tags} | key)
        account.call(SQS, "CreateQueue", {"QueueName": ours, "tags": {TAG: run_id}})
        account.s3("PUT", f"/{ours}")
        cleaner = Cleaner(account)
        with pytest.raises(NotDeleted, match="bucket"):
            cleaner.delete_run(run_id)
        journal = frozenset({Made("bucket", ours)})
        cleaner.delete_run(run_id, journal)
        assert cleaner.find_of(run_id) == []
        assert other in account.call(DYNAMODB, "ListTables", {})["TableNames"]

        account.call(DYNAMODB, "CreateTable", {"TableName": untagged} | key)
        with pytest.raises(NotDeleted, match="has not the tag"):
            cleaner.delete_run(run_id, journal)
        assert cleaner.find_of(run_id) == [Made("table", untagged)]
        for name in (untagged, other):
            account.call(DYNAMODB, "DeleteTable", {"TableName": name})


def test_a_table_without_a_name_of_its_own_goes_with_its_file(aws_emulator: str, tmp_path: Path) -> None:
    """No test deletes it. One with a name of its own may be a module's, and is its test's to delete."""
    own = "test-00000000ff-app"
    with closing(account_at(aws_emulator)) as account:
        journal = Journal(Run("9999999999", aws_emulator, "us-east-1"), tmp_path)
        names = Names("9999999999", lambda: "")
        gateway = Gateway(account, names, note=journal.note, forget=journal.forget)
        headers = {"x-amz-target": "DynamoDB_20120810.CreateTable"}
        gateway.begin("a.py::first")
        for name in ("app", own):
            body = json.dumps({"TableName": name} | KEY_SCHEMA).encode()
            assert gateway.answer("POST", "/", headers, body).status == 200
        gateway.begin("a.py::second")
        assert len(Cleaner(account).find_of(names.run)) == 2
        gateway.begin("b.py::third")
        assert Cleaner(account).find_of(names.run) == [Made("table", names.table(own))]
        assert journal.made == {Made("table", names.table(own))}
        assert Cleaner(account).delete_run(names.run) == 1
        journal.close(all_gone=True)


def test_a_journal_is_read_as_far_as_it_was_written(tmp_path: Path) -> None:
    journal = Journal(Run("bbbbbbbbbb", "http://127.0.0.1:1", "us-east-1"), tmp_path)
    made, gone = Made("table", "t"), Made("queue", "q")
    for each in (made, gone):
        journal.note(each)
    journal.forget(gone)
    assert journal.made == {made}
    (left,) = left_journals(tmp_path)
    assert left.is_under_way
    journal.close(all_gone=False)
    for cut_short in ('{"kind": "queue", "na', '{"gone": {"kind": "table", "name": "t"}'):
        with journal.path.open("a") as file:
            file.write(cut_short)
        (left,) = left_journals(tmp_path)
        assert (left.path, left.run, left.made) == (journal.path, journal.run, frozenset({made}))
        assert not left.is_under_way
        journal.path.write_text(journal.path.read_text().removesuffix(cut_short))


def wait_for_lines(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Until the run's journal has that many lines: the run, and what it makes."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if sum(len(path.read_text().splitlines()) for path in folder.iterdir()) >= count:
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)  # noqa: TID251
    pytest.fail(f"the run makes nothing: {finish(process)}")


def number(text: str) -> float:
    return float(text.replace(",", ""))
