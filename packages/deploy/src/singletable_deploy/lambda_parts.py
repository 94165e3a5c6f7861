"""Functions, and what lies beside them: logs, event source mappings, schedules, and the places of what failed.

What a stream's function could not handle goes to a bucket, with the records themselves: a queue would get a pointer
into the stream, which holds it for a day. What a schedule could not run goes to a queue: its event says no more than
when it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from singletable.streams import Changes
from singletable_deploy.deployment import Deployment, Function, Setting
from singletable_deploy.parts import RETAINED, Json, arn_of, closed_bucket, logical, plain_queue
from singletable_deploy.resources import BlobBucket, MessageQueue
from singletable_deploy.statements import VERSION

RUNTIME = "python3.13"
_STREAM_TRIES, _SCHEDULE_TRIES = 10, 2
"""Tries after the first. A schedule's are the most that Lambda allows."""
_LEAST_EVENT_SECONDS, _MOST_EVENT_SECONDS = 60, 6 * 60 * 60
"""The bounds of the time for which Lambda tries an event of a schedule."""


def functions(deployment: Deployment) -> Iterator[Json]:
    """The functions, whose code is a parameter of the template."""
    for function in deployment.functions:
        code = {"S3Bucket": {"Ref": "CodeBucket"}, "S3Key": {"Ref": "CodeKey"}}
        properties = {"Code": code, **function_properties(function, deployment)}
        yield {logical(function.name, "Function"): {"Type": "AWS::Lambda::Function", "Properties": properties}}


def function_properties(function: Function, deployment: Deployment) -> Json:
    properties: Json = {
        "Handler": function.handler,
        "LoggingConfig": {"LogGroup": {"Ref": logical(function.name, "Logs")}},
        "MemorySize": 512,
        "Role": arn_of(logical(function.role.name, "Role")),
        "Runtime": RUNTIME,
        "Timeout": function.seconds,
    }
    if settings := {**deployment.names.variables, **function.settings}:
        properties["Environment"] = {"Variables": {name: _setting(value) for name, value in settings.items()}}
    return properties


def _setting(value: Setting) -> Any:
    if isinstance(value, MessageQueue):
        return {"Ref": logical(value.name, "Queue")}
    return {"Ref": logical(value.name, "Bucket")} if isinstance(value, BlobBucket) else value


def beside(deployment: Deployment) -> Iterator[Json]:
    """Everything about the functions but the functions, which two formats spell differently."""
    for function in deployment.functions:
        logs = {"RetentionInDays": deployment.log_days}
        yield {logical(function.name, "Logs"): {"Type": "AWS::Logs::LogGroup", **RETAINED, "Properties": logs}}
        if isinstance(function.on, timedelta):
            yield _schedule(function, function.on)
        elif isinstance(function.on, MessageQueue):
            yield _mapping(function, {"EventSourceArn": arn_of(logical(function.on.name, "Queue")), "BatchSize": 10})
        else:
            yield {logical(function.name, "AsideBucket"): closed_bucket()}
            yield _mapping(function, _of_stream(function, function.on, deployment))


# --- streams and queues -----------------------------------------------------------------------------------------------
def _mapping(function: Function, own: Json) -> Json:
    """A mapping that is told which items failed: the rest of a batch is done."""
    properties = {
        "FunctionName": {"Ref": logical(function.name, "Function")},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        **own,
    }
    return {logical(function.name, "Mapping"): {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}}


def _of_stream(function: Function, changes: Changes, deployment: Deployment) -> Json:
    """The properties of a stream's mapping. A record that is too old goes aside before the stream drops it."""
    properties: Json = {
        "EventSourceArn": arn_of(logical(changes.table.name, "Table"), "StreamArn"),
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": function.batch,
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": _STREAM_TRIES,
        "MaximumRecordAgeInSeconds": int(function.max_age.total_seconds()),
        "DestinationConfig": {"OnFailure": {"Destination": arn_of(logical(function.name, "AsideBucket"))}},
    }
    return {**properties, "MetricsConfig": {"Metrics": ["EventCount"]}} if deployment.alarms else properties


# --- schedules --------------------------------------------------------------------------------------------------------
def _schedule(function: Function, every: timedelta) -> Json:
    """A rule, and the queue of the calls that it could not make and of those that failed for the last time."""
    target, rule, missed = (logical(function.name, kind) for kind in ("Function", "Rule", "MissedQueue"))
    age = int(min(max(every.total_seconds(), _LEAST_EVENT_SECONDS), _MOST_EVENT_SECONDS))
    tries = {"MaximumEventAgeInSeconds": age, "MaximumRetryAttempts": _SCHEDULE_TRIES}
    call = {
        "Arn": arn_of(target),
        "Id": function.name,
        "DeadLetterConfig": {"Arn": arn_of(missed)},
        "RetryPolicy": tries,
    }
    return {
        missed: plain_queue(function.missed),
        logical(function.name, "MissedPolicy"): _sent_by(rule, missed),
        rule: {
            "Type": "AWS::Events::Rule",
            "Properties": {"ScheduleExpression": rate_of(every), "Targets": [call]},
        },
        logical(function.name, "Calls"): {
            "Type": "AWS::Lambda::EventInvokeConfig",
            "Properties": {
                "FunctionName": {"Ref": target},
                "Qualifier": "$LATEST",
                **tries,
                "DestinationConfig": {"OnFailure": {"Destination": arn_of(missed)}},
            },
        },
        logical(function.name, "Permission"): {
            "Type": "AWS::Lambda::Permission",
            "Properties": {
                "Action": "lambda:InvokeFunction",
                "FunctionName": {"Ref": target},
                "Principal": "events.amazonaws.com",
                "SourceArn": arn_of(rule),
            },
        },
    }


def _sent_by(rule: str, queue: str) -> Json:
    """The policy of a queue that one rule sends to."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn_of(queue),
        "Condition": {"ArnEquals": {"aws:SourceArn": arn_of(rule)}},
    }
    policy = {"Version": VERSION, "Statement": [statement]}
    return {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": queue}], "PolicyDocument": policy}}


def rate_of(every: timedelta) -> str:
    """The rate expression of a schedule."""
    minutes = every // timedelta(minutes=1)
    return f"rate({minutes} minute{'s' if minutes > 1 else ''})"
