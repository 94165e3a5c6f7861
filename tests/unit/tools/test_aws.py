"""What `tools/aws` does to requests, answers and figures, without a service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from singletable.wire import Credentials
from tools.aws.account import HttpAnswer
from tools.aws.cassettes import Recorder, Replay, fingerprint
from tools.aws.counting import PRICES, Count, count_json, count_object, prices_of
from tools.aws.names import TAG, Names
from tools.aws.plan import Plan
from tools.aws.prediction import SAMPLE, Counted, Like, changed, file_fingerprint, predict
from tools.aws.report import differences
from tools.aws.scanner import secrets_in, secrets_in_folder
from tools.aws.scrubbing import Scrubber
from tools.aws.signing import signed_headers

RUN = "0123456789"
PREFIX = f"singletable-test-{RUN}-"
NOW = 1767225600.0
DYNAMODB = "DynamoDB_20120810"
ACCOUNT = "123456789012"


def names() -> Names:
    return Names(RUN, lambda: "http://127.0.0.1:1")


def sent(operation: str, body: object, service: str = DYNAMODB) -> dict[str, object]:
    changed, _ = names().json_request(service, operation, json.dumps(body).encode())
    said: dict[str, object] = json.loads(changed)
    return said


def test_a_table_gets_the_name_of_the_run_wherever_it_is_named() -> None:
    table = f"{PREFIX}0-app"
    assert sent("GetItem", {"TableName": "app", "Key": {"TableName": {"S": "app"}}}) == {
        "TableName": table,
        "Key": {"TableName": {"S": "app"}},
    }
    assert sent("BatchGetItem", {"RequestItems": {"app": {"Keys": []}}}) == {"RequestItems": {table: {"Keys": []}}}
    assert sent("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "app", "Item": {}}}]}) == {
        "TransactItems": [{"Put": {"TableName": table, "Item": {}}}]
    }
    arn = "arn:aws:dynamodb:us-east-1:1:table/app/stream/2026"
    assert sent("DescribeStream", {"StreamArn": arn}) == {"StreamArn": arn.replace("/app/", f"/{table}/")}


def test_what_is_made_has_the_tag() -> None:
    made = names().json_request(DYNAMODB, "CreateTable", b'{"TableName": "test-00000000ff-app"}')
    assert made[1] == f"{PREFIX}test-00000000ff-app"
    assert json.loads(made[0])["Tags"] == [{"Key": TAG, "Value": RUN}]
    queue = names().json_request("AmazonSQS", "CreateQueue", b'{"QueueName": "q.fifo"}')
    assert queue[1] == f"{PREFIX}q.fifo"
    assert json.loads(queue[0])["tags"] == {TAG: RUN}
    assert names().bucket_target("/b-1/a/key?uploads=") == (f"/{PREFIX}b-1/a/key?uploads=", f"{PREFIX}b-1")


def test_a_table_without_a_name_of_its_own_is_another_one_in_the_next_test() -> None:
    said = names()
    first = said.table("app")
    said.turn += 1
    assert said.table("app") != first
    assert said.plain(said.table("app").encode()) == said.plain(first.encode()) == b"app"


def test_answers_have_the_names_of_the_test_and_no_others() -> None:
    said = names()
    tables = {"TableNames": ["somebody's", f"{PREFIX}test-00000000ff-app"]}
    answer = said.json_answer(DYNAMODB, "ListTables", json.dumps(tables).encode())
    assert json.loads(answer) == {"TableNames": ["test-00000000ff-app"]}


def test_a_list_of_tables_goes_on_where_its_page_ended() -> None:
    """Also where the last table of a page was another test's: under this test's name the list would begin again."""
    said = names()
    ends: list[str] = []
    for end in (f"{PREFIX}7-app", f"{PREFIX}9-app", "somebody's"):
        said.turn = 12
        answer = said.json_answer(
            DYNAMODB, "ListTables", json.dumps({"TableNames": [], "LastEvaluatedTableName": end}).encode()
        )
        after = {"ExclusiveStartTableName": json.loads(answer)["LastEvaluatedTableName"]}
        ends.append(json.loads(said.json_request(DYNAMODB, "ListTables", json.dumps(after).encode())[0]).popitem()[1])
    assert ends == [f"{PREFIX}7-app", f"{PREFIX}9-app", "somebody's"]


def test_a_queue_is_reached_by_the_gateway_and_found_behind_it() -> None:
    said = names()
    url = f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/{PREFIX}q"
    answer = json.loads(said.json_answer("AmazonSQS", "CreateQueue", json.dumps({"QueueUrl": url}).encode()))
    assert answer == {"QueueUrl": "http://127.0.0.1:1/queues/q"}
    request, _ = said.json_request("AmazonSQS", "SendMessage", json.dumps(answer | {"MessageBody": url}).encode())
    assert json.loads(request) == {"QueueUrl": url, "MessageBody": url}


def test_where_a_queue_puts_its_dead_letters_has_the_name_of_the_run() -> None:
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:1:dead.fifo", "maxReceiveCount": "3"})
    said = sent("CreateQueue", {"QueueName": "jobs.fifo", "Attributes": {"RedrivePolicy": policy}}, "AmazonSQS")
    assert said["QueueName"] == f"{PREFIX}jobs.fifo"
    assert said["Attributes"] == {"RedrivePolicy": policy.replace("dead.fifo", f"{PREFIX}dead.fifo")}


@pytest.mark.parametrize("token", [None, "a-session-token"])
@pytest.mark.parametrize("target", ["/", "/bucket/a%20key?uploads=", "/bucket?list-type=2&prefix=a%2Fb"])
def test_signatures_are_those_of_botocore(token: str | None, target: str) -> None:
    headers = {"host": "s3.eu-west-1.amazonaws.com", "content-type": "text/plain"}
    path, _, query = target.partition("?")
    made = signed_headers(
        "PUT",
        path,
        query,
        headers,
        b"body",
        service="dynamodb",
        region="eu-west-1",
        credentials=Credentials("an-access-key", "a-secret-key", token),
        now=NOW,
    )
    request = AWSRequest("PUT", f"https://{headers['host']}{target}", headers, b"body")
    for name in ("x-amz-date", "x-amz-content-sha256", "x-amz-security-token"):
        if name in made:
            request.headers[name] = made[name]
    request.context["timestamp"] = made["x-amz-date"]
    signer = PlainPaths(BotoCredentials("an-access-key", "a-secret-key", token), "dynamodb", "eu-west-1")
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    assert made["authorization"].endswith(f"Signature={signature}")


class PlainPaths(SigV4Auth):  # type: ignore[misc]
    """As S3 wants it: a path is not quoted again."""

    def _normalize_url_path(self, path: str) -> str:
        return path


def test_units_are_those_that_the_service_reports() -> None:
    read = {"ConsumedCapacity": {"CapacityUnits": 2.5}}
    assert counted("Query", read).read_units == 2.5
    write = {"ConsumedCapacity": [{"CapacityUnits": 4.0}, {"CapacityUnits": 3.0, "ReadCapacityUnits": 1.0}]}
    found = counted("TransactWriteItems", write)
    assert (found.read_units, found.write_units, found.requests) == (1.0, 6.0, 1)
    assert counted("CreateTable", {}).tables == 1
    refused = count_json(
        DYNAMODB, "TransactWriteItems", b'{"TransactItems": [1, 2]}', 400, b'[{"Code": "ConditionalCheckFailed"}]'
    )
    assert (refused.write_units, refused.unreported_units) == (0.0, 4.0)


def test_objects_are_counted_by_their_price() -> None:
    assert count_object("PUT", "/b", 200) == Count(requests=1, object_writes=1, buckets=1)
    assert count_object("PUT", "/b/key", 200) == Count(requests=1, object_writes=1)
    assert count_object("GET", "/b?list-type=2", 200) == Count(requests=1, object_writes=1)
    assert count_object("GET", "/b/key", 200) == Count(requests=1, object_reads=1)
    assert count_object("DELETE", "/b/key", 204) == Count(requests=1)


def test_money_is_units_times_prices() -> None:
    prices = prices_of("us-east-1")
    assert prices.money(Count(read_units=1_000_000)) == pytest.approx(0.125)
    assert prices.money(Count(write_units=1_000_000, unreported_units=1_000_000)) == pytest.approx(1.25)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", prices.as_of)
    assert not prices.note
    elsewhere = prices_of("sa-east-1")
    assert elsewhere.money(Count(read_units=1_000_000)) > 0.125
    assert "sa-east-1" in elsewhere.note


def test_each_price_says_where_it_was_read_and_when() -> None:
    for name, said in json.loads(PRICES.read_text())["prices"].items():
        assert {"per_million", "what", "page", "dated"} == said.keys(), name
        assert all(said.values()), name


def test_a_plan_is_over_at_either_cap() -> None:
    plan = Plan("aws", [], {}, prices_of("us-east-1"), cap=100.0, cap_money=0.01)
    assert plan.is_over(Count(read_units=99.0)) == ""
    assert "100 units" in plan.is_over(Count(read_units=50.0, unreported_units=50.0))
    assert "$0.01" in plan.is_over(Count(object_writes=2000))


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """A folder with the files of `SAMPLE` and one more, none of them counted yet."""
    for file in (*SAMPLE, "tests/graph/test_more.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("from tests.graph.models import Node\n")
    (tmp_path / "tests/graph/models.py").write_text("class Node: ...\n")
    return tmp_path


def count_all(root: Path, count: Count) -> Path:
    """Counts of every file there, as they would be kept."""
    files = [str(path.relative_to(root)) for path in root.rglob("test_*.py")]
    counts = {file: Counted(count, file_fingerprint(file, root)).saved() for file in files}
    (root / "counts.json").write_text(json.dumps({"aws": counts}))
    return root / "counts.json"


def predicted(root: Path, path: Path, now: Count) -> tuple[Mapping[str, Count], list[str]]:
    """What is predicted of all files, where each of them uses `now`; and those that were counted for it."""
    measured: list[str] = []

    def measure(like: Like, files: Sequence[str]) -> Mapping[str, Count]:
        measured.extend(files)
        return dict.fromkeys(files, now)

    files = sorted(str(path.relative_to(root)) for path in root.rglob("test_*.py"))
    return predict("aws", files, measure, say=lambda _: None, path=path, root=root), measured


def test_a_count_is_of_a_file_and_what_it_imports_from_its_folder(suites: Path) -> None:
    file, other = "tests/graph/test_more.py", "tests/engine/test_versions.py"
    counts = {name: Counted(Count(), file_fingerprint(name, suites)) for name in (file, other)}
    assert changed(counts, [file, other], suites) == []
    (suites / "tests/graph/models.py").write_text("class Node: x: int\n")
    assert changed(counts, [file, other], suites) == [file]
    (suites / other).write_text("")
    assert changed(counts, [file, other, "tests/engine/test_new.py"], suites) == [
        file,
        other,
        "tests/engine/test_new.py",
    ]


def test_what_changed_since_it_was_counted_is_counted_first(suites: Path) -> None:
    path = count_all(suites, Count(requests=10, read_units=100.0))
    (suites / "tests/graph/test_more.py").write_text("")
    counts, measured = predicted(suites, path, Count(requests=10, read_units=101.0))
    assert sorted(measured) == sorted([*SAMPLE, "tests/graph/test_more.py"])
    assert counts["tests/graph/test_more.py"].read_units == 101.0


def test_where_a_sample_uses_otherwise_everything_is_counted(suites: Path) -> None:
    path = count_all(suites, Count(requests=10, read_units=100.0))
    assert sorted(predicted(suites, path, Count(requests=10, read_units=100.0))[1]) == sorted(SAMPLE)
    counts, measured = predicted(suites, path, Count(requests=11, read_units=100.0))
    assert sorted(measured) == sorted(counts)
    assert {count.requests for count in counts.values()} == {11}


def test_the_end_names_what_used_otherwise() -> None:
    by_file = {"a.py": Count(read_units=100.0), "b.py": Count(read_units=100.0)}
    plan = Plan("aws", [*by_file], by_file, prices_of("us-east-1"), cap=1.0, cap_money=1.0)
    said = differences(plan, {"a.py": Count(read_units=101.0), "b.py": Count(read_units=99.0)})
    assert said.splitlines() == ["predicted within 2%", "2 of 2 test files used what was predicted of them"]
    said = differences(plan, {"a.py": Count(read_units=100.0), "b.py": Count(read_units=150.0, requests=3)})
    assert said.splitlines()[0].startswith("NOT predicted within 2%")
    off = "b.py: 100.0 units and 0 requests predicted, 150.0 and 3 used"
    assert said.splitlines()[1:] == ["1 of 2 test files used what was predicted of them", off]
    evened_out = differences(plan, {"a.py": Count(read_units=50.0), "b.py": Count(read_units=150.0)})
    assert evened_out.splitlines()[0] == "predicted within 2%"
    assert len(evened_out.splitlines()) == 4


def test_ids_are_named_the_same_each_time() -> None:
    scrubber = Scrubber(account=ACCOUNT, gateway="http://127.0.0.1:4000")
    arn = f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/app/stream/2026-11-22T14:00:00.123"
    first = scrubber.scrub(json.dumps({"LatestStreamArn": arn, "TableId": "5f1a"}).encode())
    again = scrubber.scrub(json.dumps({"StreamArn": arn}).encode())
    assert json.loads(first)["LatestStreamArn"] == json.loads(again)["StreamArn"]
    assert json.loads(first)["TableId"] == "TableId-1"
    assert ACCOUNT.encode() not in first
    assert Scrubber().scrub(again) == again
    dated = b'{"Item": {"at": {"S": "2026-11-22T14:00:00.123456Z"}}}'
    assert scrubber.scrub(dated) == dated
    message = scrubber.scrub(b'{"ReceiptHandle": "abc", "QueueUrl": "http://127.0.0.1:4000/queues/q"}')
    assert json.loads(message) == {"ReceiptHandle": "ReceiptHandle-3", "QueueUrl": "{gateway}/queues/q"}


PLANTED = {
    "an access key": "AKIAIOSFODNN7EXAMPLE",
    "a secret key": "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "a session token": "X-Amz-Security-Token",
    "a signature": "AWS4-HMAC-SHA256 Credential=x",
    "an account's number in an ARN": f"arn:aws:sqs:us-east-1:{ACCOUNT}:q",
    "an account's number": f'"Owner": "{ACCOUNT}"',
    "a host": "dynamodb.eu-west-1.amazonaws.com",
    "a request's id": "x-amzn-RequestId",
    "a name of a run": f"{PREFIX}app",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_the_scanner_finds_what_is_planted(tmp_path: Path, kind: str) -> None:
    assert any(found.startswith(kind) for found in secrets_in(f'{{"a": "{PLANTED[kind]}"}}'))
    recorder = Recorder(["a-secret-of-this-run"], "", "")
    recorder.take("tests/a/test_b.py::test_c", "GetItem", b"{}", answered(PLANTED[kind]))
    # The scrubber is passed by: what it does not know has to be found in the file.
    recorder._taken["tests/a/test_b.py::test_c"][0].answer.headers["content-type"] = PLANTED[kind]  # type: ignore[index]
    left = recorder.write(tmp_path, ["tests/a/test_b.py::test_c"], {})
    assert [*left] == ["tests/a/test_b.py::test_c"]
    (tmp_path / "planted.json").write_text(PLANTED[kind])
    assert any(kind in found for found in secrets_in_folder(tmp_path))


def test_the_scanner_finds_the_secrets_of_the_run() -> None:
    assert [*secrets_in("said: a-secret-of-this-run", ["a-secret-of-this-run"])] == ["a secret of this run"]
    assert next(secrets_in(f"said: {ACCOUNT}-", account=ACCOUNT)) == "the account of this run"
    assert [*secrets_in("00000000000000000001", account="0" * 12)] == []
    assert [*secrets_in('{"sk": {"S": "member#000000000042"}, "n": {"N": "12345678901234"}}')] == []


def test_a_cassette_gives_each_answer_once_and_says_what_it_does_not_hold(tmp_path: Path) -> None:
    test = "tests/a/test_b.py::test_c"
    recorder = Recorder([], "", "http://127.0.0.1:4000")
    for text in ("first", "second"):
        recorder.take(test, "X.GetItem", b'{"b": 1, "a": {"SS": ["y", "x"]}}', answered(text))
    assert recorder.write(tmp_path, [test], {"seed": "s"}) == {}
    replay = Replay(tmp_path)
    assert replay.tests() == [test]
    assert replay.seed == "s"
    replay.begin(test)
    headers, body = {"x-amz-target": "X.GetItem"}, b'{"a": {"SS": ["x", "y"]}, "b": 1}'
    assert [replay.answer("POST", "/", headers, body).body for _ in range(2)] == [
        b'{"said":"first"}',
        b'{"said":"second"}',
    ]
    missing = replay.answer("POST", "/", headers, body)
    assert missing.status == 400
    assert b"the cassette of tests/a/test_b.py::test_c holds no further answer to this X.GetItem" in missing.body
    assert "holds no further answer" in replay.end(test, passed=True)
    assert replay.passed == set()


def test_a_body_that_is_not_json_has_a_fingerprint() -> None:
    assert fingerprint(b"\x00\xff") != fingerprint(b"\x00\xfe")


def counted(operation: str, answer: object) -> Count:
    return count_json(DYNAMODB, operation, b"{}", 200, json.dumps(answer).encode())


def answered(text: str) -> HttpAnswer:
    return HttpAnswer(200, {"content-type": "x"}, json.dumps({"said": text}, separators=(",", ":")).encode())
