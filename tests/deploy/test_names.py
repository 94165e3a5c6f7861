"""Names: what differs in punctuation alone is refused when it is declared; what is declared is in every format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from manhunt.deployment import deployment as manhunt
from manhunt.lambda_functions import functions_of
from singletable.cli.app import app
from singletable.errors import DeclarationError
from singletable.flow import TableNames
from singletable_deploy import BlobBucket, Deployment, Function, MessageQueue, Role
from singletable_deploy.cloudformation import template
from singletable_deploy.formats import FORMATS, template_of, template_text
from singletable_deploy.parts import Json, together
from tests.deploy.punctuation import COLLIDING, DEAD, KINDS, missed, queues, streamed

by_kind = pytest.mark.parametrize("kind", KINDS)
SERVERLESS = {"AWS::Lambda::Function"}
"""What SAM makes of a function of its own."""
FUNCTION_KINDS = dict.fromkeys(FORMATS, "AWS::Lambda::Function") | {"sam": "AWS::Serverless::Function"}
OUTSIDE = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "eu-central-1",
    "MANHUNT_BASE_URL": "https://example.org",
    "MANHUNT_SECRETS": "s" * 32,
    "MANHUNT_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/manhunt-tasks.fifo",
}
"""What a function has besides the variables of the template."""


@pytest.mark.parametrize(("kind", "names"), COLLIDING)
def test_names_that_differ_in_punctuation_are_refused_by_name(kind: str, names: Sequence[str]) -> None:
    for name in names:
        KINDS[kind]([name])
    with pytest.raises(DeclarationError, match="would be one resource") as refused:
        KINDS[kind](names)
    for name in names:
        assert repr(name) in refused.value.what


@by_kind
def test_the_same_name_twice_is_refused(kind: str) -> None:
    if kind == "AWS::S3::Bucket":
        assert len(KINDS[kind](["same", "same"]).all_buckets) == 1  # it is one value
        return
    if kind == "AWS::SQS::Queue":
        pair = [MessageQueue("same"), MessageQueue("same", tries=3)]
        with pytest.raises(DeclarationError, match="'same' and 'same' of some would be one resource, Same"):
            Deployment("some", [], queues=pair)
        return
    with pytest.raises(DeclarationError, match="'same' and 'same' of some would be one resource, Same"):
        KINDS[kind](["same", "same"])


def test_a_queue_of_what_failed_is_no_other_queue() -> None:
    with pytest.raises(DeclarationError, match="'shop-dead' and 'shop-dead' of some"):
        queues(DEAD)
    with pytest.raises(DeclarationError, match="'f-missed' and 'f-missed' of some"):
        missed("f-missed")


def test_a_function_and_a_queue_of_one_name_have_an_alarm_each() -> None:
    role = Role("f", [], service="lambda")
    function = Function("work", "some.f", role, timedelta(minutes=1))
    made = Deployment("some", [streamed], functions=[function], queues=[MessageQueue("work")])
    resources = template(made)["Resources"]
    watched = [
        resource["Properties"]["Dimensions"][0]["Value"]
        for resource in resources.values()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and resource["Properties"].get("Namespace") == "AWS/SQS"
    ]
    assert sorted(watched) == ["work-dead", "work-missed"]


@by_kind
@given(names=st.lists(st.text("aB1-_.", min_size=1, max_size=5), min_size=1, max_size=5, unique=True))
def test_what_is_declared_is_in_every_format(kind: str, names: list[str]) -> None:
    try:
        deployment = KINDS[kind](names)
    except DeclarationError:
        return
    for format in FORMATS:
        made = template_of(template_text(deployment, format), format)
        there = Counter(resource["Type"] for resource in made["Resources"].values())
        wanted = len(names) * (2 if "Queue" in kind else 1)
        assert there["AWS::Serverless::Function" if kind in SERVERLESS and format == "sam" else kind] == wanted
        spelled = [r["Properties"].get("QueueName", n) for n, r in made["Resources"].items() if "Queue" in r["Type"]]
        assert len(spelled) == len(set(spelled))


def test_no_resource_takes_anothers_place() -> None:
    first: list[Json] = [{"ATable": {}}]
    second: list[Json] = [{"BTable": {}}, *first]
    with pytest.raises(DeclarationError, match="two resources ATable"):
        together(iter(first), iter(second))


@pytest.mark.parametrize("format", FORMATS)
def test_a_bucket_takes_no_parameters_place(format: str) -> None:
    """A template has one name for both: the functions' code would come from the bucket."""
    work = Function("work", "some.f", Role("f", [], service="lambda"), timedelta(minutes=1))
    deployment = Deployment("some", [], functions=[work], buckets=[BlobBucket("code")])
    with pytest.raises(DeclarationError, match="two resources CodeBucket"):
        template_text(deployment, format)


