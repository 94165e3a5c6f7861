"""A deployment as a template of CloudFormation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from singletable.foundation import Table
from singletable_deploy.access import Resource
from singletable_deploy.alarms import Alarm, Metric, alarms_of
from singletable_deploy.deployment import Deployment
from singletable_deploy.lambda_parts import beside, functions
from singletable_deploy.parts import RETAINED, Json, arn_of, closed_bucket, logical, plain_queue, together
from singletable_deploy.resources import MessageQueue
from singletable_deploy.role import Role
from singletable_deploy.statements import VERSION, policies_of, trust_of

_LOGS = "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
TOPIC = "Alarms"
"""The topic that gets the alarms: people and programs subscribe to it."""


def template(deployment: Deployment) -> Json:
    """The template. Its functions' code is a parameter: a bucket and a key of a zip file."""
    document: Json = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"{deployment.name}, by singletable deploy",
    }
    if given := parameters(deployment):
        document["Parameters"] = given
    document["Resources"] = together(base(deployment), functions(deployment), beside(deployment), taken=given)
    document["Outputs"] = {**outputs(deployment), **_policies(document["Resources"])}
    return document


def parameters(deployment: Deployment) -> Json:
    declared: Json = {}
    if deployment.functions:
        declared["CodeBucket"] = {"Type": "String", "Description": "The bucket that holds the functions' code"}
        declared["CodeKey"] = {"Type": "String", "Description": "The key of its zip file"}
    return declared


def base(deployment: Deployment) -> Iterator[Json]:
    """Everything but the functions, which two formats spell differently."""
    for table in deployment.tables:
        yield {logical(table.name, "Table"): _table(table, deployment.names[table.name])}
    yield from map(_queue, deployment.all_queues)
    for bucket in deployment.all_buckets:
        yield {logical(bucket.name, "Bucket"): closed_bucket()}
    for role in deployment.all_roles:
        yield _role(role, deployment)
    if deployment.alarms:
        yield {TOPIC: {"Type": "AWS::SNS::Topic"}}
    for alarm in alarms_of(deployment):
        yield {logical(alarm.name, "Alarm"): _alarm(alarm, deployment)}


def outputs(deployment: Deployment) -> Json:
    """The outputs for programs and other stacks."""
    values: Json = {
        logical(table.name, "TableName"): {"Value": {"Ref": logical(table.name, "Table")}}
        for table in deployment.tables
    }
    for queue in deployment.all_queues:
        values[logical(queue.name, "QueueUrl")] = {"Value": {"Ref": logical(queue.name, "Queue")}}
    for bucket in deployment.all_buckets:
        values[logical(bucket.name, "BucketName")] = {"Value": {"Ref": logical(bucket.name, "Bucket")}}
    if deployment.alarms:
        values["AlarmsTopic"] = {"Value": {"Ref": TOPIC}}
    for role in deployment.all_roles:
        if role.service is not None:
            values[logical(role.name, "RoleArn")] = {"Value": arn_of(logical(role.name, "Role"))}
    return values


def _policies(resources: Json) -> Json:
    """The ARN of each policy, for roles that others make."""
    policies = [name for name, resource in resources.items() if resource["Type"] == "AWS::IAM::ManagedPolicy"]
    return {f"{name}Arn": {"Value": {"Ref": name}} for name in policies}


