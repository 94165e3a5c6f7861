"""Adopt: a table that another program made, declared: a module of classes from its keys and items, and its proof.

Begin with `adoption`, which is pure: items in, a module out. It takes `kinds` (which items are alike), `readings` (the
ways to read a key's texts), `key_texts` (what an attribute would be in a key), `attributes` (their types),
`kind_reader` (chooses a reading, and its attributes), `doubts` (what else it may be), `module_text` (a module's source)
and `trial` (the classes, tried on the items). `samples` reads a table, `sources` and `workbench` read files,
`verification` proves a module on all of it.
"""

from __future__ import annotations

from singletable.adopt.adoption import Adopted as Adopted, Unexplained as Unexplained, adopted as adopted
from singletable.adopt.layout import TableLayout as TableLayout
from singletable.adopt.samples import (
    AdoptionPlan as AdoptionPlan,
    TableSample as TableSample,
    plan_adoption as plan_adoption,
    read_sample as read_sample,
)
from singletable.adopt.sources import read_source as read_source
from singletable.adopt.verification import (
    Verified as Verified,
    VerifyFile as VerifyFile,
    VerifyRun as VerifyRun,
    allowing_writes as allowing_writes,
    digest_of as digest_of,
    doubts_in as doubts_in,
    refusing_writes as refusing_writes,
    replace_module as replace_module,
    verify as verify,
)
