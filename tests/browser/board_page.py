"""One open page of a board: what a person does there, by mouse and keyboard, and what they see."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

import httpx

from examples.projects.tests.board.serving import Server, until
from tests.browser.frames import wait_for_frame

COUNT_VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  window.violations.push(`${violatedDirective} ${blockedURI}`));
"""

SEEN = """() => {
  const shapes = {};
  for (const group of document.querySelectorAll('.shape')) {
    const [x, y] = group.getAttribute('transform').match(/-?[\\d.]+/g).map(Number);
    const [kind, colour] = group.firstChild.getAttribute('class').split(' ');
    shapes[group.dataset.id] = { kind, colour, x, y, text: group.textContent };
  }
  const comments = {};
  for (const row of document.querySelectorAll('.comment'))
    comments[row.dataset.id] = row.querySelector('.said').textContent;
  return { name: document.getElementById('name').value, shapes, comments };
}"""


def seen_of(head: dict[str, Any]) -> dict[str, Any]:
    """What a page shows of the head that the HTTP API gives."""
    parts = ("kind", "colour", "x", "y", "text")
    return {
        "name": head["name"],
        "shapes": {id: {part: shape[part] for part in parts} for id, shape in head["shapes"].items()},
        "comments": {id: comment["text"] for id, comment in head["comments"].items()},
    }


def head_of(server: Server, project: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.url}/api/projects/{project}").raise_for_status().json()
    return found


def put(server: Server, project: str, *mutations: tuple[str, dict[str, Any]]) -> None:
    """Mutations of a client that nobody else is, until the server has confirmed them; on a board that is made first."""
    if server.is_demo:
        server.make(project)
    client = f"client-{token_hex(8)}"
    whose = {"clientGroupID": f"group-{client}", "profileID": "p", "schemaVersion": ""}
    listed = [
        {"clientID": client, "id": number, "name": name, "args": args, "timestamp": 1}
        for number, (name, args) in enumerate(mutations, 1)
    ]
    with httpx.Client(base_url=f"{server.url}/replicache", params={"project": project}) as http:

        def ask(verb: str, **body: Any) -> Any:
            return http.post(f"/{verb}", json=whose | body).raise_for_status().json()

        ask("push", pushVersion=1, mutations=listed)
        confirmed = {client: len(listed)}
        until(lambda: ask("pull", pullVersion=1, cookie=None)["lastMutationIDChanges"] == confirmed)


def note(x: int, text: str) -> dict[str, Any]:
    return {"kind": "note", "colour": "amber", "x": x, "y": 40, "width": 160, "height": 120, "text": text}


def outcomes_of(server: Server, project: str) -> list[int]:
    """How many mutations have an outcome, and how many of those are rejections."""
    ids: set[tuple[str, int]] = set()
    count = rejected = 0
    after: str | None = ""
    while after is not None:
        page = httpx.get(
            f"{server.url}/api/projects/{project}/versions", params={"after": after} if after else {}
        ).json()
        for applied in (applied for version in page["versions"] for applied in version["mutations"]):
            ids.add((applied["client"], applied["id"]))
            count, rejected = count + 1, rejected + applied["rejected"]
        after = page["after"]
    assert len(ids) == count
    return [count, rejected]


class BoardPage:
    """A page at a board. What goes wrong in it is kept in `errors`, what its policy stopped in `violations`."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.mine: list[str] = []
        """Shapes made here, by a test that counts them."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url, url))
        page.add_init_script(COUNT_VIOLATIONS)

    def _note(self, asked: str, url: str) -> None:
        if not asked.startswith(url):
            self.elsewhere.append(asked)

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.wait_until("saved")

    def wait_until(self, state: str) -> None:
        """Until it says that all is saved, or that it is offline: after the frame that shows what was done last."""
        wait_for_frame(self.page)
        self.page.wait_for_selector(f"body[data-state={state}]")

    @property
    def violations(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.violations")
        return found

    @property
    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(SEEN)
        return found

    @property
    def ids(self) -> list[str]:
        return sorted(self.seen["shapes"])

    @property
    def version(self) -> int:
        """The newest version that it pulled."""
        return int(self.page.locator("body").get_attribute("data-version"))

    def shape(self, id: str) -> Any:
        return self.page.locator(f".shape[data-id='{id}']")

    def wait_for_shape(self, id: str) -> Any:
        """The shape, once it is drawn."""
        self.shape(id).wait_for()
        return self.shape(id)

    def add(self, kind: str) -> str:
        """A new shape, which then has the keyboard; its id."""
        before = set(self.ids)
        self.page.locator(f"#add-{kind}").click()
        focused = self.page.locator(".shape:focus")
        until(lambda: focused.count() == 1 and focused.get_attribute("data-id") not in before, what="no new shape")
        found: str = focused.get_attribute("data-id")
        return found

    def write(self, id: str, text: str) -> None:
        self.select(id)
        self.page.keyboard.press("Enter")
        self.page.locator("#shape-text").fill(text)
        self.page.keyboard.press("Escape")

    def colour(self, id: str, colour: str) -> None:
        self.select(id)
        self.page.locator(f".swatch.{colour}").click()

    def nudge(self, id: str, arrow: str) -> None:
        self.select(id)
        self.page.keyboard.press(arrow)

    def drag(self, id: str, right: int, down: int) -> None:
        box = self.shape(id).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + right, y + down, steps=4)
        mouse.up()

    def remove(self, id: str) -> None:
        self.select(id)
        self.page.keyboard.press("Delete")

    def select(self, id: str) -> None:
        self.shape(id).focus()

    def deselect(self) -> None:
        """So that comments are about the whole board. Another browser may delete the shape at any moment."""
        focus = "() => { const it = document.querySelector('.shape.selected'); it?.focus(); return it !== null }"
        if self.page.evaluate(focus):
            self.page.keyboard.press("Escape")

    def undo(self) -> bool:
        """Whether there was something to undo."""
        return self._press("undo")

    def redo(self) -> bool:
        return self._press("redo")

    def _press(self, id: str) -> bool:
        button = self.page.locator(f"#{id}")
        if not button.is_enabled():
            return False
        button.click()
        return True

    def comment(self, text: str) -> None:
        self.page.locator("#comment-text").fill(text)
        self.page.locator("#comment-form button").click()

    def rename(self, name: str) -> None:
        self.page.locator("#name").fill(name)
        self.page.keyboard.press("Enter")

    # --- history ------------------------------------------------------------------------------------------------------
    def open_history(self) -> None:
        self.page.get_by_role("button", name="History", exact=True).click()
        self._wait_shown(str(self.page.locator("#version").input_value()))

    def go_to(self, version: int) -> None:
        self.page.locator("#version").fill(str(version))
        self._wait_shown(str(version))

    def compare(self, base: int, version: int) -> None:
        self.page.locator("#version").fill(str(version))
        self.page.locator("#compare").check()
        self.page.locator("#base").fill(str(base))
        self._wait_shown(f"{base}-{version}")

    def _wait_shown(self, what: str) -> None:
        self.page.wait_for_selector(f"#history[data-shown='{what}']")
        # What is asked for in one frame is drawn in the next.
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
