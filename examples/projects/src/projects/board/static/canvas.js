// The board itself: shapes as SVG, moved by pointer or arrow keys. What it draws comes in whole, as a map of id to
// stored value; what a person does goes out as calls.

import { attribute, html, nextFrame, svg, text } from './dom.js';
import { drawn, named } from './shapes.js';

const MARGIN = 60;
const STEP = 10;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Draws into an <svg>. `does` is told {selected(id or null), moved(id, x, y), removed(id), opened(id), pointed(x, y)}.
 * A gesture is one move, told at its end: a version of the project is a thing a person did.
 */
export function makeCanvas(root, does) {
  const groups = new Map(); // id -> {group, value}
  const ghosts = svg('g', { class: 'ghosts' });
  const layer = svg('g');
  const cursors = svg('g', { class: 'cursors', 'aria-hidden': true });
  root.append(ghosts, layer, cursors);

  let view = { shapes: new Map(), marks: new Map(), before: new Map(), readOnly: false };
  let selected = null;
  let isFirst = true; // nothing was drawn yet
  let gesture = null; // {id, x, y, ...}: where a shape is while it is being moved

  const draw = nextFrame(() => {
    for (const [id, { group }] of groups) {
      if (!view.shapes.has(id)) {
        group.remove();
        groups.delete(id);
      }
    }
    let last = null;
    for (const id of [...view.shapes.keys()].sort()) {
      const group = groupOf(id);
      const after = last === null ? layer.firstChild : last.nextSibling;
      if (after !== group) layer.insertBefore(group, after);
      last = group;
    }
    ghosts.replaceChildren(...[...view.before.values()].map((value) => body(placed(svg('g', { class: 'ghost' }), drawn(value)), drawn(value))));
    fit();
    if (isFirst && view.shapes.size > 0) {
      isFirst = false;
      bringIntoSight();
    }
  });

  function groupOf(id) {
    const value = view.shapes.get(id);
    let known = groups.get(id);
    if (!known) {
      known = { group: svg('g', { tabindex: 0, role: 'button' }), value: undefined };
      known.group.dataset.id = id;
      groups.set(id, known);
    }
    const { group } = known;
    const shape = at(id, value);
    if (known.value !== value) {
      group.replaceChildren();
      body(group, shape);
      known.value = value;
    }
    placed(group, shape);
    const mark = view.marks.get(id) ?? '';
    attribute(group, 'class', ['shape', id === selected && 'selected', shape.isPrivate && 'private', mark].filter(Boolean).join(' '));
    attribute(group, 'aria-label', `${named(value)}${shape.isPrivate ? ', only for me' : ''}${mark && `, ${mark}`}`);
    attribute(group, 'aria-pressed', id === selected);
    return group;
  }

  function at(id, value) {
    const shape = drawn(value);
    return gesture?.id === id ? { ...shape, x: gesture.x, y: gesture.y } : shape;
  }

  /** As large as what lies on it, and never smaller than its frame. */
  function fit() {
    const frame = root.parentElement;
    let [left, top, right, bottom] = [0, 0, frame.clientWidth, frame.clientHeight];
    for (const value of [...view.shapes.values(), ...view.before.values()]) {
      const shape = drawn(value);
      left = Math.min(left, shape.x - MARGIN);
      top = Math.min(top, shape.y - MARGIN);
      right = Math.max(right, shape.x + shape.width + MARGIN);
      bottom = Math.max(bottom, shape.y + shape.height + MARGIN);
    }
    attribute(root, 'viewBox', `${left} ${top} ${right - left} ${bottom - top}`);
    attribute(root, 'width', right - left);
    attribute(root, 'height', bottom - top);
  }

  /** What was drawn on a wide screen can lie beside a narrow one: then the first of it is scrolled to. */
  function bringIntoSight() {
    const frame = root.parentElement;
    const { x: left, y: top } = root.viewBox.baseVal;
    const shapes = [...view.shapes.values()].map(drawn);
    const [right, bottom] = [left + frame.clientWidth, top + frame.clientHeight];
    const isSeen = ({ x, y, width, height }) => x < right && y < bottom && x + width > left && y + height > top;
    if (shapes.some(isSeen)) return;
    const [first] = shapes.sort((one, other) => one.x + one.y - other.x - other.y);
    frame.scrollTo(first.x - left - MARGIN / 2, first.y - top - MARGIN / 2);
  }

  function select(id) {
    if (id === selected) return;
    selected = id;
    draw();
    does.selected(id);
  }

  function move(id, x, y) {
    const known = gesture?.id === id && !gesture.ended ? gesture : {};
    gesture = { ...known, id, x: Math.round(x), y: Math.round(y), moved: true };
    draw();
  }

  /** Ends a gesture. Its shape stays where it was put until that is what is seen, so a next key goes on from there. */
  async function finish(tell) {
    if (!gesture || gesture.ended) return;
    const mine = gesture;
    mine.ended = true;
    if (tell && mine.moved && view.shapes.has(mine.id)) await does.moved(mine.id, mine.x, mine.y);
    if (gesture !== mine) return;
    gesture = null;
    draw();
  }

  const idOf = (event) => event.target.closest?.('.shape')?.dataset.id ?? null;

  root.addEventListener('pointerdown', (event) => {
    const id = idOf(event);
    select(id);
    if (id === null || view.readOnly || event.button !== 0) return;
    const { x, y } = drawn(view.shapes.get(id));
    gesture = { id, x, y, pointer: event.pointerId, from: [x - event.clientX, y - event.clientY], moved: false };
    groups.get(id).group.setPointerCapture(event.pointerId);
  });
  root.addEventListener('pointermove', (event) => {
    if (gesture?.pointer !== event.pointerId || gesture.ended) return;
    const [x, y] = [event.clientX + gesture.from[0], event.clientY + gesture.from[1]];
    if (gesture.moved || Math.hypot(x - gesture.x, y - gesture.y) > 3) move(gesture.id, Math.max(0, x), Math.max(0, y));
  });
  root.addEventListener('pointermove', (event) => {
    const [box, { x, y }] = [root.getBoundingClientRect(), root.viewBox.baseVal];
    does.pointed(event.clientX - box.left + x, event.clientY - box.top + y);
  });
  root.addEventListener('pointerleave', () => does.pointed(null));
  root.addEventListener('pointerup', (event) => gesture?.pointer === event.pointerId && finish(true));
  root.addEventListener('pointercancel', () => finish(false));
  root.addEventListener('dblclick', (event) => idOf(event) !== null && does.opened(idOf(event)));

  root.addEventListener('focusin', (event) => idOf(event) !== null && select(idOf(event)));
  root.addEventListener('keydown', (event) => {
    const id = idOf(event);
    if (event.key === 'Escape') {
      finish(false);
      select(null);
    }
    if (id === null) return;
    if (event.key === 'Enter') does.opened(id);
    else if (view.readOnly) return;
    else if (event.key === 'Delete' || event.key === 'Backspace') does.removed(id);
    else if (event.key in ARROWS) {
      const { x, y } = at(id, view.shapes.get(id));
      const [right, down] = ARROWS[event.key].map((way) => way * (event.shiftKey ? 1 : STEP));
      move(id, Math.max(0, x + right), Math.max(0, y + down));
    } else return;
    event.preventDefault();
  });
  root.addEventListener('keyup', (event) => event.key in ARROWS && finish(true));
  root.addEventListener('focusout', () => gesture && gesture.pointer === undefined && finish(true));
  new ResizeObserver(draw).observe(root.parentElement);

  return {
    show(next) {
      view = next;
      if (selected !== null && !view.shapes.has(selected)) select(null);
      if (view.readOnly) finish(false);
      draw();
    },
    select,
    /** Where the cursors of others are drawn. */
    cursors,
    /** Puts the keyboard on a shape once it is drawn. */
    focus: (id) => requestAnimationFrame(() => groups.get(id)?.group.focus()),
    /** The middle of what is seen. */
    middle() {
      const frame = root.parentElement;
      const { x, y } = root.viewBox.baseVal;
      return [x + frame.scrollLeft + frame.clientWidth / 2, y + frame.scrollTop + frame.clientHeight / 2];
    },
  };
}

function placed(group, { x, y }) {
  attribute(group, 'transform', `translate(${x} ${y})`);
  return group;
}

function body(group, { kind, width, height, colour, text: words }) {
  const outline =
    kind === 'ellipse'
      ? svg('ellipse', { cx: width / 2, cy: height / 2, rx: width / 2, ry: height / 2 })
      : svg('rect', { width, height, rx: kind === 'note' ? 3 : 10 });
  attribute(outline, 'class', `${kind} ${colour}`);
  const label = html('div', { class: `label ${kind}` }, html('span'));
  text(label.firstChild, words);
  group.append(outline, svg('foreignObject', { width, height }, label));
  return group;
}
