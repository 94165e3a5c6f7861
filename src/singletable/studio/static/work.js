// The live page: while it is on, each event replaces what has changed. It ends when it is switched off, or left.
const live = document.querySelector("[data-live]"), work = document.querySelector("[data-work]");
if (live && work) start();

function start() {
  const toggle = live.querySelector("[data-toggle]"), every = live.querySelector("[data-every]"), told = live.querySelector("[data-told]");
  let source = null;
  live.hidden = false;

  function stop(said) {
    source?.close();
    source = null;
    toggle.setAttribute("aria-pressed", "false");
    if (said) told.textContent = said;
  }

  function begin() {
    const address = new URL(live.dataset.events, location.href);
    address.searchParams.set("every", every.value);
    source = new EventSource(address);
    toggle.setAttribute("aria-pressed", "true");
    told.textContent = "Reading…";
    source.onmessage = (event) => show(JSON.parse(event.data));
    source.onerror = () => stop("The connection ended. Switch it on again.");
  }

  function show(event) {
    const fresh = new DOMParser().parseFromString(event.html, "text/html").body;
    replace(work, fresh);
    const total = event.total, units = Math.round(total.read_units * 10) / 10;
    const spent = `${total.requests} requests and ${units} read units so far, ${event.cost.requests} and ${Math.round(event.cost.read_units * 10) / 10} for each reading.`;
    told.textContent = spent;
    if (event.is_over) stop(`It stopped by itself: ${spent}`);
  }

  toggle.addEventListener("click", () => (source ? stop("It is off.") : begin()));
  every.addEventListener("change", () => {
    if (!source) return;
    stop();
    begin();
  });
  addEventListener("pagehide", () => stop());
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && source) stop("It is off: the page was out of sight.");
  });
}

/** Replaces the parts that differ; what has the focus keeps it. */
function replace(old, fresh) {
  const olds = [...old.children], news = [...fresh.children];
  if (olds.length !== news.length) {
    old.replaceChildren(...news);
    return;
  }
  olds.forEach((child, number) => {
    const other = news[number];
    if (child.isEqualNode(other)) return;
    if (child.contains(document.activeElement) && child.children.length) replace(child, other);
    else child.replaceWith(other);
  });
}
