// Who is here, and where they point. Nothing of it is kept: the server holds it in memory while the page is seen.

import { attribute, byId, html, svg, text } from './dom.js';
import { COLOURS, place, textOf } from './shapes.js';

const SHORTEST_MS = 80;
const AGAIN_MS = 10_000;
const BUSY_MS = 2_000;
const MOST_SHOWN = 5;
const LONGEST_NAME = 40;
const ARROW = 'M0 0 L0 15 L4.2 11.4 L7 17.6 L9.8 16.4 L7 10.4 L12.4 10 Z';

/**
 * `client` is this tab; `layer` an SVG group for the cursors of the others. Returns `point(x, y)`, or `point(null)` for
 * no cursor; and what the stream of events is to call: `heard(change)`, `back()`, `lost()`.
 */
export function makePresence({ project, user, client, layer }) {
  const url = `/replicache/presence?project=${encodeURIComponent(project)}`;
  const others = new Map(); // id -> {user, cursor or null}
  const cursors = new Map(); // id -> group
  let own = null; // the id of this page's entry, once the server has said it
  let cursor = null;
  let isOnline = false;
  let isBusy = false;
  let isWanted = false;
  let timer = null;

  /** Says where this page's cursor is: at once, or as soon as may be; one post at a time. */
  async function say() {
    isWanted = true;
    if (isBusy || !isOnline || document.hidden) return;
    clearTimeout(timer);
    [isBusy, isWanted] = [true, false];
    let wait = SHORTEST_MS;
    try {
      const body = JSON.stringify({ client, state: { cursor } });
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      if (answer.ok) own = (await answer.json()).id;
      else wait = BUSY_MS;
    } catch {
      wait = BUSY_MS; // the stream says when the server is back
    }
    setTimeout(() => {
      isBusy = false;
      if (isWanted) say();
      else timer = setTimeout(say, AGAIN_MS);
    }, wait);
    drawPeople();
  }

  function draw() {
    for (const [id, group] of cursors) {
      if (others.get(id)?.cursor) continue;
      group.remove();
      cursors.delete(id);
    }
    const names = namesOf(others, user, own);
    for (const [id, other] of others) {
      if (other.cursor) drawCursor(id, other.cursor, names.get(id));
    }
    drawPeople();
  }

  function drawCursor(id, { x, y }, name) {
    let group = cursors.get(id);
    if (!group) {
      group = svg('g', { class: `cursor ${colourOf(id)}` }, svg('path', { d: ARROW }), svg('text', { x: 14, y: 26 }));
      cursors.set(id, group);
      layer.append(group);
    }
    attribute(group, 'transform', `translate(${x} ${y})`);
    text(group.lastChild, name);
  }

  function drawPeople() {
    const names = namesOf(others, user, own);
    const all = [...(own === null ? [] : [[own, `${user} (you)`]]), ...names];
    const shown = all.slice(0, MOST_SHOWN).map(([id, name]) => html('li', { class: colourOf(id), title: name, 'aria-label': name }, initial(name)));
    const more = all.slice(MOST_SHOWN).map(([, name]) => name);
    if (more.length > 0) shown.push(html('li', { class: 'more', title: more.join(', '), 'aria-label': more.join(', ') }, `+${more.length}`));
    byId('people').replaceChildren(...shown);
  }

  return {
    point(x, y) {
      cursor = x === null ? null : { x: Math.round(x), y: Math.round(y) };
      say();
    },
    heard({ clear, put = [], del = [] }) {
      if (clear) others.clear();
      for (const { id, user: whose, state } of put) others.set(id, { user: textOf(whose), cursor: place(state.cursor) });
      for (const id of del) others.delete(id);
      draw();
    },
    back() {
      isOnline = true;
      say();
    },
    lost() {
      isOnline = false;
      own = null;
      others.clear();
      draw();
    },
  };
}

/** Their names; with the number of the entry where several have one name. */
function namesOf(others, user, own) {
  const count = new Map(own === null ? [] : [[user, 1]]);
  for (const other of others.values()) count.set(other.user, (count.get(other.user) ?? 0) + 1);
  const short = (name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);
  const named = ([id, other]) => [id, count.get(other.user) > 1 ? `${short(other.user)} ${id}` : short(other.user)];
  return new Map([...others].map(named).sort(([one], [other]) => one - other));
}

const colourOf = (id) => COLOURS[(id * 2) % COLOURS.length];
const initial = (name) => [...name][0]?.toUpperCase() ?? '?';
