"""A page of another distribution: it is in the studio with its link while it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import TemplateNotFound

from singletable import AsyncDatabase
from singletable.errors import NotConfigured
from singletable.studio.html import environment
from singletable.studio.pages import SECTIONS
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.distributions import distribution, unbuilt
from tests.support.models import app

PLUGIN = Path(__file__).parents[1] / "plugin"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    unbuilt(tmp_path, PLUGIN)


async def test_a_page_of_another_distribution_has_its_link(plugin: None, db: AsyncDatabase) -> None:
    from shop_audit.mark import AuditMark

    await db.put(AuditMark.of(app)(by="ada & bob"))
    async with visiting(db, app) as visitor:
        assert '<a href="/audits/app">Audits</a>' in await visitor.page("/")
        page = await visitor.page("/audits/app")
        assert "<li>ada &amp; bob</li>" in page
        assert "1 request" in shown(page)
        assert (await visitor.json("/audits/app.json"))["auditors"] == ["ada & bob"]
        assert "@media" in await visitor.page("/static/shop_audit/audits.css")
        assert '<link rel="stylesheet" href="/static/shop_audit/audits.css">' in page


async def test_it_is_gone_with_its_distribution(visitor: Visitor) -> None:
    assert "Audits" not in await visitor.page("/")
    await visitor.page("/audits/app", status=404)


async def test_a_broken_section_is_named(db: AsyncDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    distribution(tmp_path, "shop-audit", "0.3", {SECTIONS.name: {"audit": "nowhere:SECTION"}})
    with pytest.raises(NotConfigured, match=r"the entry point audit = 'nowhere:SECTION' of shop-audit 0\.3"):
        async with visiting(db, app):
            pass


@pytest.mark.parametrize("name", ["audits.html", "shop_audit/absent.html"])
def test_a_missing_template_is_named(name: str, plugin: None) -> None:
    with pytest.raises(TemplateNotFound, match=name):
        environment().get_template(name)
