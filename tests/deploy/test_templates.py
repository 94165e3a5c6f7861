"""Templates of the four applications, in each format, held to the tools that read them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from goals.deployment import deployment as goals
from manhunt.deployment import deployment as manhunt
from organisations.deployment import deployment as organisations
from projects.deployment import deployment as projects
from singletable import Index, Table
from singletable.tables import Local, Provisioned, TableSettings
from singletable_deploy import ContainerService, Deployment, MessageQueue, Role
from singletable_deploy.alarms import alarms_of
from singletable_deploy.cdk import template_in
from singletable_deploy.difference import newly_allowed, rights_of
from singletable_deploy.formats import FORMATS, template_of, template_text
from singletable_deploy.ready_roles import read_only
from tests.docs.pages import DOCS, run

TOOLS = Path(__file__).parents[2] / ".venv-tools" / "bin"
EVERYTHING = Deployment(
    "everything",
    tables=[
        Table(
            "everything",
            indexes={
                "all": ("a", "b"),
                "some": Index("c", "d", ("e", "f")),
                "near": Local("n", "keys"),
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
    services=[ContainerService("worker", "main")],
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
def test_terraforms_resource_takes_the_template(deployment: Deployment) -> None:
    """As `aws_cloudformation_stack` is in docs/how-to/deploy.md: its size, parameters, capabilities and outputs."""
    made = template_of(template_text(deployment, "cloudformation"), "cloudformation")
    assert len(json.dumps(made, separators=(",", ":"))) <= 51_200
    assert {*made.get("Parameters", {})} == ({"CodeBucket", "CodeKey"} if deployment.functions else set())
    for resource in made["Resources"].values():  # a named one asks for CAPABILITY_NAMED_IAM
        assert not {"RoleName", "ManagedPolicyName", "PolicyName"} & resource.get("Properties", {}).keys()
    policies = {name for name, resource in made["Resources"].items() if resource["Type"] == "AWS::IAM::ManagedPolicy"}
    assert {made["Outputs"][f"{name}Arn"]["Value"]["Ref"] for name in policies} == policies


def test_the_page_shows_terraform_what_its_template_has() -> None:
    page = DOCS / "how-to" / "deploy.md"
    shown = page.read_text()
    made = template_of(template_text(run(page).deployment, "cloudformation"), "cloudformation")
    assert set(re.findall(r'outputs\["(\w+)"\]', shown)) <= made["Outputs"].keys()
    assert {*re.findall(r"(\w+) = \"[^\"]*\"[,} ]", shown)} >= {"CodeBucket", "CodeKey"}


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
    assert [i["KeySchema"][1]["AttributeName"] for i in properties["LocalSecondaryIndexes"]] == ["n"]


def test_a_local_index_has_no_throttles_of_its_own() -> None:
    """Its units are those of the table."""
    alarms = alarms_of(replace(EVERYTHING, alarms=True))
    named = {m.dimensions.get("GlobalSecondaryIndexName") for alarm in alarms for m in alarm.metrics}
    assert named >= {"all", "some", "keys", None}
    assert "near" not in named


def test_errors_of_each_operation_on_items_are_counted() -> None:
    """As many as one alarm sums, which is ten."""
    (errors,) = (a for a in alarms_of(replace(EVERYTHING, tables=[EVERYTHING.tables[0]])) if a.name.endswith("-errors"))
    batches, transactions = ("BatchGetItem", "BatchWriteItem"), ("TransactGetItems", "TransactWriteItems")
    each = {"GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem", *batches, *transactions}
    assert sorted(metric.dimensions["Operation"] for metric in errors.metrics) == sorted(each)


def test_a_table_has_the_settings_that_it_declares() -> None:
    made = template_of(template_text(EVERYTHING, "cloudformation"), "cloudformation")
    properties = made["Resources"]["PaidTable"]["Properties"]
    capacity = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert (properties["BillingMode"], properties["ProvisionedThroughput"]) == ("PROVISIONED", capacity)
    assert properties["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] == capacity
    assert properties["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert properties["Tags"] == [{"Key": "team", "Value": "a ${b} %{c}"}]


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
    with pytest.raises(ValueError, match="not a template"):
        newly_allowed({"anything": 1}, wide)
