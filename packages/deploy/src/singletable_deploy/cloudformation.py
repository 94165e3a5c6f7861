"""A deployment as a template of CloudFormation."""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import timedelta
from typing import Any

from singletable.errors import DeclarationError
from singletable.foundation import Table
from singletable.streams import Changes
from singletable_deploy.access import Resource
from singletable_deploy.alarms import Alarm, Metric, alarms_of
from singletable_deploy.deployment import Deployment, Function, Setting
from singletable_deploy.resources import BlobBucket, MessageQueue, words
from singletable_deploy.role import Role
from singletable_deploy.statements import VERSION, policies_of, trust_of

Json = dict[str, Any]
RUNTIME = "python3.13"
LOGS = "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
TOPIC = "Alarms"
"""The topic that gets the alarms: people and programs subscribe to it."""
RETAINED = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
"""A table or a bucket stays when it is taken out of the template."""


def template(deployment: Deployment) -> Json:
    """The template. Its functions' code is a parameter: a bucket and a key of a zip file."""
    document: Json = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"{deployment.name}, by singletable deploy",
    }
    if given := parameters(deployment):
        document["Parameters"] = given
    document["Resources"] = together(base(deployment), functions(deployment), taken=given)
    document["Outputs"] = {**outputs(deployment), **_policies(document["Resources"])}
    return document


def parameters(deployment: Deployment) -> Json:
    declared: Json = {}
    if deployment.functions:
        declared["CodeBucket"] = {"Type": "String", "Description": "The bucket that holds the functions' code"}
        declared["CodeKey"] = {"Type": "String", "Description": "The key of its zip file"}
    return declared


def together(*parts: Iterator[Json], taken: Container[str] = ()) -> Json:
    """Resources by their names. Two may not have the same name, nor may a resource and a parameter."""
    resources: Json = {}
    for name, resource in (each for several in parts for part in several for each in part.items()):
        if name in resources or name in taken:
            raise DeclarationError(f"the template would have two resources {name}", hint="Rename what it is made of.")
        resources[name] = resource
    return resources


def base(deployment: Deployment) -> Iterator[Json]:
    """Everything but the functions, which two formats spell differently."""
    for table in deployment.tables:
        yield {logical(table.name, "Table"): _table(table, deployment.names[table.name])}
    yield from map(_queue, deployment.all_queues)
    for bucket in deployment.all_buckets:
        yield {logical(bucket.name, "Bucket"): _bucket()}
    for role in deployment.all_roles:
        yield _role(role, deployment)
    for function in deployment.functions:
        if isinstance(function.on, Changes):
            yield {logical(function.name, "Aside"): _plain_queue(function.aside)}
    if deployment.alarms:
        yield {TOPIC: {"Type": "AWS::SNS::Topic"}}
    for alarm in alarms_of(deployment):
        yield {logical(alarm.name, "Alarm"): _alarm(alarm, deployment)}


def functions(deployment: Deployment) -> Iterator[Json]:
    for function in deployment.functions:
        code = {"S3Bucket": {"Ref": "CodeBucket"}, "S3Key": {"Ref": "CodeKey"}}
        properties = {"Code": code, **function_properties(function, deployment)}
        name = logical(function.name, "Function")
        yield {name: {"Type": "AWS::Lambda::Function", "Properties": properties}}
        yield _source(function)


def function_properties(function: Function, deployment: Deployment) -> Json:
    properties: Json = {
        "Handler": function.handler,
        "MemorySize": 512,
        "Role": arn_of(logical(function.role.name, "Role")),
        "Runtime": RUNTIME,
        "Timeout": function.seconds,
    }
    if settings := {**deployment.names.variables, **function.settings}:
        properties["Environment"] = {"Variables": {name: _setting(value) for name, value in settings.items()}}
    return properties


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


def logical(name: str, kind: str) -> str:
    """A name as CloudFormation takes it: letters and digits."""
    return words(name) + kind


