// The history: any version as it was, what differs between two, and a way back to one.

import { attribute, byId, html, text } from './dom.js';
import { moment } from './panel.js';
import { isObject, named, spoken, textOf } from './shapes.js';

const KINDS = { added: 'Added:', changed: 'Changed:', removed: 'Removed:' };
const SECONDS = { second: '2-digit' };

/** The slider and the list of differences. `show(view or null)` draws a past view on the board; null: back to now. */
export function makeHistory(api, show) {
  const [bar, opener, close] = ['history', 'history-open', 'history-close'].map(byId);
  const [slider, label, compare] = ['version', 'version-label', 'compare'].map(byId);
  const [base, baseLabel, baseRow] = ['base', 'base-label', 'base-row'].map(byId);
  const [changes, restore, trouble] = ['changes', 'restore', 'history-trouble'].map(byId);
  let newest = 0;
  let wanted = false;
  let asking = false;

  const isOpen = () => !bar.hidden;

  function setOpen(open) {
    bar.hidden = !open;
    attribute(opener, 'aria-expanded', open);
    if (!open) {
      byId('changes-box').hidden = true;
      show(null);
      opener.focus();
      return;
    }
    limits();
    slider.value = newest;
    slider.focus();
    refresh();
  }

  function limits() {
    slider.max = base.max = newest;
  }

  /** While one answer is awaited no other is asked for; then the one that the sliders are at by now. */
  async function refresh() {
    baseRow.hidden = !compare.checked;
    attribute(bar, 'data-shown', null);
    wanted = true;
    if (asking) return;
    asking = true;
    while (wanted && isOpen()) {
      wanted = false;
      await drawWanted();
    }
    asking = false;
  }

  async function drawWanted() {
    const [version, from] = [Number(slider.value), Number(base.value)];
    const two = () => [api.at(from), api.difference(from, version)];
    try {
      const found = await Promise.all([api.at(version), ...(compare.checked ? two() : [])]);
      if (isOpen()) drawAll(...found);
    } catch (error) {
      if (isOpen()) text(trouble, error.message);
    }
  }

  function drawAll(version, from, difference) {
    text(trouble, '');
    text(label, `Version ${version.version} of ${newest} · ${moment(version.time, SECONDS)}`);
    restore.disabled = version.version === newest;
    byId('changes-box').hidden = !difference;
    if (difference) {
      text(baseLabel, `version ${from.version} · ${moment(from.time, SECONDS)}`);
      changes.replaceChildren(...lines(difference));
    }
    show(pastView(version, difference));
    attribute(bar, 'data-shown', difference ? `${from.version}-${version.version}` : version.version);
  }

  async function goBack() {
    restore.disabled = true;
    try {
      await api.restore(Number(slider.value));
      setOpen(false);
    } catch (error) {
      text(trouble, error.message);
      restore.disabled = false;
    }
  }

  opener.addEventListener('click', () => setOpen(!isOpen()));
  close.addEventListener('click', () => setOpen(false));
  bar.addEventListener('keydown', (event) => event.key === 'Escape' && setOpen(false));
  slider.addEventListener('input', refresh);
  base.addEventListener('input', refresh);
  compare.addEventListener('change', () => {
    base.value = Math.max(0, Number(slider.value) - 1);
    refresh();
  });
  restore.addEventListener('click', goBack);

  let asked = Number(/^#version=(\d{1,12})$/.exec(location.hash)?.[1] ?? NaN); // a tag's link

  /** Opens the version that the address names, once there is one to open. */
  function openAsked() {
    if (!(asked <= newest) || isOpen()) return;
    const version = asked;
    asked = NaN;
    setOpen(true);
    slider.value = version;
    refresh();
  }

  return {
    /** The newest version there is; null before the server has said it. */
    upTo(version) {
      newest = version ?? 0;
      if (version !== null) openAsked();
      if (!isOpen()) return;
      limits();
      restore.disabled = Number(slider.value) === newest;
      label.textContent = label.textContent.replace(/of \d+/, `of ${newest}`);
    },
  };
}

/** What the board shows of a version; with a difference, what was added, changed and removed is marked. */
function pastView(version, difference) {
  const view = {
    name: textOf(version.name),
    shapes: new Map(Object.entries(version.shapes)),
    comments: new Map(Object.entries(version.comments)),
    marks: new Map(),
    before: new Map(),
    readOnly: true,
  };
  if (!difference) return view;
  for (const part of ['shapes', 'comments']) {
    for (const id of Object.keys(difference[part].added)) view.marks.set(id, 'added');
    for (const [id, { before }] of Object.entries(difference[part].changed)) {
      view.marks.set(id, 'changed');
      if (part === 'shapes') view.before.set(id, before);
    }
    for (const [id, value] of Object.entries(difference[part].removed)) {
      view.marks.set(id, 'removed');
      view[part].set(id, value);
    }
  }
  return view;
}

function lines({ scalars, shapes, comments }) {
  const found = [];
  const line = (kind, said, more = '') =>
    found.push(html('li', { class: kind }, html('p', {}, html('b', {}, KINDS[kind]), ` ${said}`), more && html('p', {}, more)));
  for (const [name, { before, after }] of Object.entries(scalars)) line('changed', name, `${shortly(before)} → ${shortly(after)}`);
  each(shapes, line, named);
  each(comments, line, (comment) => `Comment “${shortly(spoken(comment).text)}”`);
  return found.length ? found : [html('li', { class: 'same' }, 'Nothing differs.')];
}

function each({ added, changed, removed }, line, name) {
  for (const value of Object.values(added)) line('added', name(value));
  for (const { before, after } of Object.values(changed)) line('changed', name(after), fields(before, after));
  for (const value of Object.values(removed)) line('removed', name(value));
}

/** "x 10 → 30, text “a” → “b”": the fields of an item that differ. */
function fields(before, after) {
  if (!isObject(before) || !isObject(after)) return `${shortly(before)} → ${shortly(after)}`;
  const same = (name) => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !same(name));
  return names.map((name) => `${name} ${shortly(before[name])} → ${shortly(after[name])}`).join(', ');
}

function shortly(value) {
  const said = typeof value === 'string' ? value : value === undefined ? 'none' : JSON.stringify(value);
  return said.length > 60 ? `${said.slice(0, 59)}…` : said || '(empty)';
}
