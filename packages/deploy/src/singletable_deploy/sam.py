"""A deployment as a template of the Serverless Application Model: functions are built from the code next to it."""

from __future__ import annotations

from datetime import timedelta

from singletable_deploy import cloudformation
from singletable_deploy.cloudformation import Json, arn_of, logical
from singletable_deploy.deployment import Deployment, Function
from singletable_deploy.resources import MessageQueue

TRANSFORM = "AWS::Serverless-2016-10-31"


def template(deployment: Deployment) -> Json:
    """The template, for `sam build` in the folder of the program."""
    document = cloudformation.template(deployment)
    document["Transform"] = TRANSFORM
    for name in ("CodeBucket", "CodeKey"):
        document.get("Parameters", {}).pop(name, None)
    if not document.get("Parameters", True):
        del document["Parameters"]
    document["Resources"] = cloudformation.together(
        cloudformation.base(deployment), (_function(function, deployment) for function in deployment.functions)
    )
    return document


def _function(function: Function, deployment: Deployment) -> Json:
    properties = cloudformation.function_properties(function, deployment)
    own = {"CodeUri": ".", **properties, "Events": {"Source": _event(function)}}
    return {logical(function.name, "Function"): {"Type": "AWS::Serverless::Function", "Properties": own}}


def _event(function: Function) -> Json:
    if isinstance(function.on, timedelta):
        return {"Type": "Schedule", "Properties": {"Schedule": cloudformation.rate_of(function.on)}}
    properties = cloudformation.mapping_properties(function)
    source = properties.pop("EventSourceArn")
    if isinstance(function.on, MessageQueue):
        return {"Type": "SQS", "Properties": {"Queue": source, **properties}}
    properties["DestinationConfig"] = {
        "OnFailure": {"Type": "SQS", "Destination": arn_of(logical(function.name, "Aside"))}
    }
    return {"Type": "DynamoDB", "Properties": {"Stream": source, **properties}}
