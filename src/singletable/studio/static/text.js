// Text that others wrote, as the pages show it: what would hide, turn or steer text is shown as what it is.
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return text.replace(OBEYED, (found) => {
    const code = found.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** An element with text in it, and attributes. */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
