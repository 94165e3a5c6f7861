"""Goals: objectives with key results and sub-goals, people and teams with roles in them. See README.md.

Begin with `model`, which declares the graph; `service` holds every query and action; `api` and `cli` are the front
doors.
"""

from goals.model import records
from goals.service import Service

__all__ = ["Service", "records"]
