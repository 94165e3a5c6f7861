"""A deployment as Terraform's JSON syntax, for the provider `hashicorp/aws`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from singletable.deploy.access import NOT_DEPLOYED, Resource
from singletable.deploy.alarms import Alarm, Metric, alarms_of, dead_letters_of, set_aside_of
from singletable.deploy.cloudformation import RUNTIME, Json, rate_of
from singletable.deploy.deployment import Deployment, Function, Setting
from singletable.deploy.policy import VERSION, policies_of, trust_of
from singletable.deploy.resources import BlobBucket, MessageQueue
from singletable.deploy.role import Role
from singletable.errors import DeclarationError
from singletable.foundation import Table
from singletable.streams import Changes

PROVIDER = {"source": "hashicorp/aws", "version": ">= 5.0"}
LOGS = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"


class _Blocks:
    """Resources by type and name."""

    def __init__(self) -> None:
        self.made: dict[str, Json] = {}

    def add(self, kind: str, name: str, body: Json) -> None:
        self.made.setdefault(kind, {})[local(name)] = body


def configuration(deployment: Deployment) -> Json:
    """The whole configuration, as one file `main.tf.json`."""
    blocks = _Blocks()
    for table in deployment.tables:
        blocks.add("aws_dynamodb_table", table.name, _table(table))
    for queue in deployment.all_queues:
        _queue(blocks, queue)
    for bucket in deployment.all_buckets:
        _bucket(blocks, bucket, deployment)
    for role in deployment.all_roles:
        _role(blocks, role, deployment)
    for function in deployment.functions:
        _function(blocks, function)
    if deployment.alarms:
        blocks.add("aws_sns_topic", "alarms", {"name_prefix": f"{deployment.name}-alarms-"})
    for alarm in alarms_of(deployment):
        blocks.add("aws_cloudwatch_metric_alarm", alarm.name, _alarm(alarm, deployment))
    made: Json = {"terraform": {"required_providers": {"aws": PROVIDER}}}
    if found := _variables(deployment):
        made["variable"] = found
    return {**made, "resource": blocks.made, "output": _outputs(deployment)}


def local(name: str) -> str:
    """A name as Terraform takes it."""
    return "".join(c if c.isalnum() else "_" for c in name)


def plain(text: str) -> str:
    """A text as it stands: what begins a template of Terraform's is escaped."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _variables(deployment: Deployment) -> Json:
    found: Json = {}
    if deployment.functions:
        found["code"] = {"type": "string", "description": "The zip file with the functions' code"}
    return found


def _outputs(deployment: Deployment) -> Json:
    made: Json = {
        f"{local(t.name)}_table": {"value": f"${{aws_dynamodb_table.{local(t.name)}.name}}"} for t in deployment.tables
    }
    for queue in deployment.all_queues:
        made[f"{local(queue.name)}_queue_url"] = {"value": f"${{aws_sqs_queue.{local(queue.name)}.url}}"}
    for bucket in deployment.all_buckets:
        made[f"{local(bucket.name)}_bucket"] = {"value": f"${{aws_s3_bucket.{local(bucket.name)}.bucket}}"}
    if deployment.alarms:
        made["alarms_topic"] = {"value": "${aws_sns_topic.alarms.arn}"}
    for role in deployment.all_roles:
        if role.service is not None:
            made[f"{local(role.name)}_role_arn"] = {"value": f"${{aws_iam_role.{local(role.name)}.arn}}"}
    return made


# --- tables, queues, buckets ------------------------------------------------------------------------------------------
def _table(table: Table) -> Json:
    definition = table.definition
    body = definition.creation()
    made: Json = {
        "name": table.name,
        "billing_mode": body["BillingMode"],
        "hash_key": definition.key[0],
        "range_key": definition.key[1],
        "attribute": [{"name": a["AttributeName"], "type": a["AttributeType"]} for a in body["AttributeDefinitions"]],
        "deletion_protection_enabled": body["DeletionProtectionEnabled"],
        "lifecycle": {"prevent_destroy": True},
    }
    if indexes := body.get("GlobalSecondaryIndexes"):
        made["global_secondary_index"] = [_index(index) for index in indexes]
    if stream := body.get("StreamSpecification"):
        made |= {"stream_enabled": True, "stream_view_type": stream["StreamViewType"]}
    if definition.ttl_attribute is not None:
        made["ttl"] = {"attribute_name": definition.ttl_attribute, "enabled": True}
    if definition.encryption_key is not None:
        made["server_side_encryption"] = {
            "enabled": True,
            "kms_key_arn": _key_arn(definition.name, definition.encryption_key),
        }
    if definition.settings.point_in_time_recovery:
        made["point_in_time_recovery"] = {"enabled": True}
    if named := body.get("TableClass"):
        made["table_class"] = named
    if tags := body.get("Tags"):
        made["tags"] = {plain(tag["Key"]): plain(tag["Value"]) for tag in tags}
    return {**made, **_capacity(body)}


