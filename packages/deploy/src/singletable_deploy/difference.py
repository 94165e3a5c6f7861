"""The rights that a deployment's policies would add to those of an older template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from singletable_deploy.key_patterns import ANY_KEY, covers

Json = Mapping[str, Any]


class Right(NamedTuple):
    """One action on one resource, at the partitions of one pattern."""

    role: str
    action: str
    resource: str
    partition: str
    attributes: tuple[str, ...] | None

    @property
    def shown(self) -> str:
        where = "" if self.partition == ANY_KEY else f" at {self.partition}"
        what = "" if self.attributes is None else f", only {', '.join(self.attributes)}"
        return f"{self.role}: {self.action} on {self.resource}{where}{what}"

    def covers(self, other: Right) -> bool:
        """Whether it allows all that the other does."""
        same = (self.role, self.action, self.resource) == (other.role, other.action, other.resource)
        wide = self.attributes is None or (other.attributes is not None and set(other.attributes) <= {*self.attributes})
        return same and wide and covers(self.partition, other.partition)


def newly_allowed(old: Json, new: Json) -> list[Right]:
    """The rights in a new template that an old one of the same format does not give."""
    before = list(rights_of(old))
    return sorted(
        (right for right in rights_of(new) if not any(each.covers(right) for each in before)),
        key=lambda right: right.shown,
    )


def rights_of(template: Json) -> Iterator[Right]:
    """The rights that the policies of a template give; ValueError for what is not a template that singletable wrote."""
    for role, statements in _policies(template):
        for statement in statements:
            yield from _rights(role, statement)


def _policies(template: Json) -> Iterator[tuple[str, Sequence[Json]]]:
    if "Resources" not in template:
        raise ValueError("not a template of this program's")
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::IAM::ManagedPolicy":
            role = name.rstrip("0123456789").removesuffix("Policy")
            yield role, resource["Properties"]["PolicyDocument"]["Statement"]


def _rights(role: str, statement: Json) -> Iterator[Right]:
    condition = statement.get("Condition", {})
    partitions = condition.get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", [ANY_KEY])
    attributes = condition.get("ForAllValues:StringEquals", {}).get("dynamodb:Attributes")
    for action in statement["Action"]:
        for partition in partitions:
            yield Right(
                role, action, _spelled(statement["Resource"]), partition, None if attributes is None else (*attributes,)
            )


def _spelled(resource: Any) -> str:
    """A resource by its name in the template, in a form to read and to compare."""
    if isinstance(resource, str):
        return resource
    ((function, given),) = resource.items()
    if function == "Fn::GetAtt":
        return given[0] if given[1] == "Arn" else f"{given[0]}.{given[1]}"
    text = str(given[0])
    for name, inner in given[1].items():
        text = text.replace(f"${{{name}}}", _spelled(inner))
    return text
