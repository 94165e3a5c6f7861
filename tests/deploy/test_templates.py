"""Templates of the four applications, in each format, held to the tools that read them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from examples.goals.deployment import deployment as goals
from examples.goals.model import Entry
from examples.manhunt.deployment import deployment as manhunt
from examples.organisations.deployment import deployment as organisations
from examples.projects.deployment import deployment as projects
from singletable import Index, Table
from singletable.deploy import Deployment, MessageQueue, Role
from singletable.deploy.cdk import template_in
from singletable.deploy.difference import newly_allowed, rights_of
from singletable.deploy.formats import FORMATS, template_of, template_text
from singletable.deploy.ready_roles import read_only
from singletable.errors import DeclarationError
from singletable.tables import Provisioned, TableSettings
from tests.deploy.provider_schema import breaches

TOOLS = Path(__file__).parents[2] / ".venv-tools" / "bin"
EVERYTHING = Deployment(
    "everything",
    tables=[
        Table(
            "everything",
            indexes={
                "all": ("a", "b"),
                "some": Index("c", "d", ("e", "f")),
                "keys": Index("g", "h", "keys"),
            },
            ttl_attribute="ends",
            stream="new_and_old",
            deletion_protection=True,
            encryption_key="arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        ),
        Table(
            "paid",
            indexes={"one": ("a", "b")},
            settings=TableSettings(
                point_in_time_recovery=True,
                billing=Provisioned(read_units=5, write_units=7),
                table_class="infrequent_access",
                tags={"team": "a ${b} %{c}"},
            ),
        ),
    ],
    queues=[MessageQueue("plain")],
)
ALL = (goals, manhunt, organisations, projects, EVERYTHING)
by_name = pytest.mark.parametrize("deployment", ALL, ids=lambda d: d.name)


def tool(name: str) -> str:
    program = TOOLS / name
    if not program.exists():
        pytest.fail(f"{program} is not installed: make setup")
    return str(program)


def test_cloudformation_and_sam_pass_cfn_lint_without_a_word(tmp_path: Path) -> None:
    for deployment in ALL:
        for format in ("cloudformation", "sam"):
            (tmp_path / f"{deployment.name}-{format}.json").write_text(template_text(deployment, format))
    files = sorted(map(str, tmp_path.iterdir()))
    assert len(files) == 2 * len(ALL)
    command = [tool("cfn-lint"), "--include-checks", "I", "--regions", "eu-central-1", "--", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_cfn_lint_finds_a_fault(tmp_path: Path) -> None:
    """So that its silence says something."""
    made = template_of(template_text(goals, "cloudformation"), "cloudformation")
    made["Resources"]["RecordsTable"]["Properties"]["KeySchema"][0]["KeyType"] = "HASHED"
    (tmp_path / "wrong.json").write_text(json.dumps(made))
    command = [tool("cfn-lint"), "--", str(tmp_path / "wrong.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode != 0
    assert "HASHED" in done.stdout


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_app_of_the_cdk_synthesises_the_template(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(template_text(manhunt, "cdk"))
    environ = {"PATH": os.environ["PATH"], "CDK_OUTDIR": str(tmp_path / "out"), "HOME": str(tmp_path)}
    command = [tool("python"), str(tmp_path / "app.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    made = json.loads((tmp_path / "out" / "manhunt.template.json").read_text())
    wanted = template_in(template_text(manhunt, "cdk"))
    assert {n: r["Type"] for n, r in made["Resources"].items() if not n.startswith("CDK")} == {
        n: r["Type"] for n, r in wanted["Resources"].items()
    }
    for name, resource in wanted["Resources"].items():
        assert made["Resources"][name].get("Properties") == resource.get("Properties")


@by_name
def test_terraform_has_the_arguments_of_the_provider(deployment: Deployment) -> None:
    made = template_of(template_text(deployment, "terraform"), "terraform")
    assert breaches(made) == []


def test_the_schema_finds_a_wrong_argument() -> None:
    made: Any = template_of(template_text(goals, "terraform"), "terraform")
    table = made["resource"]["aws_dynamodb_table"]["records"]
    table["hash"], table["billing_mode"], table["attribute"][0]["typ"] = "source", 1, "S"
    del table["attribute"][0]["type"]
    del made["resource"]["aws_iam_policy"]["web"]["policy"]
    found = breaches(made)
    where = "aws_dynamodb_table.records"
    assert set(found) == {
        f"{where} has an unknown argument hash",
        f"{where}.billing_mode is no string",
        f"{where}.attribute has an unknown argument typ",
        f"{where}.attribute lacks type",
        "aws_iam_policy.web lacks policy",
    }


@by_name
def test_every_reference_of_terraform_leads_somewhere(deployment: Deployment) -> None:
    made = template_of(template_text(deployment, "terraform"), "terraform")
    text = json.dumps(made).replace("$${", "")
    there = {f"{kind}.{name}" for kind, several in made["resource"].items() for name in several}
    asked = {".".join(part.split("}")[0].split(".")[:2]) for part in text.split("${aws_")[1:]}
    assert {f"aws_{each}" for each in asked} <= there


@by_name
def test_the_formats_give_the_same_rights(deployment: Deployment) -> None:
    counts = {f: len(set(rights_of(template_of(template_text(deployment, f), f)))) for f in FORMATS}
    assert len(set(counts.values())) == 1
    assert counts["cdk"] > 10 or not deployment.all_roles


def test_a_table_is_what_it_declares() -> None:
    made = template_of(template_text(EVERYTHING, "cloudformation"), "cloudformation")
    table = made["Resources"]["EverythingTable"]
    properties = table["Properties"]
    assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain"
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ends", "Enabled": True}
    assert properties["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert properties["DeletionProtectionEnabled"] is True
    assert properties["SSESpecification"]["SSEEnabled"] is True
    held = {i["IndexName"]: i["Projection"]["ProjectionType"] for i in properties["GlobalSecondaryIndexes"]}
    assert held == {"all": "ALL", "some": "INCLUDE", "keys": "INCLUDE"}
    as_terraform = template_of(template_text(EVERYTHING, "terraform"), "terraform")
    body = as_terraform["resource"]["aws_dynamodb_table"]["everything"]
    assert (body["hash_key"], body["range_key"], body["billing_mode"]) == ("pk", "sk", "PAY_PER_REQUEST")
    assert body["ttl"] == {"attribute_name": "ends", "enabled": True}
    assert (body["stream_enabled"], body["stream_view_type"]) == (True, "NEW_AND_OLD_IMAGES")
    assert body["server_side_encryption"]["kms_key_arn"] == properties["SSESpecification"]["KMSMasterKeyId"]
    assert [i["projection_type"] for i in body["global_secondary_index"]] == ["ALL", "INCLUDE", "INCLUDE"]


def test_terraform_takes_a_key_by_its_arn_alone() -> None:
    keyed = Deployment("keyed", [Table("keyed", encryption_key="1234abcd-12ab-34cd-56ef-1234567890ab")])
    template_text(keyed, "cloudformation")
    with pytest.raises(DeclarationError, match="by its ARN"):
        template_text(keyed, "terraform")


def test_a_table_has_the_settings_that_it_declares() -> None:
    made = template_of(template_text(EVERYTHING, "cloudformation"), "cloudformation")
    properties = made["Resources"]["PaidTable"]["Properties"]
    capacity = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert (properties["BillingMode"], properties["ProvisionedThroughput"]) == ("PROVISIONED", capacity)
    assert properties["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] == capacity
    assert properties["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert properties["Tags"] == [{"Key": "team", "Value": "a ${b} %{c}"}]
    as_terraform = template_of(template_text(EVERYTHING, "terraform"), "terraform")
    body = as_terraform["resource"]["aws_dynamodb_table"]["paid"]
    assert body["point_in_time_recovery"] == {"enabled": True}
    assert (body["billing_mode"], body["read_capacity"], body["write_capacity"]) == ("PROVISIONED", 5, 7)
    assert (body["table_class"], body["tags"]) == ("STANDARD_INFREQUENT_ACCESS", {"team": "a $${b} %%{c}"})


def test_the_variables_of_iam_are_not_terraforms() -> None:
    role = Role("tenant", [Entry.of_goal], where={"goal_id": "${aws:PrincipalTag/goal}"})
    made = template_of(template_text(Deployment("goals", goals.tables, [role]), "terraform"), "terraform")
    policy = made["resource"]["aws_iam_policy"]["tenant"]["policy"]
    assert "ACTIVITY-$${aws:PrincipalTag/goal}" in policy
    assert "${aws_dynamodb_table.records.arn}" in policy


# --- what is newly allowed --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", FORMATS)
def test_a_difference_is_what_the_new_template_allows_more(format: str) -> None:
    less = Deployment("goals", goals.tables, [Role("web", list(goals.roles[0].may)[:-1], service="ecs-tasks")])
    more = Deployment("goals", goals.tables, goals.roles[:1])
    old, new = (template_of(template_text(each, format), format) for each in (less, more))
    (found,) = newly_allowed(old, new)
    assert (found.action, found.partition) == ("dynamodb:BatchWriteItem", "ACTIVITY-*")
    assert "BatchWriteItem on" in found.shown
    assert found.shown.endswith("at ACTIVITY-*")
    assert newly_allowed(new, old) == newly_allowed(new, new) == []


def test_a_wider_pattern_is_newly_allowed_and_a_narrower_one_is_not() -> None:
    table = Table("some")
    wide = template_of(template_text(Deployment("some", [table], [read_only(table)]), "sam"), "sam")
    assert newly_allowed({"Resources": {}}, wide) == sorted(rights_of(wide), key=lambda right: right.shown)
    with pytest.raises(ValueError, match="no template"):
        newly_allowed({"anything": 1}, wide)
