"""The lease of an apply, for all that changes a table alone, as an erasure; backups of a table with its contents; a
page of a fill; the sections of a plan."""

from singletable.migrations.apply_lease import release as release, take as take
from singletable.migrations.backups_flow import (
    BLOBS as BLOBS,
    DATA_FILE as DATA_FILE,
    beside_backup as beside_backup,
    copy_file as copy_file,
)
from singletable.migrations.counts_of_job import (
    write_counts_of_job as write_counts_of_job,
)
from singletable.migrations.fill import (
    PAGE as PAGE,
    fill_needs_one_segment as fill_needs_one_segment,
    fill_round as fill_round,
    obsolete_keys as obsolete_keys,
)
from singletable.migrations.leased_port import LeasedPort as LeasedPort
from singletable.migrations.plan_sections import (
    PlanSections as PlanSections,
    SectionReading as SectionReading,
)
from singletable.migrations.step_kinds.setting_steps import (
    set_declared as set_declared,
    wanted_settings as wanted_settings,
)