@pytest.mark.parametrize("name", ["Shop_X", "shop.x", "9to5", "...", "x" * 200])
def test_a_module_without_a_deployment_has_the_name_of_its_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "some_model.py").write_text(f'from singletable import Table\n\nsome = Table("{name}")\n')
    result = CliRunner().invoke(app, ["deploy", str(tmp_path / "some_model.py")])
    assert (result.exit_code, "by singletable deploy" in result.stdout) == ((0, True) if name != "..." else (1, False))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["manhunt", "man-7"])
def test_functions_ask_for_the_tables_that_the_template_makes(
    format: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["--table-prefix", "prod-", *(["--table-name", f"manhunt={name}"] if name != "manhunt" else [])]
    made = resources_of("manhunt.deployment", format, *given)
    tables = [each["TableName"] for each in properties_of(made, "AWS::DynamoDB::Table")]
    environments = [each["Environment"]["Variables"] for each in properties_of(made, FUNCTION_KINDS[format])]
    assert len(environments) == 3
    for environment in environments:
        with monkeypatch.context() as its:
            for variable, text in {**environment, **OUTSIDE}.items():
                its.setenv(variable, text)
            names = functions_of(os.environ).db.target.names
        assert sorted(names[table.name] for table in manhunt.tables) == sorted(tables)
        assert environment["MANHUNT_QUEUE_URL"] == {"Ref": "ManhuntTasksQueue"}


def test_a_template_has_no_name_that_is_too_long() -> None:
    refused = CliRunner().invoke(app, ["--table-prefix", "p" * 245, "deploy", "manhunt.deployment"])
    assert (refused.exit_code, "has 259 characters" in " ".join(refused.output.split())) == (1, True)


@pytest.mark.parametrize("format", FORMATS)
def test_a_functions_own_setting_goes_before_the_names_of_the_template(format: str) -> None:
    own = {"SINGLETABLE_TABLE_PREFIX": "own-"}
    work = Function("work", "some.f", Role("f", [], service="lambda"), timedelta(minutes=1), own)
    named = Deployment("some", [], functions=[work], names=TableNames({"orders": "orders-7"}, "prod-"))
    resources = template_of(template_text(named, format), format)["Resources"]
    (environment,) = [each["Environment"]["Variables"] for each in properties_of(resources, FUNCTION_KINDS[format])]
    assert environment == {**own, "SINGLETABLE_TABLE_NAMES": "orders=orders-7"}
    plain = template_text(replace(named, names=TableNames()), format)
    assert "TABLE_NAMES" not in plain


def resources_of(module: str, format: str, *given: str) -> dict[str, Any]:
    """What `singletable deploy` writes."""
    result = CliRunner().invoke(app, [*given, "deploy", module, "--format", format])
    assert result.exit_code == 0
    resources: dict[str, Any] = template_of(result.stdout, format)["Resources"]
    return resources


def properties_of(resources: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in resources.values() if resource["Type"] == kind]
