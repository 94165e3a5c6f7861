// The second end of a range is there for `between` alone.
for (const how of document.querySelectorAll("[data-how]")) {
  const to = document.querySelector(`[data-to="${CSS.escape(how.dataset.how)}"]`);
  const follow = () => { to.hidden = how.value !== "between"; };
  how.addEventListener("change", follow);
  follow();
}
