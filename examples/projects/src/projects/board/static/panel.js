// Beside the board: the selected shape's text and colour, and the comments on it, or on the whole board.

import { byId, html, text } from './dom.js';
import { COLOURS, drawn, isPrivate, named, newId, spoken } from './shapes.js';

/** Fills the panel. `does` is told {changed(id, shape), removed(id), commented(id, comment), uncommented(id), left()}. */
export function makePanel(user, does) {
  const [shapeBox, title, words, colours] = ['shape-box', 'shape-title', 'shape-text', 'shape-colours'].map(byId);
  const only = byId('shape-only'); // missing in the demo, where all are one user
  const [list, about, form, said] = ['comments', 'comments-about', 'comment-form', 'comment-text'].map(byId);
  let view = { shapes: new Map(), comments: new Map(), marks: new Map(), readOnly: false };
  let selected = null;

  for (const colour of COLOURS) {
    const press = () => change({ colour });
    colours.append(html('button', { type: 'button', class: `swatch ${colour}`, 'aria-label': colour, on: { click: press } }));
  }

  const change = (news) => selected !== null && does.changed(selected, { ...view.shapes.get(selected), ...news });
  words.addEventListener('change', () => change({ text: words.value }));
  words.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' && !(event.key === 'Enter' && (event.ctrlKey || event.metaKey))) return;
    words.blur();
    does.left(selected);
  });
  only?.addEventListener('change', () => {
    const { only: _, ...shared } = view.shapes.get(selected);
    does.changed(selected, only.checked ? { ...shared, only: user } : shared);
  });
  byId('shape-delete').addEventListener('click', () => does.removed(selected));

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = said.value.trim();
    if (!given) return;
    const own = selected !== null && isPrivate(view.shapes.get(selected)) ? { only: user } : {};
    does.commented(newId(), { text: given, author: user, shape: selected, time: new Date().toISOString(), ...own });
    said.value = '';
  });

  function draw() {
    const value = selected === null ? undefined : view.shapes.get(selected);
    shapeBox.hidden = value === undefined;
    if (value !== undefined) {
      const shape = drawn(value);
      text(title, named({ ...value, text: '' }));
      if (document.activeElement !== words) words.value = shape.text;
      if (only) only.checked = shape.isPrivate;
      for (const swatch of colours.children) swatch.setAttribute('aria-pressed', swatch.classList.contains(shape.colour));
    }
    for (const control of [words, byId('shape-delete'), ...(only ? [only] : []), said, ...form.elements, ...colours.children]) control.disabled = view.readOnly;
    drawComments();
  }

  function drawComments() {
    const found = [...view.comments]
      .map(([id, comment]) => [id, spoken(comment)])
      .filter(([, comment]) => selected === null || comment.shape === selected)
      .sort(([a, x], [b, y]) => (x.time + a < y.time + b ? -1 : 1));
    text(about, selected === null ? 'Comments' : 'Comments on it');
    byId('no-comments').hidden = found.length > 0;
    list.replaceChildren(...found.map(([id, comment]) => commentRow(id, comment)));
  }

  function commentRow(id, comment) {
    const row = html(
      'li',
      { class: `comment ${view.marks.get(id) ?? ''}` },
      html('p', { class: 'by' }, html('b', {}, comment.author || 'somebody'), ` ${moment(comment.time)}`),
      html('p', { class: 'said' }, comment.text),
    );
    row.dataset.id = id;
    if (selected === null && comment.shape !== null) row.append(onWhat(comment.shape));
    if (!view.readOnly) {
      const gone = () => does.uncommented(id);
      row.append(html('button', { type: 'button', class: 'gone', 'aria-label': 'Delete comment', on: { click: gone } }, '×'));
    }
    return row;
  }

  function onWhat(id) {
    const shape = view.shapes.get(id);
    if (shape === undefined) return html('p', { class: 'on' }, 'on a shape that is gone');
    return html('button', { type: 'button', class: 'on', on: { click: () => does.found(id) } }, `on ${named(shape)}`);
  }

  return {
    show(next, id) {
      if (id !== selected && document.activeElement === words) words.blur();
      view = next;
      selected = id;
      draw();
    },
    write: () => words.focus(),
  };
}

/** "20 Nov, 14:27", as the reader's language has it; nothing for what is not a time. */
export function moment(time, more = {}) {
  const date = new Date(typeof time === 'number' || typeof time === 'string' ? time : NaN);
  if (Number.isNaN(date.getTime())) return '';
  return date.toLocaleString(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', ...more });
}