# --- tables, queues, buckets ------------------------------------------------------------------------------------------
def _table(table: Table, name: str) -> Json:
    definition = table.definition
    body: Json = {**definition.creation(), "TableName": name}
    stream, encryption = body.pop("StreamSpecification", None), body.pop("SSESpecification", None)
    if stream is not None:
        body["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    if encryption is not None:
        body["SSESpecification"] = {"SSEEnabled": encryption.pop("Enabled"), **encryption}
    if definition.ttl_attribute is not None:
        body["TimeToLiveSpecification"] = {"AttributeName": definition.ttl_attribute, "Enabled": True}
    if definition.settings.point_in_time_recovery is not False:
        body["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return {"Type": "AWS::DynamoDB::Table", **RETAINED, "Properties": body}


def _queue(queue: MessageQueue) -> Json:
    dead = logical(queue.name, "DeadQueue")
    main = plain_queue(queue.stored_name, is_fifo=queue.is_fifo)
    main["Properties"] |= {
        "RedrivePolicy": {"deadLetterTargetArn": arn_of(dead), "maxReceiveCount": queue.tries},
        "VisibilityTimeout": queue.handling_seconds,
    }
    return {dead: plain_queue(queue.dead_letters, is_fifo=queue.is_fifo), logical(queue.name, "Queue"): main}


# --- roles ------------------------------------------------------------------------------------------------------------
def _role(role: Role, deployment: Deployment) -> Json:
    parts = policies_of(role, deployment, _resource)
    resources: Json = {
        logical(role.name, f"Policy{number}" if number > 1 else "Policy"): {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {
                "Description": f"What {role.name} of {deployment.name} may do",
                "PolicyDocument": {"Version": VERSION, "Statement": part},
            },
        }
        for number, part in enumerate(parts, 1)
    }
    if role.service is not None:
        attached: list[Json] = [{"Ref": name} for name in resources]
        if role.service == "lambda":
            attached.append({"Fn::Sub": _LOGS})
        resources[logical(role.name, "Role")] = {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": trust_of(role.service),
                "ManagedPolicyArns": attached,
            },
        }
    return resources


def _resource(resource: Resource) -> Any:
    owner = logical(resource.name, "Table")
    if resource.kind == "index":
        return {"Fn::Sub": [f"${{Table}}/index/{resource.part}", {"Table": arn_of(owner)}]}
    if resource.kind == "stream":
        return arn_of(owner, "StreamArn")
    if resource.kind == "exports":
        return {"Fn::Sub": ["${Table}/export/*", {"Table": arn_of(owner)}]}
    if resource.kind == "streams":
        return "*"
    if resource.kind == "aside":
        bucket = arn_of(logical(resource.name, "AsideBucket"))
        return {"Fn::Sub": [f"${{Bucket}}/{resource.part}", {"Bucket": bucket}]} if resource.part else bucket
    if resource.kind == "missed":
        return arn_of(logical(resource.name, "MissedQueue"))
    if resource.kind == "key":
        arn = resource.arn("${AWS::Partition}")
        return {"Fn::Sub": arn} if "$" in arn else arn
    if resource.kind == "objects":
        return {"Fn::Sub": [f"${{Bucket}}/{resource.part}*", {"Bucket": arn_of(logical(resource.name, "Bucket"))}]}
    return arn_of(logical(resource.name, resource.kind.title()))


# --- alarms -----------------------------------------------------------------------------------------------------------
def _alarm(alarm: Alarm, deployment: Deployment) -> Json:
    one = {"Type": "AWS::CloudWatch::Alarm"}
    properties: Json = {
        "AlarmDescription": f"{deployment.name}: {alarm.says}",
        "AlarmActions": [{"Ref": TOPIC}],
        "ComparisonOperator": "LessThanThreshold" if alarm.is_below else "GreaterThanThreshold",
        "DatapointsToAlarm": alarm.minutes or alarm.periods,
        "EvaluationPeriods": alarm.periods,
        "Threshold": alarm.threshold,
        "TreatMissingData": "breaching" if alarm.is_for_silence else "notBreaching",
    }
    if len(alarm.metrics) == 1:
        (metric,) = alarm.metrics
        stat = {**_metric(metric), "Period": 60, "Statistic": metric.statistic}
        return {**one, "Properties": {**properties, **stat}}
    parts = [
        {
            "Id": f"m{number}",
            "MetricStat": {"Metric": _metric(metric), "Period": 60, "Stat": metric.statistic},
            "ReturnData": False,
        }
        for number, metric in enumerate(alarm.metrics)
    ]
    total = {"Id": "total", "Expression": "SUM(METRICS())", "Label": alarm.says, "ReturnData": True}
    return {**one, "Properties": {**properties, "Metrics": [total, *parts]}}


def _metric(metric: Metric) -> Json:
    return {
        "Namespace": metric.namespace,
        "MetricName": metric.name,
        "Dimensions": [{"Name": name, "Value": _dimension(name, value)} for name, value in metric.dimensions.items()],
    }


def _dimension(name: str, value: str) -> Any:
    """Functions and mappings are named by the stack; tables and queues by the deployment."""
    owned = {"FunctionName": "Function", "EventSourceMappingUUID": "Mapping"}
    return {"Ref": logical(value, owned[name])} if name in owned else value
