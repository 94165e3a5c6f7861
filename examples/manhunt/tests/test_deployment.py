"""The application under its deployed roles: what it asks for is allowed, and another action, index or table is not."""

from __future__ import annotations

import pytest

from examples.manhunt.tests.support import USUAL, World
from manhunt.deployment import deployment
from singletable_deploy.cloudformation import template
from tests.support.programs import PROGRAMS
from tests.support.roles import Recorded, recording

PROGRAM = PROGRAMS["manhunt/tests"]


def test_each_program_may_do_what_it_does_and_nothing_a_step_outside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(deployment, PROGRAM)
    recording(monkeypatch, recorded)
    search = world.open(*USUAL)
    world.drain()
    world.later(700)
    world.app.searches_of_contact(search.domain_id, search.contact_id)
    world.app.search_with_attempts(search.domain_id, search.search_id)
    world.app.answer(search.search_id, 1, how="text")
    world.drain()
    assert recorded.refused == []
    assert {role for role, _ in recorded.attempts} == {"Web", "Worker"}
    judged, escaped = recorded.escaped()
    assert judged > 500
    assert escaped == []


def test_a_function_is_called_by_its_stream_queue_or_clock() -> None:
    resources = template(deployment)["Resources"]
    stream, queue = (resources[f"ManhuntOn{each}Mapping"]["Properties"] for each in ("Change", "Task"))
    for mapping in (stream, queue):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    aside = {"Fn::GetAtt": ["ManhuntOnChangeAsideBucket", "Arn"]}
    assert stream["DestinationConfig"] == {"OnFailure": {"Destination": aside}}
    assert stream["StartingPosition"] == "TRIM_HORIZON"
    assert (stream["BisectBatchOnFunctionError"], stream["MaximumRetryAttempts"]) == (True, 10)
    held = resources["FunctionsPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert [s["Action"] for s in held if s["Resource"] == aside] == [["s3:ListBucket"]]
    assert resources["ManhuntTasksQueue"]["Properties"]["QueueName"] == "manhunt-tasks.fifo"
    queues = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::SQS::Queue"]
    assert len(queues) >= 3
    assert all(each["SqsManagedSseEnabled"] is True for each in queues)
    dead = resources["ManhuntTasksQueue"]["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]
    assert dead == {"Fn::GetAtt": ["ManhuntTasksDeadQueue", "Arn"]}
    assert resources["ManhuntSendDueRule"]["Properties"]["ScheduleExpression"] == "rate(1 minute)"
    alarms = {name for name, each in resources.items() if each["Type"] == "AWS::CloudWatch::Alarm"}
    assert {"ManhuntOnChangeLateAlarm", "ManhuntOnChangeAsideAlarm", "ManhuntTasksDeadLettersAlarm"} <= alarms
    assert {"ManhuntThrottledReadsAlarm", "ManhuntThrottledWritesAlarm", "ManhuntErrorsAlarm"} <= alarms
