// A search goes on before one's eyes. The server renders the page, now and always: this script asks for it again while
// the search is active, takes over the parts that changed, and counts down what is due.
"use strict";

const EVERY_MS = 1000;
const live = document.getElementById("live");
let ahead = Date.parse(live.dataset.now) - Date.now();

function takeOver(fresh) {
  const old = new Map([...live.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
  const names = new Set();
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const there = old.get(part.dataset.part);
    names.add(part.dataset.part);
    if (there && there.dataset.source === part.outerHTML) continue;
    if (there && there.querySelector(".problem")) continue; // a refused form, with what was typed
    part.dataset.source = part.outerHTML;
    part.classList.toggle("fresh", Boolean(there && there.dataset.source));
    if (there) there.replaceWith(part);
  }
  for (const [name, part] of old) if (!names.has(name)) part.remove();
  live.dataset.status = fresh.dataset.status;
  ahead = Date.parse(fresh.dataset.now) - Date.now();
}

function countDown() {
  for (const time of live.querySelectorAll("[data-until]")) {
    const seconds = Math.max(0, Math.round((Date.parse(time.dataset.until) - Date.now() - ahead) / 1000));
    const text = seconds >= 60 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${seconds} s`;
    time.textContent = seconds > 0 ? `in ${text}` : "now";
  }
}

async function look() {
  const answer = await fetch(live.dataset.path, { headers: { Accept: "text/html" } });
  if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live"));
}

async function watch() {
  while (live.dataset.status === "active") {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    try {
      if (!document.hidden) await look();
      live.classList.remove("lost");
    } catch {
      live.classList.add("lost"); // the next look may find the server again
    }
    countDown();
  }
}

// What the page was loaded with is what the next look is compared to.
for (const part of live.querySelectorAll("[data-part]")) part.dataset.source = part.outerHTML;
countDown();
watch();
