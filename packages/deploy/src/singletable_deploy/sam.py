"""A deployment as a template of the Serverless Application Model: functions are built from the code next to it.

Everything else is as in the template of CloudFormation, mappings and schedules too: one place says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from singletable_deploy import cloudformation
from singletable_deploy.deployment import Deployment
from singletable_deploy.lambda_parts import beside, function_properties
from singletable_deploy.parts import Json, logical, together

TRANSFORM = "AWS::Serverless-2016-10-31"


def template(deployment: Deployment) -> Json:
    """The template, for `sam build` in the folder of the program."""
    document = cloudformation.template(deployment)
    document["Transform"] = TRANSFORM
    document.pop("Parameters", None)  # the place of the code, which SAM knows
    document["Resources"] = together(cloudformation.base(deployment), _functions(deployment), beside(deployment))
    return document


def _functions(deployment: Deployment) -> Iterator[Json]:
    for function in deployment.functions:
        own = {"CodeUri": ".", **function_properties(function, deployment)}
        yield {logical(function.name, "Function"): {"Type": "AWS::Serverless::Function", "Properties": own}}
