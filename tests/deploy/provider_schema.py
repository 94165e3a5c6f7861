"""The arguments of Terraform's provider `hashicorp/aws`, as far as deployments use its resources.

`terraform validate` needs the provider's own program, which is no package of a registry that this project takes things
from. Its schema is published as types, by HashiCorp: in the npm package `@cdktf/provider-aws`, made from the provider.
`aws_provider.json` is what those types say of our resources, and this program made it:

    npm pack @cdktf/provider-aws@21.22.1 && tar xzf cdktf-provider-aws-21.22.1.tgz
    python -m tests.deploy.provider_schema package > tests/deploy/aws_provider.json

`breaches(configuration)` holds a configuration to it: unknown and missing arguments, and values of another type.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("aws_provider.json")
RESOURCES = (
    *("cloudwatch_event_rule", "cloudwatch_event_target", "cloudwatch_metric_alarm", "dynamodb_table", "iam_policy"),
    *("iam_role", "iam_role_policy_attachment", "lambda_event_source_mapping", "lambda_function", "lambda_permission"),
    *("s3_bucket", "s3_bucket_ownership_controls", "s3_bucket_public_access_block", "sns_topic", "sqs_queue"),
)
_INTERFACE = re.compile(r"export interface (\w+)[^{]*\{\n(.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"docs/resources/\w+#(\w+) [^}]*\}.*?readonly \w+(\??): (.*?);(?:\n(?=    /\*)|\Z)", re.DOTALL)
_META = {"lifecycle", "depends_on", "count", "for_each", "provider"}
"""Arguments that Terraform itself takes in every resource."""
_PLAIN = {"string": (str,), "number": (int, float), "boolean": (bool,)}

Schema = Mapping[str, Any]


def schema_of(package: Path) -> dict[str, Any]:
    """What the package's types say of each resource."""
    return {f"aws_{name}": _resource(package / "lib" / name.replace("_", "-") / "index.d.ts") for name in RESOURCES}


def breaches(configuration: Mapping[str, Any]) -> list[str]:
    """What a configuration says that the provider would refuse, [] for nothing."""
    schema = json.loads(SCHEMA.read_text())["resources"]
    found: list[str] = []
    for kind, resources in configuration["resource"].items():
        for name, body in resources.items():
            if kind not in schema:
                found.append(f"{kind} is no resource of the schema")
            else:
                given = {argument: value for argument, value in body.items() if argument not in _META}
                found += _breaches(given, schema[kind], f"{kind}.{name}")
    return found


def _breaches(given: Mapping[str, Any], schema: Schema, where: str) -> Iterator[str]:
    for name, said in schema.items():
        if said.get("required") and name not in given:
            yield f"{where} lacks {name}"
    for name, value in given.items():
        if name not in schema:
            yield f"{where} has an unknown argument {name}"
            continue
        yield from _wrong(value, schema[name]["type"], f"{where}.{name}")


def _wrong(value: Any, wanted: Any, where: str) -> Iterator[str]:
    if isinstance(wanted, dict):  # a block, or several
        for each in value if isinstance(value, list) else [value]:
            yield from _breaches(each, wanted, where)
    elif isinstance(value, str) and value.startswith("${"):
        return  # what it becomes is known later
    elif wanted == "map":
        if not (isinstance(value, dict) and all(isinstance(each, str) for each in value.values())):
            yield f"{where} is no map of texts"
    elif wanted.endswith("[]"):
        if not (isinstance(value, list) and all(isinstance(each, _PLAIN[wanted[:-2]]) for each in value)):
            yield f"{where} is no list of {wanted[:-2]}"
    elif not isinstance(value, _PLAIN[wanted]) or (wanted == "number" and isinstance(value, bool)):
        yield f"{where} is no {wanted}"


def _resource(file: Path) -> dict[str, Any]:
    interfaces = dict(_INTERFACE.findall(file.read_text()))
    top = re.search(r"interface (\w+) extends cdktf.TerraformMetaArguments", file.read_text())
    assert top
    return _arguments(top[1], interfaces)


def _arguments(interface: str, interfaces: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, optional, type_text in _FIELD.findall(interfaces[interface]):
        found[name] = {"type": _type(type_text, interfaces)} | ({} if optional else {"required": True})
    return found


def _type(text: str, interfaces: Mapping[str, str]) -> Any:
    first = " ".join(text.replace("| cdktf.IResolvable", "").split())
    if first.startswith("{"):
        return "map"
    bare = first.removesuffix("[]").strip()
    if bare in interfaces:
        return _arguments(bare, interfaces)
    return first.replace("Array<boolean", "boolean[]").split(" ")[0]


if __name__ == "__main__":
    package = Path(sys.argv[1])
    version = re.search(r"hashicorp/aws/([\d.]+)/", (package / "lib/iam-policy/index.d.ts").read_text())
    assert version
    whole = {"provider": f"hashicorp/aws {version[1]}", "resources": schema_of(package)}
    sys.stdout.write(json.dumps(whole, indent=1) + "\n")
