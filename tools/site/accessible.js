// The theme makes a landmark of each code block's buttons and of each level of the menu: they are none. What scrolls is
// reached by keys.
const NO_LANDMARKS = "nav.md-code__nav, nav.md-nav .md-nav";
const SCROLLS = ".md-typeset__scrollwrap, p:has(> img[src$='.svg'])";

function mend() {
  for (const nav of document.querySelectorAll(NO_LANDMARKS)) {
    nav.setAttribute("role", "none");
    for (const name of ["aria-label", "aria-labelledby", "aria-expanded"]) nav.removeAttribute(name);
  }
  for (const box of document.querySelectorAll(SCROLLS)) box.tabIndex = 0;
}

mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
