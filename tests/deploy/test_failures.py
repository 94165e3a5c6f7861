"""What fails is kept with what it was about, by leave of the role, and somebody is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from singletable import Database, Table
from singletable.errors import DeclarationError
from singletable.flow import TableNames
from singletable.streams import Changes, ChangeWorker
from singletable.tables import TableSettings
from singletable.tasks import Tasks, TaskWorker
from singletable.tasks.items import TaskState
from singletable_deploy import ContainerService, Deployment, Function, MessageQueue, Role
from singletable_deploy.alarms import unwatched
from singletable_deploy.cloudformation import template
from tests.support.attempts import queue_arn, stream_arn, table_arn
from tests.support.engines import fresh
from tests.support.iam import Attempt, is_allowed
from tests.support.templates import statements_of

shop = Table("shop", stream="new_and_old")
changes, queue = Changes(shop), MessageQueue("pushes")


def function(name: str, on: Any, **options: Any) -> Function:
    return Function(name, f"shop.{name}", Role(f"role-{name}", [], service="lambda"), on, **options)


ALL = Deployment(
    "shop",
    tables=[shop, changes.leases],
    functions=[function("stream", changes), function("queue", queue), function("nightly", timedelta(days=1))],
    services=[ContainerService("worker", cluster="main", least=2)],
)
RESOURCES = template(ALL)["Resources"]


def properties(name: str) -> Any:
    return RESOURCES[name]["Properties"]


def alarm(name: str) -> Any:
    return properties(f"{name}Alarm")


def measured(name: str) -> dict[str, Any]:
    """The metrics of an alarm: each with the value of its last dimension."""
    metrics = [each["MetricStat"]["Metric"] for each in alarm(name)["Metrics"] if "MetricStat" in each]
    return {metric["MetricName"]: metric["Dimensions"][-1]["Value"] for metric in metrics}


# --- where it is kept -------------------------------------------------------------------------------------------------
def test_a_change_that_fails_is_kept_with_its_images_and_before_the_stream_drops_it() -> None:
    mapping = properties("StreamMapping")
    kept = mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
    bucket = RESOURCES[kept]
    assert (bucket["Type"], bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == (
        "AWS::S3::Bucket",
        "Retain",
        "Retain",
    )
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert "LifecycleConfiguration" not in bucket["Properties"]  # until somebody deletes it
    assert mapping["MaximumRecordAgeInSeconds"] == 20 * 3600 < 24 * 3600


def test_a_call_of_a_schedule_that_fails_is_kept() -> None:
    (target,) = properties("NightlyRule")["Targets"]
    missed = {"Fn::GetAtt": ["NightlyMissedQueue", "Arn"]}
    assert target["DeadLetterConfig"] == {"Arn": missed}
    calls = properties("NightlyCalls")
    assert calls["DestinationConfig"] == {"OnFailure": {"Destination": missed}}
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == calls["MaximumEventAgeInSeconds"] == 6 * 3600
    assert properties("NightlyMissedQueue")["MessageRetentionPeriod"] == 14 * 24 * 3600
    (statement,) = properties("NightlyMissedPolicy")["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["NightlyRule", "Arn"]}}}


def test_an_event_of_a_schedule_is_not_tried_longer_than_until_the_next() -> None:
    made = template(replace(ALL, functions=[function("often", timedelta(minutes=2))]))["Resources"]
    assert made["OftenCalls"]["Properties"]["MaximumEventAgeInSeconds"] == 120


def test_each_role_may_do_what_its_source_needs_and_no_more() -> None:
    aside, objects = (f"arn:aws:s3:::the-bucket{part}" for part in ("", "/aws/lambda/some/shard/object"))
    needs = {
        "RoleStream": [
            ("dynamodb:ListStreams", "*"),
            *((f"dynamodb:{a}", stream_arn("shop")) for a in ("DescribeStream", "GetRecords", "GetShardIterator")),
            ("s3:PutObject", objects),
            ("s3:ListBucket", aside),
        ],
        "RoleQueue": [(f"sqs:{a}", queue_arn("pushes")) for a in ("ReceiveMessage", "DeleteMessage")],
        "RoleNightly": [("sqs:SendMessage", queue_arn("nightly-missed"))],
    }
    for role in needs:
        held = statements_of({"Resources": RESOURCES}, role)
        for other, wanted in needs.items():
            assert {is_allowed(held, Attempt(*one, {})) for one in wanted} == {other == role}, (role, other)
    held = statements_of({"Resources": RESOURCES}, "RoleStream")
    for action in ("s3:GetObject", "s3:DeleteObject"):
        assert not is_allowed(held, Attempt(action, objects, {}))


def test_logs_are_kept_for_a_month_and_functions_write_to_them() -> None:
    for name in ("Stream", "Queue", "Nightly"):
        assert properties(f"{name}Function")["LoggingConfig"] == {"LogGroup": {"Ref": f"{name}Logs"}}
        assert properties(f"{name}Logs")["RetentionInDays"] == 30
    longer = template(replace(ALL, log_days=365))["Resources"]
    assert longer["QueueLogs"]["Properties"]["RetentionInDays"] == 365


@pytest.mark.parametrize(("setting", "is_on"), [(None, True), (True, True), (False, False)])
def test_a_table_can_be_restored_unless_it_is_declared_otherwise(setting: bool | None, is_on: bool) -> None:
    table = Table("some", settings=TableSettings(point_in_time_recovery=setting))
    (made,) = template(Deployment("some", [table], alarms=False))["Resources"].values()
    wanted = {"PointInTimeRecoveryEnabled": True} if is_on else None
    assert made["Properties"].get("PointInTimeRecoverySpecification") == wanted


# --- who is told ------------------------------------------------------------------------------------------------------
def test_errors_and_throttles_that_come_and_go_are_told() -> None:
    for name in ("Stream", "Queue", "Nightly"):
        assert measured(f"{name}Errors") == {key: {"Ref": f"{name}Function"} for key in ("Errors", "Throttles")}
    for name in ("ShopThrottledReads", "ShopThrottledWrites", "ShopErrors", "StreamErrors"):
        told = alarm(name)
        assert (told["DatapointsToAlarm"], told["EvaluationPeriods"], told["Threshold"]) == (3, 15, 0)
        assert (told["ComparisonOperator"], told["TreatMissingData"]) == ("GreaterThanThreshold", "notBreaching")


def test_what_failed_for_the_last_time_is_told_at_once() -> None:
    assert measured("StreamAside") == {
        "DroppedEventCount": {"Ref": "StreamMapping"},
        "OnFailureDestinationDeliveredEventCount": {"Ref": "StreamMapping"},
        "DestinationDeliveryFailures": {"Ref": "StreamFunction"},
    }
    assert properties("StreamMapping")["MetricsConfig"] == {"Metrics": ["EventCount"]}
    waiting = {name: alarm(name)["Dimensions"] for name in ("NightlyMissed", "PushesDeadLetters")}
    assert waiting == {
        "NightlyMissed": [{"Name": "QueueName", "Value": "nightly-missed"}],
        "PushesDeadLetters": [{"Name": "QueueName", "Value": "pushes-dead"}],
    }
    for name in ("StreamAside", "NightlyMissed", "PushesDeadLetters"):
        assert (alarm(name)["DatapointsToAlarm"], alarm(name)["EvaluationPeriods"]) == (1, 1)


def test_a_stream_that_is_read_late_is_told_hours_before_it_drops_changes() -> None:
    told = alarm("StreamLate")
    assert (told["MetricName"], told["Statistic"], told["Threshold"]) == ("IteratorAge", "Maximum", 300_000)


def test_a_service_whose_tasks_do_not_run_is_told_also_when_nothing_measures_them() -> None:
    told = alarm("WorkerDown")
    assert (told["Namespace"], told["MetricName"], told["Statistic"]) == ("AWS/ECS", "CPUUtilization", "SampleCount")
    assert (told["ComparisonOperator"], told["Threshold"]) == ("LessThanThreshold", 2)
    assert told["TreatMissingData"] == "breaching"
    assert {each["Name"]: each["Value"] for each in told["Dimensions"]} == {
        "ClusterName": "main",
        "ServiceName": "worker",
    }


def test_every_alarm_tells_the_topic_and_none_is_made_without() -> None:
    alarms = [each for each in RESOURCES.values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) == 14
    assert all(each["Properties"]["AlarmActions"] == [{"Ref": "Alarms"}] for each in alarms)
    silent = template(replace(ALL, alarms=False))["Resources"]
    assert not [name for name in silent if "Alarm" in name]
    assert "MetricsConfig" not in silent["StreamMapping"]["Properties"]


# --- what functions measure -------------------------------------------------------------------------------------------
work = Table("work", indexes=["gsi1"], stream="new_and_old")
tasks, letters = Tasks(work, index="gsi1"), Changes(work, name="mail")
MEASURED = Deployment(
    "work",
    tables=[work, letters.leases],
    functions=[function("watch", timedelta(minutes=1), measures=[tasks, letters])],
    names=TableNames({}, "prod-"),
)
WATCHED = template(MEASURED)["Resources"]


def printed(db: Database, capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, str]]:
    """What a call of the function prints, as CloudWatch reads it: each metric with its dimensions."""
    capsys.readouterr()
    TaskWorker(db, tasks).lambda_metrics()({}, None)
    ChangeWorker(db, letters).lambda_metrics()({})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {
        (directive["Namespace"], metric["Name"]): {name: line[name] for name in directive["Dimensions"][0]}
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
    }


def test_the_alarms_watch_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh(table_prefix="prod-") as db:
        db.create_table(work)
        db.create_table(letters.leases)
        ChangeWorker(db, letters).drain()
        there = printed(db, capsys)
    watched = {
        (each["Namespace"], each["MetricName"]): {one["Name"]: one["Value"] for one in each["Dimensions"]}
        for each in (r["Properties"] for r in WATCHED.values() if r["Type"] == "AWS::CloudWatch::Alarm")
        if each.get("Namespace") == "singletable"
    }
    assert watched == there
    assert len(watched) == 4
    overdue = WATCHED["WorkTasksOverdueAlarm"]["Properties"]
    assert (overdue["Threshold"], overdue["EvaluationPeriods"], overdue["TreatMissingData"]) == (300, 5, "breaching")
    behind = WATCHED["WorkMailChangesBehindAlarm"]["Properties"]
    assert (behind["Threshold"], behind["EvaluationPeriods"], behind["TreatMissingData"]) == (300, 5, "breaching")
    assert WATCHED["WorkTasksDeadAlarm"]["Properties"]["TreatMissingData"] == "notBreaching"


def test_a_consumer_that_a_function_handles_has_no_workers_to_be_behind() -> None:
    watch = function("watch", timedelta(minutes=1), measures=[letters])
    handled = template(Deployment("work", tables=[work, letters.leases], functions=[watch, function("f", letters)]))
    assert "WorkMailChangesDeadAlarm" in handled["Resources"]
    assert "WorkMailChangesBehindAlarm" not in handled["Resources"]
    assert "FLateAlarm" in handled["Resources"]


def test_the_function_may_read_what_it_measures_and_writes_nothing() -> None:
    held = statements_of({"Resources": WATCHED}, "RoleWatch")
    index, leases = table_arn("prod-work", "/index/gsi1"), table_arn("prod-work-leases")
    keys = {"dynamodb:LeadingKeys": (tasks.entities.by_wake(TaskState.DEAD, 0).partition,)}
    assert is_allowed(held, Attempt("dynamodb:Query", index, keys))
    own = {"dynamodb:LeadingKeys": (letters.consumer.state.dead_letter.by_sequence("mail").partition,)}
    assert is_allowed(held, Attempt("dynamodb:Query", leases, own))
    other = {"dynamodb:LeadingKeys": (letters.consumer.state.dead_letter.by_sequence("other").partition,)}
    assert not is_allowed(held, Attempt("dynamodb:Query", leases, other))
    state = letters.consumer.state
    lease = {"dynamodb:LeadingKeys": (state.lease.by_shard("mail", "label").partition,)}
    assert is_allowed(held, Attempt("dynamodb:Query", leases, lease))
    begun = {"dynamodb:LeadingKeys": (state.consumer.by_name("mail").partition,)}
    assert is_allowed(held, Attempt("dynamodb:GetItem", leases, begun))
    assert {action for each in held for action in each["Action"]} == {
        *(f"dynamodb:{action}" for action in ("Query", "GetItem", "BatchGetItem", "DescribeTable")),
        *(f"dynamodb:{action}" for action in ("DescribeStream", "GetRecords", "GetShardIterator")),
        "sqs:SendMessage",
    }


def test_work_without_an_alarm_is_told() -> None:
    assert list(unwatched(MEASURED)) == []
    silent = Deployment("work", tables=[work, letters.leases], functions=[function("f", Changes(work, name="mail"))])
    assert ["overdue or dead tasks of work" in remark for remark in unwatched(silent)] == [True]
    of_tasks, of_changes = unwatched(Deployment("work", tables=[work, letters.leases]))
    assert "measures=[tasks]" in of_tasks
    assert "workers of the consumer mail of work are behind" in of_changes
    assert list(unwatched(Deployment("work", tables=[work, letters.leases], alarms=False))) == []


# --- what is refused --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("age", [timedelta(0), timedelta(seconds=59), timedelta(hours=24), timedelta(seconds=90.5)])
def test_an_age_that_the_stream_does_not_reach_is_refused(age: timedelta) -> None:
    with pytest.raises(DeclarationError, match="max_age"):
        function("f", changes, max_age=age)


@pytest.mark.parametrize("on", [timedelta(minutes=5), queue, changes])
def test_what_measures_is_called_every_minute(on: Any) -> None:
    with pytest.raises(DeclarationError, match="not called every minute"):
        function("f", on, measures=[tasks])


def test_days_that_logs_are_not_kept_for_are_refused() -> None:
    with pytest.raises(DeclarationError, match="log_days=31"):
        replace(ALL, log_days=31)
