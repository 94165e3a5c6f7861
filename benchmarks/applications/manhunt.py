"""A search with its attempts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.applications.case import Ask
from benchmarks.applications.data import ATTEMPTS, DOMAIN, ITEMS_A_SEARCH, SIZES, search_id
from manhunt.model import Search, SearchAttempt, SearchDetails
from manhunt.service import Service
from singletable import Database
from singletable.records import flows


class SearchPage:
    """A search that has tried nine methods: one query of its partition."""

    name = "search with attempts"
    data = "manhunt"
    sizes: Sequence[int] = SIZES

    def page(self, db: Database, items: int) -> Ask:
        service = Service(db)

        def ask(number: int) -> int:
            found = service.search_with_attempts(DOMAIN, _some(number, items))
            assert len(found.attempts) == ATTEMPTS, found
            return len(found.attempts)

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        def ask(number: int) -> None:
            assert db.run(flows.get_any(db.port, SearchDetails.by_id(_some(number, items))))

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        """As from a table of searches and a table of attempts: the search says how many steps it took, and each is
        read."""

        def ask(number: int) -> int:
            id = _some(number, items)
            search = db.get(Search.by_id(id))
            assert search
            attempts = [db.get(SearchAttempt.of_search(id, step)) for step in range(search.step)]
            assert all(attempts), id
            return len(attempts)

        return ask


def _some(number: int, items: int) -> str:
    return search_id(number * 7919 % (items // ITEMS_A_SEARCH))
