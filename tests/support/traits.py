"""What the embedded engine can, where a test or a process of its own connects to it by its address."""

from __future__ import annotations

from singletable.flow import Traits

LOCAL = Traits(creates_tables=True, scan_page_limit=1000, segments_shift=True, index_lag_seconds=0.0)
