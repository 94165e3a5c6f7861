"""`check`: what is wrong in the tables of a module, in every layer; and `--repair`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.status import Status

from singletable.cli import output
from singletable.cli.check_file import CheckFile, Head
from singletable.cli.job import is_job, run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.session import UNITS, export_named, options_anywhere, session_of
from singletable.database import Database
from singletable.flow import Rate, at_rate
from singletable.foundation import Finding, Pass, Repaired, Table, TableItems, flows, port_over
from singletable.records import CheckOptions, CheckRound, RepairMode, usual_segments

_SAID = {
    "mended": "mended",
    "mendable": "can be mended",
    "gone": "no longer there",
    "kept": "for a person to decide",
    "contended": "other writers were first; check again",
}


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--rate", type=UNITS, metavar="UNITS", help="Read units a second.")
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="Write findings here, and go on from there."
)
@click.option("--repair", is_flag=True, help="Say how each finding can be mended; with --yes, mend it.")
@click.option("--yes", is_flag=True, help="Write the repairs.")
@options_anywhere("job", "from-export", "sample", "seed", "segments", "blobs", "personal", "json", "db")
@click.pass_context
def check(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Find what is wrong in the tables, in every layer.

    \b
    singletable check shop.model
    singletable check shop.model --sample 1% --rate 500
    singletable check shop.model --to findings.jsonl
    singletable check shop.model --repair
    singletable check shop.model --from-export s3://reports/shop/AWSDynamoDB/01693685827463-2d8752fd

    It looks at types, keys, index keys, guards, copies, graphs; and at the tasks, documents, clients of sync and
    consumers that MODULE binds to its tables. It writes nothing to the table. With --to FILE findings are lines of JSON
    in a file, and a run that was ended goes on there; --json prints such lines. --repair lists the safe repairs, and
    --repair --yes writes them, each under the condition that nothing of what it was decided from has changed.

    With --from-export the items are read from an export, each alone, for no read units. What compares items with
    others is left out, and named at the end; --repair reads the items with findings again, in the table.

    The exit code is 1 where there are findings that were not mended.
    """
    if options["yes"] and not options["repair"]:
        raise click.UsageError("--yes writes the repairs of --repair. Say both.")
    with session_of(ctx).connect_to_read() as db:
        if is_job(options, "to", "repair", "sample", "segments", "from_export"):
            as_job = {**options, "rate": None, "read_rate": options["rate"]}
            given = {"blobs": str(Path(options["blobs"]).resolve())} if options["blobs"] else {}
            run_as_job(ctx, db, tables_of(module), "check", given, as_job, as_json=as_json)
            return
        run = CheckedTables(db, db.target.place, tables_of(module), as_json, options)
        for name, units in run.predicted().items():
            known = f"about {units:,.0f} read units to check, by the service's last count of its size"
            output.note(f"{name}: {known if units else 'the service gives no size, so the cost of a check is unknown'}")
        with output.MeteredBlock(db) as cost:
            run.run()
    run.tell()
    cost.print()
    if run.left:
        ctx.exit(1)


class CheckedTables:
    """One run: its passes, and where its findings go."""

    def __init__(
        self, db: Database, at: str, tables: Sequence[Table], as_json: bool, options: Mapping[str, Any]
    ) -> None:
        self.db, self.at, self.as_json, self.path = db, at, as_json, options["to"]
        self.personal: bool = options["personal"]
        self.repairs: RepairMode | None = None if not options["repair"] else "mend" if options["yes"] else "list"
        self.options = CheckOptions(options["segments"] or usual_segments(db.port), options["sample"], options["seed"])
        self.rate = Rate(read_units=options["rate"]) if options["rate"] else None
        self.export = export_named(options, tables)
        self.passes, self.left_out = _passes(db, tables, options, self.export)
        self.tables = [table.name for table in tables]
        self.seen, self.found, self.left = 0, 0, 0
        self.outcomes: Counter[str] = Counter()

    def predicted(self) -> Mapping[str, float]:
        """The read units by table; nothing of an export."""
        if self.export is not None:
            return {}
        return self.db.run(flows.predict_check(self.db.port, self.passes, self.options.sample))

    def run(self) -> None:
        parts = [f"{each.table.name}: {each.name}" for each in self.passes]
        options = self.options
        read = options.segments, options.sample, options.seed
        source = None if self.export is None else self.export.where
        head = Head(self.tables, self.at, parts, self.left_out, *read, self.repairs, source)
        with (
            CheckFile(self.path, head) if self.path is not None else nullcontext() as file,
            Status("reading", console=output.console(stderr=True)) as status,
        ):
            state = None if file is None else file.state
            if state is not None:
                ended = "this check had ended" if state.over == len(self.passes) else "going on"
                output.note(f"{self.path}: {ended} after {output.counted(state.seen, 'item')}")

            def keep(round: CheckRound) -> None:
                lines = [
                    _as_data(round, finding, repaired, personal=self.personal) for finding, repaired in round.told()
                ]
                if file is not None:
                    file.write(lines, round.state)
                for line in lines:
                    click.echo(output.json_text(line) if self.as_json else _as_text(line))
                self.outcomes.update(line["repair"] for line in lines if "repair" in line)
                status.update(f"{round.table.name}, {round.part}: {round.seen} read, {round.found} findings")

            port = port_over(at_rate(self.db.port, self.rate), self.export)
            end = self.db.run(flows.run_check(port, self.passes, options, keep, state, repairs=self.repairs))
        self.seen, self.found, self.left = end.seen, end.found, end.left

    def tell(self) -> None:
        parts = [f"{output.counted(self.seen, 'item')} read", output.counted(self.found, "finding")]
        parts += [f"{count} {_SAID[outcome]}" for outcome, count in self.outcomes.items()]
        output.note(", ".join(parts))
        for text in (*self.left_out, *(each.note for each in self.passes if each.note)):
            output.note(f"not checked: {text}")


def _passes(
    db: Database, tables: Sequence[Table], options: Mapping[str, Any], export: TableItems | None
) -> tuple[list[Pass], list[str]]:
    """The passes over all tables, and the omitted checks, in words."""
    from singletable.documents import LocalBlobs
    from singletable.layers import checks_of

    blobs = LocalBlobs(options["blobs"]) if options["blobs"] else None
    passes: list[Pass] = []
    left_out: list[str] = []
    for table in tables:
        layers = checks_of(table, db.target.seal, blobs)
        own, unsure = flows.check_passes(table, layers, is_sample=options["sample"] is not None, from_export=export)
        passes += own
        left_out += [*unsure, *(text for layer in layers for text in layer.left_out)]
    return passes, left_out


def _as_data(round: CheckRound, finding: Finding, repaired: Repaired | None, *, personal: bool) -> dict[str, Any]:
    line = {"table": round.table.name, **output.facts_of(round.table, finding, personal=personal)}
    if repaired is not None:
        line |= {"repair": repaired.outcome, "write": repaired.what}
    return line


def _as_text(line: Mapping[str, Any]) -> str:
    """`shop  index-key.stale  customer  customer#ada / customer: gsi1pk is not what its attributes make`."""
    where = " / ".join(output.clean(text) for text in line["key"])
    line_text = (
        f"{line['table']}  {line['code']}  {output.clean(line['type']) or '-'}  {where}: {output.clean(line['what'])}"
    )
    if "repair" not in line:
        return line_text
    return f"{line_text}\n    {_SAID[line['repair']]}{': ' if line['write'] else ''}{output.clean(line['write'])}"
