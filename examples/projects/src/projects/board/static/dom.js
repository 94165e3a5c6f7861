// Elements made by hand. A value from an item becomes text, or one of a few attributes checked beforehand (shapes.js);
// nothing here reads markup out of a text.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element: attributes by name, `on` for listeners by event, then its children; a text stays text. */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets only what differs, so that nothing that stays is drawn anew. */
export function attribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

export const byId = (id) => document.getElementById(id);

/** A function that runs once in the next frame, however often it is called before. */
export function nextFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

function filled(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) attribute(element, name, value);
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...children);
  return element;
}
