"""Writes the picture of each application's report from its demonstration: python -m tests.reports.pictures"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from examples_shared.reports import ask, reports_in, title_of
from singletable.reports import open_live, svg_of
from tests.reports.application_data import ROOT, TABLES, filled

PICTURED: Mapping[str, str] = {
    "goals": "busiest_leads",
    "organisations": "people_by_service",
    "manhunt": "answer_times",
    "projects": "areas",
}


def main() -> None:
    for name, report in PICTURED.items():
        folder = ROOT / "examples" / name / "src" / name / "reports"
        path = reports_in(folder)[report]
        with (
            tempfile.TemporaryDirectory() as data,
            filled(name, Path(data) / "data") as db,
            open_live(db, TABLES[name]) as session,
        ):
            (folder / f"{report}.svg").write_text(svg_of(ask(session, path).chart(title_of(path))) + "\n", "utf-8")


if __name__ == "__main__":
    main()
