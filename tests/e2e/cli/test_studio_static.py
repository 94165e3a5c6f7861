"""`studio --static`: the model as pages, without a database."""

from __future__ import annotations

from tests.e2e.cli.conftest import Folder


def test_it_writes_pages_and_sends_nothing(folder: Folder) -> None:
    ran = folder.run("studio", "shop.model", "--static", "docs/model")
    written = sorted(each.name for each in (folder.path / "docs" / "model").iterdir())
    assert ran.out == f"docs/model: {len(written)} files, {len(written)} changed\n"
    assert {"index.html", "model.json", "studio.css"} < set(written)
    assert not (folder.path / "data").exists()
    again = folder.run("studio", "shop.model", "--static", "docs/model")
    assert again.out == f"docs/model: {len(written)} files, 0 changed\n"


def test_it_follows_the_declarations(folder: Folder) -> None:
    folder.run("studio", "shop.model", "--static", "docs/model")
    model = folder.path / "shop" / "model.py"
    model.write_text(model.read_text().replace('indexes=["gsi1"]', 'indexes=["gsi1", "gsi2"]'))
    ran = folder.run("studio", "shop.model", "--static", "docs/model")
    assert ran.out.endswith("files, 2 changed\n")
    assert "Index gsi2" in (folder.path / "docs" / "model" / "index.html").read_text()


def test_a_folder_of_other_files_is_refused(folder: Folder) -> None:
    ran = folder.run("studio", "shop.model", "--static", "shop")
    assert (ran.code, "holds other files" in ran.err) == (1, True)
