// A shape and a comment as they are stored, made fit to show. Whoever may write may store any JSON object, so every value
// is checked here, once, for the board, the panel and the history alike.

export const KINDS = ['rect', 'ellipse', 'note'];
export const COLOURS = ['slate', 'blue', 'teal', 'green', 'amber', 'rose', 'violet'];
/** Colours by other names, as programs and people write them. */
const ALSO = {
  yellow: 'amber', gold: 'amber', orange: 'amber', red: 'rose', pink: 'rose', purple: 'violet', magenta: 'violet', indigo: 'violet',
  cyan: 'teal', aqua: 'teal', turquoise: 'teal', lime: 'green', navy: 'blue', grey: 'slate', gray: 'slate', white: 'slate', black: 'slate',
};
const NAMES = { rect: 'Rectangle', ellipse: 'Ellipse', note: 'Note' };
const SIZES = { rect: [180, 110], ellipse: [170, 120], note: [170, 150] };
const FAR = 20_000;
const SMALLEST = 12;
const LARGEST = 4_000;
const LONGEST = 4_000;
const GAP = 12;
const STRIDE = 32;
const RINGS = 24;

/** What is drawn for a stored value: a kind and a colour of ours, finite numbers, and a text. */
export function drawn(value) {
  const given = isObject(value) ? value : {};
  const kind = KINDS.includes(given.kind) ? given.kind : 'rect';
  const [width, height] = SIZES[kind];
  return {
    kind,
    x: within(given.x, -FAR, FAR, 0),
    y: within(given.y, -FAR, FAR, 0),
    width: within(given.width, SMALLEST, LARGEST, width),
    height: within(given.height, SMALLEST, LARGEST, height),
    colour: colourOf(given.colour),
    text: textOf(given.text),
    isPrivate: isPrivate(given),
  };
}

/** Whether an item is its user's alone: others are not sent it. */
export const isPrivate = (value) => isObject(value) && typeof value.only === 'string';

/** A point on the board, or null for what is none. */
export function place(value) {
  if (!isObject(value) || !Number.isFinite(value.x) || !Number.isFinite(value.y)) return null;
  return { x: within(value.x, -FAR, FAR, 0), y: within(value.y, -FAR, FAR, 0) };
}

/** One of our colours: the one that is named, or the nearest to it; the first for what is not a name of a colour. */
function colourOf(said) {
  const name = typeof said === 'string' ? said.trim().toLowerCase() : '';
  if (COLOURS.includes(name)) return name;
  return Object.hasOwn(ALSO, name) ? ALSO[name] : COLOURS[0];
}

/** A new shape of a kind, its middle at a point. */
export function fresh(kind, x, y) {
  const [width, height] = SIZES[kind];
  const colour = { rect: 'blue', ellipse: 'teal', note: 'amber' }[kind];
  return { kind, x: Math.round(x - width / 2), y: Math.round(y - height / 2), width, height, colour, text: '' };
}

/** A shape where it covers none of the others, as near to its own place as there is one. */
export function besideAll(shape, others) {
  const taken = [...others].map(drawn);
  const isBeside = (from, length, one, its) => from >= one + its + GAP || from + length + GAP <= one;
  const isFree = ({ x, y }) =>
    taken.every((one) => isBeside(x, shape.width, one.x, one.width) || isBeside(y, shape.height, one.y, one.height));
  for (let ring = 0; ring <= RINGS; ring += 1) {
    for (const [right, down] of ringOf(ring)) {
      const place = { x: shape.x + right * STRIDE, y: shape.y + down * STRIDE };
      if (place.x >= GAP && place.y >= GAP && isFree(place)) return { ...shape, ...place };
    }
  }
  return shape;
}

/** The places of a square around the middle, the nearest rings first. */
function ringOf(ring) {
  const line = Array.from({ length: 2 * ring + 1 }, (_, i) => i - ring);
  return line.flatMap((down) => line.filter((right) => Math.max(Math.abs(right), Math.abs(down)) === ring).map((right) => [right, down]));
}

/** "Note “Call the bank”": how a shape is named where it can't be seen. */
export function named(value) {
  const { kind, text } = drawn(value);
  const line = text.trim().split('\n', 1)[0];
  return line ? `${NAMES[kind]} “${line.length > 40 ? `${line.slice(0, 39)}…` : line}”` : NAMES[kind];
}

/** What is shown of a comment, which may be its text alone: its texts, and the shape that it is about, or null. */
export function spoken(value) {
  const given = isObject(value) ? value : { text: value };
  const shape = typeof given.shape === 'string' ? given.shape : null;
  return { text: textOf(given.text), author: textOf(given.author), time: textOf(given.time), shape };
}

export const isObject = (value) => value !== null && typeof value === 'object';

export function textOf(value) {
  return typeof value === 'string' ? value.slice(0, LONGEST) : '';
}

/** An id whose texts sort by time: what is made later lies on top, in every browser. */
export function newId() {
  const random = crypto.getRandomValues(new Uint8Array(6));
  return `${Date.now().toString(36).padStart(9, '0')}-${Array.from(random, (byte) => byte.toString(36)).join('')}`;
}

function within(value, least, most, otherwise) {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : otherwise;
}