def _key_arn(table: str, key: str) -> str:
    if not key.startswith("arn:"):
        raise DeclarationError(
            "Terraform takes an encryption key by its ARN, not by its id",
            table=table,
            hint=f"aws kms describe-key --key-id {key} prints it.",
        )
    return key


def _capacity(body: Json) -> Json:
    """What is paid for by the hour, of a table or an index."""
    paid = body.get("ProvisionedThroughput")
    if paid is None:
        return {}
    return {"read_capacity": paid["ReadCapacityUnits"], "write_capacity": paid["WriteCapacityUnits"]}


def _index(index: Json) -> Json:
    names = {each["KeyType"]: each["AttributeName"] for each in index["KeySchema"]}
    projection = index["Projection"]
    made: Json = {
        "name": index["IndexName"],
        "hash_key": names["HASH"],
        "range_key": names["RANGE"],
        "projection_type": projection["ProjectionType"],
        **_capacity(index),
    }
    held = projection.get("NonKeyAttributes")
    return {**made, "non_key_attributes": held} if held else made


def _queue(blocks: _Blocks, queue: MessageQueue) -> None:
    dead = f"{queue.name}-dead"
    blocks.add("aws_sqs_queue", dead, _plain_queue(dead_letters_of(queue), is_fifo=queue.is_fifo))
    target = {"deadLetterTargetArn": f"${{aws_sqs_queue.{local(dead)}.arn}}", "maxReceiveCount": queue.tries}
    own = {"redrive_policy": json.dumps(target), "visibility_timeout_seconds": queue.handling_seconds}
    blocks.add("aws_sqs_queue", queue.name, {**_plain_queue(queue.stored_name, is_fifo=queue.is_fifo), **own})


def _plain_queue(name: str, *, is_fifo: bool = False) -> Json:
    made: Json = {"name": name, "message_retention_seconds": 1209600, "sqs_managed_sse_enabled": True}
    return {**made, "fifo_queue": True} if is_fifo else made


def _bucket(blocks: _Blocks, bucket: BlobBucket, deployment: Deployment) -> None:
    name = local(bucket.name)
    blocks.add("aws_s3_bucket", name, {"bucket_prefix": f"{deployment.name}-{bucket.name}-"[:37]})
    closed = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    where = {"bucket": f"${{aws_s3_bucket.{name}.id}}"}
    blocks.add("aws_s3_bucket_public_access_block", name, {**where, **dict.fromkeys(closed, True)})
    owned = {**where, "rule": {"object_ownership": "BucketOwnerEnforced"}}
    blocks.add("aws_s3_bucket_ownership_controls", name, owned)


# --- roles ------------------------------------------------------------------------------------------------------------
def _role(blocks: _Blocks, role: Role, deployment: Deployment) -> None:
    names: list[str] = []
    for number, part in enumerate(policies_of(role, deployment, _resource), 1):
        names.append(f"{role.name}-{number}" if number > 1 else role.name)
        document = json.dumps({"Version": VERSION, "Statement": [_escaped(statement) for statement in part]})
        prefix = f"{deployment.name}-{names[-1]}-"
        about = f"What {role.name} of {deployment.name} may do"
        blocks.add("aws_iam_policy", names[-1], {"name_prefix": prefix, "description": about, "policy": document})
    if role.service is None:
        return
    trust = json.dumps(trust_of(role.service))
    prefix = f"{deployment.name}-{role.name}-"[:38]
    blocks.add("aws_iam_role", role.name, {"name_prefix": prefix, "assume_role_policy": trust})
    held = f"${{aws_iam_role.{local(role.name)}.name}}"
    for name in names:
        policy = f"${{aws_iam_policy.{local(name)}.arn}}"
        blocks.add("aws_iam_role_policy_attachment", name, {"role": held, "policy_arn": policy})
    if role.service == "lambda":
        blocks.add("aws_iam_role_policy_attachment", f"{role.name}-logs", {"role": held, "policy_arn": LOGS})


def _escaped(statement: Json) -> Json:
    """A statement whose variables of IAM are not taken for Terraform's; its resource is Terraform's."""
    rest = {name: value for name, value in statement.items() if name != "Resource"}
    return {**json.loads(plain(json.dumps(rest))), "Resource": statement["Resource"]}


