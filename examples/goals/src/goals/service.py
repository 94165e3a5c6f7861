"""Every query and action of the application, with what it costs.

Round trips are those of a call whose page has at most 100 goals. Units: R is half a read unit for each 4 KB (reads are
eventually consistent, those that decide something consistent, at twice that), W is a write unit for each KB; an
action's transaction takes twice that, and each index the edge lies in once more. A node is as large as its edge set: 50
to 60 bytes a neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

from goals.activity import Activity
from goals.goal_actions import GoalActions
from goals.goal_pages import GoalPages
from goals.people_actions import PeopleActions
from goals.queries import Queries
from goals.rights import RightsQueries


@dataclass(frozen=True)
class Service(Queries, GoalPages, RightsQueries, GoalActions, PeopleActions, Activity):
    """The queries; who may do what; and the actions, which ask nobody's rights: the front doors do, by `rights`."""