def arn_of(name: str, attribute: str = "Arn") -> Json:
    return {"Fn::GetAtt": [name, attribute]}


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
    if definition.settings.point_in_time_recovery:
        body["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return {"Type": "AWS::DynamoDB::Table", **RETAINED, "Properties": body}


def _queue(queue: MessageQueue) -> Json:
    dead = logical(queue.name, "DeadQueue")
    main = _plain_queue(queue.stored_name, is_fifo=queue.is_fifo)
    main["Properties"] |= {
        "RedrivePolicy": {"deadLetterTargetArn": arn_of(dead), "maxReceiveCount": queue.tries},
        "VisibilityTimeout": queue.handling_seconds,
    }
    return {dead: _plain_queue(queue.dead_letters, is_fifo=queue.is_fifo), logical(queue.name, "Queue"): main}


def _plain_queue(name: str, *, is_fifo: bool = False) -> Json:
    properties: Json = {"MessageRetentionPeriod": 1209600, "QueueName": name, "SqsManagedSseEnabled": True}
    if is_fifo:
        properties["FifoQueue"] = True
    return {"Type": "AWS::SQS::Queue", **RETAINED, "Properties": properties}


def _bucket() -> Json:
    closed = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    return {
        "Type": "AWS::S3::Bucket",
        **RETAINED,
        "Properties": {
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "PublicAccessBlockConfiguration": dict.fromkeys(closed, True),
        },
    }


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
            attached.append({"Fn::Sub": LOGS})
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
    if resource.kind == "aside":
        return arn_of(logical(resource.name, "Aside"))
    if resource.kind == "key":
        arn = resource.arn("${AWS::Partition}")
        return {"Fn::Sub": arn} if "$" in arn else arn
    if resource.kind == "objects":
        return {"Fn::Sub": [f"${{Bucket}}/{resource.part}*", {"Bucket": arn_of(logical(resource.name, "Bucket"))}]}
    return arn_of(logical(resource.name, resource.kind.title()))


# --- functions and alarms ---------------------------------------------------------------------------------------------
def _source(function: Function) -> Json:
    name = logical(function.name, "Function")
    if isinstance(function.on, timedelta):
        rule, rate = logical(function.name, "Rule"), rate_of(function.on)
        return {
            rule: {
                "Type": "AWS::Events::Rule",
                "Properties": {"ScheduleExpression": rate, "Targets": [{"Arn": arn_of(name), "Id": function.name}]},
            },
            logical(function.name, "Permission"): {
                "Type": "AWS::Lambda::Permission",
                "Properties": {
                    "Action": "lambda:InvokeFunction",
                    "FunctionName": {"Ref": name},
                    "Principal": "events.amazonaws.com",
                    "SourceArn": arn_of(rule),
                },
            },
        }
    properties = {"FunctionName": {"Ref": name}, **mapping_properties(function)}
    return {
        logical(function.name, "Mapping"): {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties},
    }


def rate_of(every: timedelta) -> str:
    """The rate expression of a schedule."""
    minutes = every // timedelta(minutes=1)
    return f"rate({minutes} minute{'s' if minutes > 1 else ''})"


def mapping_properties(function: Function) -> Json:
    """The mapping of a stream or a queue to a function: it reports failed items, the rest of a batch is done."""
    properties: Json = {"BatchSize": function.batch, "FunctionResponseTypes": ["ReportBatchItemFailures"]}
    if isinstance(function.on, MessageQueue):
        return {"EventSourceArn": arn_of(logical(function.on.name, "Queue")), **properties, "BatchSize": 10}
    assert isinstance(function.on, Changes)
    return {
        "EventSourceArn": arn_of(logical(function.on.table.name, "Table"), "StreamArn"),
        "StartingPosition": "TRIM_HORIZON",
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": 10,
        "DestinationConfig": {"OnFailure": {"Destination": arn_of(logical(function.name, "Aside"))}},
        **properties,
    }


def _setting(value: Setting) -> Any:
    if isinstance(value, MessageQueue):
        return {"Ref": logical(value.name, "Queue")}
    return {"Ref": logical(value.name, "Bucket")} if isinstance(value, BlobBucket) else value


def _alarm(alarm: Alarm, deployment: Deployment) -> Json:
    one = {"Type": "AWS::CloudWatch::Alarm"}
    properties: Json = {
        "AlarmDescription": f"{deployment.name}: {alarm.says}",
        "AlarmActions": [{"Ref": TOPIC}],
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": alarm.periods,
        "Threshold": alarm.threshold,
        "TreatMissingData": "notBreaching",
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
    """Functions are named by the stack; tables and queues by the deployment."""
    return {"Ref": logical(value, "Function")} if name == "FunctionName" else value
