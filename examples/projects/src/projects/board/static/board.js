// The page of one project. It joins its parts: what sync tells is drawn, what a person does becomes a mutation.

import { projectApi } from './api.js';
import { makeCanvas } from './canvas.js';
import { byId, nextFrame, text } from './dom.js';
import { makeHistory } from './history.js';
import { keepThisPage } from './offline.js';
import { makePanel } from './panel.js';
import { makePresence } from './presence.js';
import { KINDS, besideAll, fresh, named, newId, textOf } from './shapes.js';
import { openProject } from './sync.js';

const { project, user } = document.body.dataset;
const live = { name: '', shapes: new Map(), comments: new Map(), marks: new Map(), before: new Map(), readOnly: false };
const PARTS = { shapes: live.shapes, comments: live.comments };
const NOTICE_MS = 6_000;
let noticeTimer = null;
let past = null;
let selected = null;

const remove = (id) => mutate.delete_shape({ id });
const canvas = makeCanvas(byId('canvas'), {
  selected(id) {
    selected = id;
    panel.show(past ?? live, id);
  },
  moved: (id, x, y) => mutate.move_shape({ id, x, y }),
  removed: remove,
  opened: () => panel.write(),
  pointed: (x, y) => presence.point(past === null ? x : null, y),
});
const client = newId();
const presence = makePresence({ project, user, client, layer: canvas.cursors });
const { mutate, undo, redo } = openProject({ project, user, client, presence, changed, told, undoable, kept });
const panel = makePanel(user, {
  changed: (id, shape) => mutate.put_shape({ id, shape }),
  removed: remove,
  commented: (id, comment) => mutate.put_comment({ id, comment }),
  uncommented: (id) => mutate.delete_comment({ id }),
  found(id) {
    canvas.select(id);
    canvas.focus(id);
  },
  left: (id) => canvas.focus(id),
});
const history = makeHistory(projectApi(project), (view) => {
  past = view;
  document.body.classList.toggle('past', past !== null);
  for (const control of document.querySelectorAll('.tools button')) control.disabled = past !== null;
  draw();
});

const name = byId('name');
name.addEventListener('change', () => mutate.rename({ name: name.value.trim() }));
name.addEventListener('keydown', (event) => event.key === 'Enter' && name.blur());

for (const kind of KINDS) byId(`add-${kind}`).addEventListener('click', () => add(kind));

async function add(kind) {
  const [x, y] = canvas.middle();
  const id = newId();
  await mutate.put_shape({ id, shape: besideAll(fresh(kind, x, y), live.shapes.values()) });
  canvas.select(id);
  canvas.focus(id);
}

for (const [id, act] of [['undo', undo], ['redo', redo]]) byId(id).addEventListener('click', () => past === null && act());
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches?.('input, textarea');
  const key = event.key.toLowerCase();
  if (isTyping || past !== null || !(event.ctrlKey || event.metaKey) || event.altKey || !['z', 'y'].includes(key)) return;
  event.preventDefault();
  if (key === 'y' || event.shiftKey) redo();
  else undo();
});

keepThisPage();

function undoable(what) {
  for (const [id, can] of Object.entries(what)) byId(id).disabled = !can;
}

/** Says what an undo left as it is, because somebody else changed it since. */
function kept(keys) {
  const names = keys.map((key) => (key === 'project' ? 'the name' : key.startsWith('shapes/') ? nameOf(key.slice(7)) : 'a comment'));
  text(byId('notice'), `Somebody else changed ${[...new Set(names)].join(', ')} since: that was kept.`);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => text(byId('notice'), ''), NOTICE_MS);
}

function nameOf(id) {
  return live.shapes.has(id) ? named(live.shapes.get(id)) : 'a shape';
}

/** The differences that Replicache found between what was seen and what is: keys of the client view. */
function changed(differences) {
  for (const { op, key, newValue } of differences) {
    const [part, id] = [key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1)];
    if (key === 'project') live.name = textOf(newValue?.name);
    else if (op === 'del') PARTS[part]?.delete(id);
    else PARTS[part]?.set(id, newValue);
  }
  draw();
}

function draw() {
  const view = past ?? live;
  if (document.activeElement !== name) name.value = view.name;
  name.readOnly = view.readOnly;
  byId('empty').hidden = view.shapes.size > 0 || view.readOnly;
  text(document.querySelector('title'), `${view.name || project} · Boards`);
  canvas.show(view);
  panel.show(view, selected);
}

let standing = { online: false, waiting: 0, version: null, gone: false };

/** After what it is about was drawn. */
const drawStanding = nextFrame(() => {
  const { online, waiting, version, gone } = standing;
  const kept = waiting === 1 ? ' · 1 edit kept here' : ` · ${waiting} edits kept here`;
  const state = gone ? 'gone' : !online ? 'offline' : version === null ? 'opening' : waiting ? 'saving' : 'saved';
  document.body.dataset.state = state;
  document.body.dataset.version = version ?? 0;
  const said = { saved: 'Saved', saving: 'Saving…', opening: 'Opening…', offline: `Offline${waiting ? kept : ''}` };
  said.gone = `This board is not there any more${waiting ? kept : ''}`;
  if (gone) for (const control of document.querySelectorAll('.tools button, #name')) control.disabled = true;
  text(byId('status'), said[state]);
  history.upTo(version);
});

function told(news) {
  standing = news;
  drawStanding();
}
