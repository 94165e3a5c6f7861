"""What a person with an account is told: without region, keys or permission, with what has expired, with nobody to ask.

Each message says what happened and what to do, and what was made is deleted or named.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from singletable.flow import DYNAMODB, SQS
from tests.aws.accounts import KEY_SCHEMA, QUICK, account_at, finish, left_at, run, start
from tests.aws.refusing import EXPIRED, UNKNOWN, UNSIGNED, Refusing, denied
from tests.support.emulators import ROOT
from tools.aws.cleaning import Cleaner, tag_bucket
from tools.aws.journal import Journal, Made, Run
from tools.aws.names import FAMILY, TAG
from tools.aws.plan import Wanted
from tools.aws.refusals import refused_for_good
from tools.aws.run import LEFT, NOT_STARTED, PASSED, REFUSED, NotStarted, run as run_here
from tools.distributions import PYTHONPATH

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "a-secret-key"}


def command(*words: str, environ: Mapping[str, str], home: Path) -> tuple[int, str]:
    """`python -m tools.aws` in an environment of its own, with no profile and no instance to ask for credentials."""
    given = {"PATH": "/usr/bin:/bin", "PYTHONPATH": PYTHONPATH, "HOME": str(home)}
    given |= {"AWS_EC2_METADATA_DISABLED": "true", "SINGLETABLE_AWS_RUNS": str(home / "runs"), **environ}
    line = [sys.executable, "-m", "tools.aws", *words]
    done = subprocess.run(line, cwd=ROOT, env=given, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("environ", "words", "said"),
    [
        (KEYS, (), ("region", "AWS_REGION")),
        ({"AWS_REGION": "eu-west-1"}, (), ("credentials", "Set AWS_ACCESS_KEY_ID")),
        ({**KEYS, "AWS_REGION": "Europe/Rome"}, (), ("'Europe/Rome' is not the name of a region", "eu-central-1")),
        ({}, ("--endpoint", "localhost:4566"), ("http://127.0.0.1:8000",)),
        ({}, ("--endpoint", "http://127.0.0.1:9"), ("no answer from http://127.0.0.1:9", "Is --endpoint")),
        ({}, ("--endpoint", "http://127.0.0.1:9", "--only", "tests/none"), ("No test file", "tests/none")),
    ],
    ids=["region", "credentials", "no such region", "no address", "nobody there", "no test"],
)
def test_it_says_what_is_missing(
    tmp_path: Path, environ: Mapping[str, str], words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    status, output = command("run", *words, environ=environ, home=tmp_path)
    assert status == NOT_STARTED, output
    for each in (*said, "Nothing was made."):
        assert each in output


@pytest.mark.parametrize(
    ("operation", "error", "said"),
    [
        ("GetCallerIdentity", UNKNOWN, "AWS does not know the access key: correct AWS_ACCESS_KEY_ID"),
        ("GetCallerIdentity", UNSIGNED, "correct AWS_SECRET_ACCESS_KEY, or this machine's clock"),
        ("GetCallerIdentity", EXPIRED, "The credentials have expired: get new ones"),
        ("ListTables", denied("dynamodb:ListTables"), "not authorized to perform: dynamodb:ListTables"),
        ("DeleteTable", denied("dynamodb:DeleteTable"), "Permission is missing: allow this action"),
        ("DeleteQueue", denied("sqs:DeleteQueue"), "Permission is missing: allow this action"),
        ("GET /", ("AccessDenied", "Access Denied"), "Permission is missing: allow this action"),
    ],
)
def test_what_the_account_refuses_is_said_before_anything_is_made(
    aws_emulator: str, operation: str, error: tuple[str, str], said: str
) -> None:
    """To find and to delete is tried first: what is made then can be deleted."""
    account = Refusing(aws_emulator)
    account.refuse(operation, error)
    with account.served() as url, closing(account_at(url)) as ours, pytest.raises(NotStarted) as caught:
        run_here(ours, Wanted(QUICK, yes=True))
    assert f"{operation} was refused with {error[0].removesuffix('Exception')}" in str(caught.value)
    assert error[1].rstrip(".") in str(caught.value)
    assert said in str(caught.value)
    assert not {"CreateTable", "CreateQueue"} & {*account.asked}


def test_with_nobody_to_ask_it_makes_nothing(aws_emulator: str, tmp_path: Path) -> None:
    status, said = finish(start(aws_emulator, "--only", *QUICK, folder=tmp_path))
    assert status == NOT_STARTED
    assert "There is nobody to ask: --yes goes on without. Nothing was made." in said


@pytest.mark.soak
def test_it_stops_at_a_permission_that_is_missing(aws_emulator: str, tmp_path: Path) -> None:
    """At the first refusal, not after every test of every file has failed of it."""
    account = Refusing(aws_emulator)
    account.refuse("CreateTable", denied("dynamodb:CreateTable"))
    with account.served() as url:
        status, said = run(url, "--yes", folder=tmp_path)
    assert status == REFUSED, said
    assert re.search(r"^Stopped: DynamoDB_20120810\.CreateTable was refused .*dynamodb:CreateTable", said, re.MULTILINE)
    assert "Permission is missing" in said
    assert account.asked.count("CreateTable") < 5
    assert left_at(aws_emulator) == []
    assert not [*tmp_path.iterdir()]


@pytest.mark.soak
def test_credentials_that_expire_on_the_way_leave_what_clean_deletes(aws_emulator: str, tmp_path: Path) -> None:
    account = Refusing(aws_emulator, after=60)
    with account.served() as url:
        status, said = run(url, "--yes", folder=tmp_path)
        assert status == LEFT, said
        assert "Stopped: " in said
        assert "The credentials have expired: get new ones" in said
        assert f"python -m tools.aws clean --endpoint {url} --region us-east-1" in said
        assert "Traceback" not in said
        assert left_at(aws_emulator) != []
        account.after = None
        status, said = finish(start(url, "--yes", command="clean", folder=tmp_path))
    assert status == PASSED, said
    assert left_at(aws_emulator) == []
    assert not [*tmp_path.iterdir()]


@pytest.mark.soak
def test_queues_alone_reach_no_cap(aws_emulator: str, tmp_path: Path) -> None:
    """They use no unit: half as much again is nothing."""
    status, said = run(aws_emulator, "--yes", folder=tmp_path, only=["tests/queues/test_queue_answers.py"])
    assert status == PASSED, said
    assert "predicted within 2%" in said


def test_what_no_list_shows_yet_is_deleted_all_the_same(aws_emulator: str) -> None:
    run_id = "cccccccccc"
    name = f"{FAMILY}{run_id}-app"
    account = Refusing(aws_emulator)
    with account.served() as url, closing(account_at(url)) as ours:
        make_each(url, run_id)
        for operation in ("ListTables", "ListQueues"):
            account.hide(operation)
        journal = frozenset(Made(kind, name) for kind in ("table", "queue", "bucket"))
        assert Cleaner(ours).delete_run(run_id, journal) == 3
    assert left_at(aws_emulator) == []


def test_what_can_not_be_deleted_keeps_nothing_else(aws_emulator: str) -> None:
    run_id = "dddddddddd"
    account = Refusing(aws_emulator)
    account.refuse("DeleteTable", denied("dynamodb:DeleteTable"))
    account.refuse("ListQueues", denied("sqs:ListQueues"))
    with account.served() as url, closing(account_at(url)) as ours:
        make_each(url, run_id)
        with pytest.raises(Exception, match=r"DeleteTable was refused.*Permission is missing") as caught:
            Cleaner(ours).delete_run(run_id)
        assert "queues: ListQueues was refused" in str(caught.value)
    assert [made.partition("-")[0] for made in left_at(aws_emulator)] == ["singletable"] * 2
    with closing(account_at(aws_emulator)) as ours:
        assert Cleaner(ours).delete_run(run_id) == 2


def make_each(url: str, run_id: str) -> None:
    """A table, a queue and a bucket of a run."""
    name = f"{FAMILY}{run_id}-app"
    with closing(account_at(url)) as account:
        tags = [{"Key": TAG, "Value": run_id}]
        account.call(DYNAMODB, "CreateTable", {"TableName": name, "Tags": tags} | KEY_SCHEMA)
        account.call(SQS, "CreateQueue", {"QueueName": name, "tags": {TAG: run_id}})
        account.s3("PUT", f"/{name}")
        tag_bucket(account, name, run_id)


def test_clean_names_runs_that_are_elsewhere_or_under_way(aws_emulator: str, tmp_path: Path) -> None:
    elsewhere = Journal(Run("eeeeeeeeee", "http://127.0.0.1:1", "eu-west-1"), tmp_path)
    elsewhere.close(all_gone=False)
    here = Journal(Run("ffffffffff", aws_emulator, "us-east-1"), tmp_path)
    status, said = finish(start(aws_emulator, "--yes", command="clean", folder=tmp_path))
    assert status == PASSED, said
    assert "eeeeeeeeee left something elsewhere: python -m tools.aws clean --endpoint http://127.0.0.1:1" in said
    assert "ffffffffff is under way on this machine" in said
    assert here.path.exists()
    here.close(all_gone=True)


def test_only_a_refusal_for_good_stops_a_run() -> None:
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m"}'
    assert refused_for_good("GetItem", 400, body % b"AccessDeniedException")
    assert not refused_for_good("GetItem", 400, body % b"ConditionalCheckFailedException")
    assert not refused_for_good("GetItem", 200, body % b"AccessDeniedException")
