"""`singletable deploy`: what it writes, its difference and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goals.deployment import deployment
from singletable.cli.app import app
from singletable_deploy.formats import FORMATS, template_of, template_text

MODULE = "goals.deployment"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["deploy", *arguments])


@pytest.mark.parametrize("format", FORMATS)
def test_it_writes_the_template_of_a_modules_deployment(format: str) -> None:
    result = run(MODULE, "--format", format)
    assert result.exit_code == 0
    assert result.stdout == template_text(deployment, format)


def test_work_without_an_alarm_is_said_on_standard_error() -> None:
    result = run("organisations.deployment")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["Resources"]
    assert "no alarm tells of overdue or dead tasks of organisations" in result.stderr.replace("\n", " ")
    assert run(MODULE).stderr == ""


def test_a_module_without_a_deployment_is_its_tables_with_ready_made_roles() -> None:
    result = run("goals.model")
    made = json.loads(result.stdout)
    assert {n for n in made["Resources"] if n.endswith("Policy")} == {
        "AdminPolicy",
        "MigrationPolicy",
        "ReadOnlyPolicy",
    }
    assert made["Resources"]["RecordsTable"]["Properties"]["TableName"] == "records"


def test_the_difference_decides_the_exit_code(tmp_path: Path) -> None:
    made = template_of(template_text(deployment, "cloudformation"), "cloudformation")
    same, less = tmp_path / "same.json", tmp_path / "less.json"
    same.write_text(json.dumps(made))
    del made["Resources"]["WebPolicy"]["Properties"]["PolicyDocument"]["Statement"][0]
    less.write_text(json.dumps(made))
    unchanged, changed = run(MODULE, "--diff", str(same)), run(MODULE, "--diff", str(less))
    assert (unchanged.exit_code, unchanged.stdout) == (0, "Nothing is newly allowed.\n")
    assert changed.exit_code == 2
    lines = changed.stdout.splitlines()
    assert len(lines) == 10
    assert lines[0] == "+ Web: dynamodb:Query on RecordsTable/index/gsi0 at GOALMEMBERSHIP-ORGANISATION-*"
    as_json = json.loads(run(MODULE, "--diff", str(less), "--json").stdout)
    assert as_json[0]["partition"] == "GOALMEMBERSHIP-ORGANISATION-*"


def test_an_old_template_of_another_format_is_refused_by_name(tmp_path: Path) -> None:
    for name, text in (("old.py", "print()"), ("old.json", "{}")):
        (tmp_path / name).write_text(text)
        result = run(MODULE, "--diff", str(tmp_path / name))
        assert result.exit_code == 2
        assert f"{name} is not a cloudformation template that `singletable deploy` wrote" in result.stderr.replace(
            "\n", " "
        )


def test_an_unknown_name_is_refused() -> None:
    result = run(f"{MODULE}:other")
    assert result.exit_code == 2
    assert "has no deployment 'other'" in result.stderr


def test_names_that_a_deployment_has_itself_stay_unless_others_are_given(tmp_path: Path) -> None:
    module = tmp_path / "seventh.py"
    module.write_text(
        "from singletable import Table\nfrom singletable.flow import TableNames\n"
        "from singletable_deploy import Deployment\n\n"
        'seventh = Deployment("seventh", [Table("orders")], names=TableNames({"orders": "orders-7"}))\n'
    )
    shown = [
        json.loads(run(str(module), *given).stdout)["Resources"]["OrdersTable"]["Properties"]["TableName"]
        for given in ((), ("--table-prefix", "prod-"), ("--table-name", "orders=orders"))
    ]
    assert shown == ["orders-7", "prod-orders", "orders"]


def test_a_template_has_the_names_in_the_account() -> None:
    plain = json.loads(run("goals.model").stdout)
    named = json.loads(run("goals.model", "--table-name", "records=records-9").stdout)
    assert named["Resources"]["RecordsTable"]["Properties"]["TableName"] == "records-9"
    environ = {"SINGLETABLE_TABLE_NAMES": "records=records-9"}
    assert json.loads(CliRunner().invoke(app, ["deploy", "goals.model"], env=environ).stdout) == named
    text = json.dumps(plain).replace('"TableName": "records"', '"TableName": "records-9"')
    told = text.replace('"Name": "TableName", "Value": "records"', '"Name": "TableName", "Value": "records-9"')
    assert json.loads(told) == named, "nothing else differs: the rights name the template's own table"
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/records"
    refused = run("goals.model", "--table-name", f"records={arn}")
    assert (refused.exit_code, "it is another account's" in refused.output) == (1, True)
