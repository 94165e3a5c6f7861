"""Courses, their teachers and pupils as a graph; their plans as documents. Written from `agents.md` alone."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from tempfile import TemporaryDirectory

from singletable import ANY, Table, at_least, attr, connect
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.graph import Edge, Graph, GraphTable, Node, link

school = GraphTable("school", indexes=["gsi0"])
plans_table = Table("plans", indexes=["gsi1"])


class Part(Enum):
    TEACHER = "TEACHER"
    PUPIL = "PUPIL"


class Course(Node, table=school, type="COURSE"):
    title: str


class Person(Node, table=school, type="PERSON"):
    name: str


class Attendance(Edge[Course, Person], table=school, type="ATTENDANCE", mirrors=("part",)):
    part: Part
    since: date

    @school.index("gsi0")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """The courses of a person, by date."""
        return f"{since}"


@dataclass(frozen=True)
class Lesson:
    title: str
    minutes: int = 45


class Plan(Document, table=plans_table, index="gsi1"):
    course: str = ""
    lessons: Items[Lesson]


@Plan.mutation
def put_lesson(draft: Draft[Plan], *, id: str, lesson: Lesson) -> None:
    draft.lessons[id] = lesson


@Plan.mutation
def drop_lesson(draft: Draft[Plan], *, id: str) -> None:
    del draft.lessons[id]


def main() -> None:
    with connect("local") as db, TemporaryDirectory() as folder:
        graph, plans = Graph(db), Documents(db, Plan, blobs=LocalBlobs(folder))
        course = Course(id="c1", title="Physics")
        people = [Person(id=name.lower(), name=name) for name in ("Marie", "Ada", "Ben")]
        for node in (course, *people):
            db.create(node)
        spring = date(2026, 3, 1)
        graph.link(Attendance(source=course, target=people[0], part=Part.TEACHER, since=spring))
        with db.transaction() as tx:
            for person in people[1:]:
                tx.add(link(Attendance(source=course, target=person, part=Part.PUPIL, since=spring)))

        teachers = Attendance.to(Person, attr(Attendance.part) == Part.TEACHER)
        asked = Attendance.by_date(people[1], at_least(spring)).sources().including(teachers)
        page = graph.page(asked, limit=10)
        assert [(row.node.title, [p.name for p in row.linked(teachers)]) for row in page] == [("Physics", ["Marie"])]

        plans.create("c1", "plan-c1", course="c1")
        edits = [put_lesson(id=str(n), lesson=Lesson(f"Lesson {n}")).by("marie", n) for n in (1, 2, 3)]
        assert [outcome.status for outcome in plans.apply("plan-c1", edits)] == ["applied"] * 3
        (outcome,) = plans.apply("plan-c1", [drop_lesson(id="9").by("marie", 4)])
        assert (outcome.status, bool(outcome.error)) == ("rejected", True)
        plans.apply("plan-c1", [drop_lesson(id="2").by("marie", 5)])
        assert sorted(plans.head("plan-c1").lessons) == ["1", "3"]
        assert sorted(plans.at("plan-c1", version=1).lessons) == ["1", "2", "3"]
        removed = plans.diff("plan-c1", 1, plans.head("plan-c1").version).collections["lessons"].removed
        assert "2" in removed

        graph.delete_node(people[2])
        assert [row.node.name for row in graph.page(Attendance.of(course).targets())] == ["Ada", "Marie"]


if __name__ == "__main__":
    main()
