"""A deployment as an app of the CDK, in Python: a stack that includes the template of CloudFormation.

One place says what each resource is, so the stack and the template can't differ. A program that has a stack already
takes the class `Resources` from it: `template.get_resource("ShopTable")` is then a construct like any other.
"""

from __future__ import annotations

import json
from typing import Any

from singletable_deploy import cloudformation
from singletable_deploy.deployment import Deployment

BEGINS, ENDS = 'TEMPLATE = r"""', '"""  # end of the template'
_APP = '''"""The resources of {name}, for `cdk synth`.

Written by `singletable deploy --format cdk`: rewrite it, don't edit it.
"""

import tempfile

from aws_cdk import App, Stack
from aws_cdk.cloudformation_include import CfnInclude
from constructs import Construct

{begins}
{template}
{ends}


class Resources(Stack):
    def __init__(self, scope: Construct, id: str, **options: object) -> None:
        super().__init__(scope, id, **options)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(TEMPLATE)
            file.flush()
            self.template = CfnInclude(self, "Template", template_file=file.name)


if __name__ == "__main__":
    app = App()
    Resources(app, "{name}")
    app.synth()
'''


def app(deployment: Deployment) -> str:
    """The program, `app.py`."""
    template = json.dumps(cloudformation.template(deployment), indent=2)
    return _APP.format(name=deployment.name, begins=BEGINS, template=template, ends=ENDS)


def template_in(text: str) -> Any:
    """The template that such a program includes; ValueError for another program."""
    _, begins, rest = text.partition(BEGINS)
    template, ends, _ = rest.partition(ENDS)
    if not begins or not ends:
        raise ValueError("no app that singletable wrote")
    return json.loads(template)
