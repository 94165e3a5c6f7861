"""A page of a graph: a team's goals, each with its people, in three round trips, however many goals there are.

A query for each goal would be a round trip for each. A node holds its edges' targets in an attribute, kept in step by
the transactions that link, so a page is the edges of the team, their goals, and all the people at once.
"""

from datetime import date
from enum import Enum

from singletable import ANY, attr, connect
from singletable.graph import Edge, Graph, GraphTable, Node

records = GraphTable("records", indexes=["gsi0"])


class Role(Enum):
    LEAD = "LEAD"
    CONTRIBUTOR = "CONTRIBUTOR"
    TEAM = "TEAM"


class Goal(Node, table=records, type="GOAL"):
    title: str


class User(Node, table=records, type="USER"):
    name: str


class Team(Node, table=records, type="TEAM"):
    name: str


class Membership(Edge[Goal, User | Team], table=records, type="MEMBERSHIP", mirrors=("role",)):
    """Who works on a goal. `mirrors`: the role is in the goal's own item too, so that a page can choose by it."""

    role: Role
    since: date

    @records.index("gsi0")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """From a user or team to its goals, by date."""
        return f"{since}"


LEADS = Membership.to(User, attr(Membership.role) == Role.LEAD)


def main() -> None:
    with connect("local") as db:
        graph = Graph(db)
        team = Team(id="engine", name="Engine")
        people = [User(id=f"u{number}", name=f"User {number}") for number in range(10)]
        goals = [Goal(id=f"g{number:02}", title=f"Goal {number}") for number in range(40)]
        day = date(2026, 1, 1)
        edges = [
            Membership(source=goal, target=team, role=Role.TEAM, since=day.replace(day=1 + number % 28))
            for number, goal in enumerate(goals)
        ]
        edges += [
            Membership(source=goal, target=people[number % 10], role=Role.LEAD, since=day)
            for number, goal in enumerate(goals)
        ]
        graph.load([team, *people, *goals], edges)

        with db.meter() as linking:
            graph.link(Membership(source=goals[0], target=people[5], role=Role.CONTRIBUTOR, since=day))

        query = Membership.by_date(team).sources().including(LEADS, Membership.to(Team))
        with db.meter() as paging:
            page = graph.page(query, limit=25)
        for row in page.items[:2]:
            leads = [user.name for user in row.linked(LEADS)]
            print(row.node.title, "- led by", leads, "- in", [each.name for each in row.linked(Team)])
        print("goals on the page:", len(page.items), "and more:", page.cursor is not None)
        print("all of the first goal:", graph.count_edges(goals[0], Membership))

        with db.meter() as deleting:
            graph.delete_node(people[5])
        print("after a user is deleted:", graph.count_edges(goals[0], Membership))
        print("what is not as it should be:", db.check(records))

        print("costs")
        print("  link:                  ", linking)
        print("  a page of 25 goals:    ", paging)
        print("  delete a user, 5 edges:", deleting)


if __name__ == "__main__":
    main()