def _resource(resource: Resource) -> str:
    name = local(resource.name)
    if resource.kind in ("queue", "aside"):
        return f"${{aws_sqs_queue.{name if resource.kind == 'queue' else local(set_aside_name(resource.name))}.arn}}"
    if resource.kind in ("bucket", "objects"):
        arn = f"${{aws_s3_bucket.{name}.arn}}"
        return arn if resource.kind == "bucket" else f"{arn}/{resource.part}*"
    if resource.kind in NOT_DEPLOYED:
        return resource.arn("aws")
    if resource.kind == "stream":
        return f"${{aws_dynamodb_table.{name}.stream_arn}}"
    arn = f"${{aws_dynamodb_table.{name}.arn}}"
    if resource.kind == "exports":
        return f"{arn}/export/*"
    return arn if resource.kind == "table" else f"{arn}/index/{resource.part}"


# --- functions and alarms ---------------------------------------------------------------------------------------------
def set_aside_name(function: str) -> str:
    """The local name of the queue of what a stream's function could not handle."""
    return f"{function}-aside"


def _function(blocks: _Blocks, function: Function) -> None:
    name = local(function.name)
    body: Json = {
        "function_name": function.name,
        "handler": function.handler,
        "runtime": RUNTIME,
        "role": f"${{aws_iam_role.{local(function.role.name)}.arn}}",
        "filename": "${var.code}",
        "source_code_hash": "${filebase64sha256(var.code)}",
        "memory_size": 512,
        "timeout": function.seconds,
    }
    if function.settings:
        body["environment"] = {"variables": {key: _setting(value) for key, value in function.settings.items()}}
    blocks.add("aws_lambda_function", name, body)
    if isinstance(function.on, timedelta):
        _schedule(blocks, function, function.on)
        return
    mapping: Json = {
        "function_name": f"${{aws_lambda_function.{name}.arn}}",
        "function_response_types": ["ReportBatchItemFailures"],
    }
    if isinstance(function.on, MessageQueue):
        mapping |= {"event_source_arn": f"${{aws_sqs_queue.{local(function.on.name)}.arn}}", "batch_size": 10}
    else:
        mapping |= _stream(blocks, function, function.on)
    blocks.add("aws_lambda_event_source_mapping", name, mapping)


def _stream(blocks: _Blocks, function: Function, changes: Changes) -> Json:
    aside = set_aside_name(function.name)
    blocks.add("aws_sqs_queue", aside, _plain_queue(set_aside_of(function)))
    return {
        "event_source_arn": f"${{aws_dynamodb_table.{local(changes.table.name)}.stream_arn}}",
        "starting_position": "TRIM_HORIZON",
        "batch_size": function.batch,
        "bisect_batch_on_function_error": True,
        "maximum_retry_attempts": 10,
        "destination_config": {"on_failure": {"destination_arn": f"${{aws_sqs_queue.{local(aside)}.arn}}"}},
    }


def _schedule(blocks: _Blocks, function: Function, every: timedelta) -> None:
    name = local(function.name)
    blocks.add("aws_cloudwatch_event_rule", name, {"schedule_expression": rate_of(every)})
    arn, rule = f"${{aws_lambda_function.{name}.arn}}", f"${{aws_cloudwatch_event_rule.{name}"
    blocks.add("aws_cloudwatch_event_target", name, {"rule": f"{rule}.name}}", "arn": arn})
    permission = {"action": "lambda:InvokeFunction", "function_name": arn, "principal": "events.amazonaws.com"}
    blocks.add("aws_lambda_permission", name, {**permission, "source_arn": f"{rule}.arn}}"})


def _setting(value: Setting) -> str:
    if isinstance(value, MessageQueue):
        return f"${{aws_sqs_queue.{local(value.name)}.url}}"
    return f"${{aws_s3_bucket.{local(value.name)}.bucket}}" if isinstance(value, BlobBucket) else plain(value)


def _alarm(alarm: Alarm, deployment: Deployment) -> Json:
    made: Json = {
        "alarm_name": f"{deployment.name}-{alarm.name}",
        "alarm_description": f"{deployment.name}: {alarm.says}",
        "alarm_actions": ["${aws_sns_topic.alarms.arn}"],
        "comparison_operator": "GreaterThanThreshold",
        "evaluation_periods": alarm.periods,
        "threshold": alarm.threshold,
        "treat_missing_data": "notBreaching",
    }
    if len(alarm.metrics) == 1:
        (metric,) = alarm.metrics
        return {**made, **_metric(metric), "statistic": metric.statistic}
    parts: list[Any] = [
        {"id": f"m{number}", "metric": {**_metric(metric), "stat": metric.statistic}, "return_data": False}
        for number, metric in enumerate(alarm.metrics)
    ]
    total = {"id": "total", "expression": "SUM(METRICS())", "label": alarm.says, "return_data": True}
    return {**made, "metric_query": [total, *parts]}


def _metric(metric: Metric) -> Json:
    return {
        "namespace": metric.namespace,
        "metric_name": metric.name,
        "dimensions": dict(metric.dimensions),
        "period": 60,
    }
