"""The library's own entry points: what another distribution writes into its metadata, for a tree that has none.

Each line registers one thing of a layer: its name, and MODULE:ATTRIBUTE. `singletable.extensions` loads one when a tool
asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "adopt": "singletable.cli.adopt:adopt",
    "agents": "singletable.cli.agents:agents",
    "apply": "singletable.cli.apply:apply",
    "backup": "singletable.cli.backup:backup",
    "check": "singletable.cli.check_command:check",
    "collect": "singletable.cli.collect:collect",
    "copy": "singletable.cli.copy:copy_command",
    "erase": "singletable.cli.erase:erase",
    "explain": "singletable.cli.pattern_commands:explain",
    "export": "singletable.cli.export:export",
    "fill": "singletable.cli.fill:fill",
    "get": "singletable.cli.pattern_commands:get",
    "import": "singletable.cli.import_command:import_command",
    "job": "singletable.cli.job:job",
    "patterns": "singletable.cli.patterns:patterns",
    "plan": "singletable.cli.plan:plan",
    "query": "singletable.cli.pattern_commands:query",
    "release": "singletable.cli.release:release_command",
    "restore": "singletable.cli.restore:restore",
    "sql": "singletable.cli.sql:sql",
    "stats": "singletable.cli.stats:stats",
    "stream": "singletable.cli.stream:stream",
    "studio": "singletable.cli.studio:studio",
    "table": "singletable.cli.table:table",
    "work": "singletable.cli.work:work",
}
"""Commands of the program: click's."""

ITEMS: Mapping[str, str] = {
    "_apply": "singletable.migrations.items:ApplyLease",
    "_erasure": "singletable.erasure.items:ErasureRecord",
    "_hold": "singletable.holds.item:HoldItem",
    "_job": "singletable.jobs.items:JobItem",
    "_job_lines": "singletable.jobs.items:JobLines",
    "_job_part": "singletable.jobs.items:JobPart",
    "_job_state": "singletable.jobs.items:SectionState",
    "_migration": "singletable.migrations.items:FillPart",
    "_model": "singletable.migrations.items:ModelRecord",
    "_plan": "singletable.migrations.items:PlanCounts",
    "_rate": "singletable.migrations.items:SharedBudget",
    "_restore": "singletable.exchange.items:RestoreRecord",
    "_transfer": "singletable.exchange.items:Transfer",
}
"""Items that tools keep in a table that they work on, by their stored type: subclasses of `ToolItem`."""

KEY_WORDS: Mapping[str, str] = {"_migration": "fill", "_model": "apply"}
"""The first word of their keys, for types that have another than their own. Tables have such items: it stays."""

APART = frozenset({"_job_lines", "_job_part", "_job_state"})
"""The types among them whose items have a partition each: many processes write them at the same time."""

JOBS: Mapping[str, str] = {
    "check": "singletable.jobs.check_job:CHECK",
    "collect": "singletable.jobs.collect_job:COLLECT",
    "copy": "singletable.exchange.copy_job:COPY",
    "erase": "singletable.erasure.scan_job:ERASE",
    "export": "singletable.exchange.export_job:EXPORT",
    "fill": "singletable.jobs.fill_job:FILL",
    "plan": "singletable.jobs.plan_job:PLAN",
    "stats": "singletable.reports.stats_job:STATS",
}
"""Commands that run as durable jobs: `JobKind`s."""

LAYERS: Mapping[str, str] = {
    "streams": "singletable.streams.layer:LAYER",
    "tasks": "singletable.tasks.layer:LAYER",
    "documents": "singletable.documents.layer:LAYER",
    "sync": "singletable.sync.layer:LAYER",
    "jobs": "singletable.jobs.layer:LAYER",
}
"""Layers' parts in a check and an erasure: `TableLayer`s, in the order in which a check reads them."""

STUDIO: Mapping[str, str] = {
    "documents": "singletable.studio.pages.documents:SECTION",
    "graph": "singletable.studio.pages.graph:SECTION",
    "home": "singletable.studio.pages.home:SECTION",
    "item": "singletable.studio.pages.item:SECTION",
    "item_edit": "singletable.studio.pages.item_edit:SECTION",
    "model": "singletable.studio.pages.model:SECTION",
    "partition": "singletable.studio.pages.partition:SECTION",
    "patterns": "singletable.studio.pages.patterns:SECTION",
    "sql": "singletable.studio.pages.sql:SECTION",
    "work": "singletable.studio.pages.work:SECTION",
}
"""Pages of the studio: `Section`s."""
