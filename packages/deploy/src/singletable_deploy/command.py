"""`deploy`: a deployment as a template, and what its policies would newly allow."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from singletable.cli import module_of, options_anywhere, output, session_of, tables_of
from singletable_deploy import Deployment, admin, migration, read_only
from singletable_deploy.alarms import unwatched
from singletable_deploy.difference import Right, newly_allowed
from singletable_deploy.formats import FORMATS, template_of, template_text


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option(
    "--format",
    type=click.Choice(list(FORMATS)),
    default="cloudformation",
    show_default=True,
    help="The format of the template.",
)
@click.option(
    "--diff",
    "old",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="OLD",
    help="Print the rights that the policies would add to those of OLD, a template of the same format.",
)
@options_anywhere("names", "json")
@click.pass_context
def deploy(ctx: click.Context, /, module: str, format: str, old: Path | None, as_json: bool) -> None:
    """Write the template of an application: tables, roles, functions, queues, alarms.

    MODULE holds a Deployment; NAME selects one of several. A module that has none is deployed as its tables, with the
    roles admin, migration and read-only. Nothing is sent. Standard error says which work has no alarm. With --diff the
    exit code is 2 where something is newly allowed, 0 where nothing is.
    """
    deployment, names = _deployment_of(module), session_of(ctx).names
    if names.variables:
        deployment = replace(deployment, names=names)
    if old is None:
        click.echo(template_text(deployment, format), nl=False)
        for remark in unwatched(deployment):
            output.note(remark)
        return
    rights = _newly_allowed(old, format, template_of(template_text(deployment, format), format))
    _tell(rights, as_json=as_json)
    ctx.exit(2 if rights else 0)


def _deployment_of(spec: str) -> Deployment:
    where, _, name = spec.partition(":")
    deployments = {
        variable: value for variable, value in vars(module_of(spec)).items() if isinstance(value, Deployment)
    }
    chosen = [value for variable, value in deployments.items() if name in ("", variable, value.name)]
    if len(chosen) == 1:
        return chosen[0]
    if deployments:
        which = "has several" if not name else f"has no deployment {name!r}"
        raise click.UsageError(f"{where} {which}: name {' or '.join(f'{where}:{each}' for each in deployments)}.")
    tables = tables_of(spec)
    own = "-".join(re.findall("[a-z0-9]+", tables[0].name.lower()))
    name = (own if own[:1].isalpha() else f"table-{own}")[:41]
    return Deployment(name, tables, [admin(*tables), migration(*tables), read_only(*tables)])


def _newly_allowed(old: Path, format: str, new: Any) -> list[Right]:
    try:
        return newly_allowed(template_of(old.read_text(encoding="utf-8"), format), new)
    except ValueError:
        raise click.UsageError(f"{old} is not a {format} template that `singletable deploy` wrote.") from None


def _tell(rights: list[Right], *, as_json: bool) -> None:
    if as_json:
        output.print_json([right._asdict() for right in rights])
        return
    for right in rights:
        click.echo(f"+ {output.clean(right.shown)}")
    if not rights:
        click.echo("Nothing is newly allowed.")
