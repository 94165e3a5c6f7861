// The picture of a node and its neighbours. It is drawn from the tables of the page, and grows by their twins in JSON.
import { arrange } from "./layout.js";
import { element, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg", FONT = 12.5, LINE_FONT = 10.5;
const MOST_LETTERS = innerWidth < 500 ? 12 : 24;
const figure = document.querySelector("[data-picture]");
if (figure) start(figure);

function start(figure) {
  const graph = { points: new Map(), lines: new Map(), selected: null };
  const centre = figure.dataset;
  add(graph, { key: centre.key, label: centre.label, kind: centre.kind, colour: centre.colour, state: centre.state }, null);
  graph.points.get(centre.key).isCentre = graph.points.get(centre.key).isExpanded = true;
  for (const row of document.querySelectorAll("[data-edge]")) join(graph, row.dataset);
  const told = { panel: figure.querySelector("[data-panel]"), status: figure.querySelector("[data-status]") };
  const board = figure.querySelector("[data-board]");
  const show = () => draw(board, graph, (point) => select(graph, point, told, show));
  told.panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") board.querySelector(".point.is-selected")?.focus();
  });
  figure.hidden = false;
  show();
  let width = board.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(board.clientWidth - width) > 40) {
      width = board.clientWidth;
      show();
    }
  }).observe(board);
}

/** A row of the page, or of its twin, as a line between two points. */
function join(graph, edge) {
  const own = edge.node, isOut = edge.direction === "out";
  const other = add(graph, { key: edge.key, label: edge.label, kind: edge.kind, colour: edge.colour, state: edge.state }, own);
  const [from, to] = isOut ? [own, other.key] : [other.key, own];
  const line = graph.lines.get(`${from}\n${to}`) ?? { from, to, types: new Map() };
  const known = line.types.get(edge.edge);
  line.types.set(edge.edge, !known || known === "unknown" ? edge.kept : known);
  graph.lines.set(`${from}\n${to}`, line);
}

function add(graph, given, from) {
  const key = given.key || `hidden ${graph.points.size}`;
  const known = graph.points.get(key);
  if (known) return known;
  const label = visible(given.label), short = [...label].length > MOST_LETTERS ? `${[...label].slice(0, MOST_LETTERS - 1).join("")}…` : label;
  const point = { ...given, key, isOpen: Boolean(given.key), label, short, from: from ? graph.points.get(from) : null };
  point.width = Math.max(40, [...short].length * FONT * 0.56 + 14);
  point.height = 42;
  graph.points.set(key, point);
  return point;
}

// --- drawing ---------------------------------------------------------------------------------------------------------
function draw(board, graph, select) {
  const points = [...graph.points.values()], lines = [...graph.lines.values()];
  const width = board.clientWidth || 800;
  arrange(points, lines.map((line) => [graph.points.get(line.from), graph.points.get(line.to)]), width);
  const box = boxOf(points), picture = svg("svg", { viewBox: box.join(" "), role: "group", "aria-label": "Picture of the neighbours" });
  const scale = Math.min(1.25, Math.max(0.75, width / box[2]));
  picture.setAttribute("width", Math.round(box[2] * scale));
  picture.setAttribute("height", Math.round(box[3] * scale));
  picture.append(arrowhead());
  const texts = [];
  for (const line of lines) picture.append(drawLine(graph, line, lines.length, texts));
  for (const point of points) picture.append(drawPoint(graph, point, select));
  const stop = board.querySelector(".point[tabindex='0']")?.dataset.key, hasFocus = board.contains(document.activeElement);
  board.replaceChildren(picture);
  const centre = points.find((point) => point.isCentre);
  board.scrollLeft = (centre.x - box[0]) * scale - width / 2;
  board.scrollTop = (centre.y - box[1]) * scale - board.clientHeight / 2;
  const move = rove(picture, graph);
  if (stop) move(stop);
  if (hasFocus) picture.querySelector(".point[tabindex='0']").focus({ preventScroll: true });
}

function boxOf(points) {
  const left = Math.min(...points.map((p) => p.x - p.width / 2)) - 12, right = Math.max(...points.map((p) => p.x + p.width / 2)) + 12;
  const top = Math.min(...points.map((p) => p.y)) - 24, bottom = Math.max(...points.map((p) => p.y)) + 40;
  return [left, top, right - left, bottom - top].map(Math.round);
}

function drawLine(graph, line, count, texts) {
  const from = graph.points.get(line.from), to = graph.points.get(line.to);
  const isBoth = graph.lines.has(`${line.to}\n${line.from}`);
  const dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy) || 1;
  const bend = isBoth ? 20 : 0, x = (from.x + to.x) / 2 - (dy / far) * bend, y = (from.y + to.y) / 2 + (dx / far) * bend;
  const endX = to.x - ((to.x - x) / Math.hypot(to.x - x, to.y - y)) * 11, endY = to.y - ((to.y - y) / Math.hypot(to.x - x, to.y - y)) * 11;
  const states = new Set(line.types.values());
  const made = svg("g", { class: `line ${states.has("missing") || states.has("gone") ? "wrong" : ""}` });
  made.append(svg("path", { d: `M${from.x},${from.y} Q${x},${y} ${endX || to.x},${endY || to.y}`, "marker-end": "url(#arrow)" }));
  const names = [...line.types.keys()].map(visible);
  made.append(svg("title", {}, names.join(", ")));
  if (count <= 18 && far > 110) {
    const [near, other] = from.isCentre || !to.isCentre ? [from, to] : [to, from];
    const text = names.length > 1 ? `${names[0]} +${names.length - 1}` : names[0], half = [...text].length * LINE_FONT * 0.28;
    const along = (t, a, b, c) => (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * c;
    const places = [0.6, 0.52, 0.44, 0.68, 0.76].map((t) => ({ x: along(t, near.x, x, other.x), y: along(t, near.y, y, other.y) + 3 }));
    const place = places.find((each) => isFree(graph, each, half, texts)) ?? places[0];
    texts.push({ ...place, half });
    made.append(svg("text", { ...place, class: "of-line" }, text));
  }
  return made;
}

/** Whether a text of this half width meets no point, no point's label, and no other line's text. */
function isFree(graph, { x, y }, half, texts) {
  if (texts.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < LINE_FONT)) return false;
  return [...graph.points.values()].every((point) => {
    const isBeside = Math.abs(point.x - x) > half + point.width / 2, isAbove = y < point.y - 10 || y - LINE_FONT > point.y + 26;
    return isBeside || isAbove;
  });
}

function drawPoint(graph, point, select) {
  const state = point.state === "there" ? "" : ` is-${point.state}`;
  const made = svg("g", {
    class: `point ${point.colour}${state}${point.isCentre ? " is-centre" : ""}${graph.selected === point.key ? " is-selected" : ""}`,
    transform: `translate(${Math.round(point.x)},${Math.round(point.y)})`, role: "button", tabindex: point.isCentre ? "0" : "-1",
    "aria-label": `${visible(point.kind)} ${point.short}${state ? `, ${point.state}` : ""}`, "data-key": point.key,
  });
  made.append(svg("circle", { r: point.isCentre ? 9 : 7 }), svg("title", {}, `${visible(point.kind)} ${point.label}`));
  if (point.isExpanded && !point.isCentre) made.append(svg("circle", { r: 11, class: "ring" }));
  made.append(svg("text", { y: 22, "aria-hidden": "true" }, point.short));
  made.addEventListener("click", () => select(point));
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(point);
    }
  });
  return made;
}

/** One stop of the tabulator, at first the centre; the arrows go to the nearest point in their direction. Returns what
    moves the stop. */
function rove(picture, graph) {
  const elements = new Map([...picture.querySelectorAll(".point")].map((each) => [each.dataset.key, each]));
  const move = (key) => {
    picture.querySelector(".point[tabindex='0']").setAttribute("tabindex", "-1");
    elements.get(key).setAttribute("tabindex", "0");
    return elements.get(key);
  };
  picture.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const here = graph.points.get(event.target.dataset?.key);
    if (!way || !here) return;
    event.preventDefault();
    let best = null, least = Infinity;
    for (const point of graph.points.values()) {
      const along = (point.x - here.x) * way[0] + (point.y - here.y) * way[1];
      const across = Math.abs((point.x - here.x) * way[1]) + Math.abs((point.y - here.y) * way[0]);
      if (along > 1 && along + 2 * across < least) [best, least] = [point, along + 2 * across];
    }
    if (best) move(best.key).focus();
  });
  return move;
}

function arrowhead() {
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
  marker.append(svg("path", { d: "M0,0.5 L8,4 L0,7.5 z" }));
  const made = svg("defs", {});
  made.append(marker);
  return made;
}

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// --- a point that was chosen -----------------------------------------------------------------------------------------
function select(graph, point, told, show) {
  graph.selected = point.key;
  show();
  const name = element("span", { class: `kind ${point.colour}` }, visible(point.kind));
  const parts = [name, element("b", {}, point.label)];
  if (point.state !== "there") parts.push(element("span", { class: "tag warn" }, point.state));
  if (point.isOpen) {
    if (!point.isExpanded) parts.push(expander(graph, point, told, show));
    if (!point.isCentre) parts.push(element("a", { href: addressOf(point.key) }, "Open"));
  }
  told.panel.replaceChildren(...parts);
  (told.panel.querySelector("button, a") ?? told.panel).focus({ preventScroll: true });
}

function expander(graph, point, told, show) {
  const requests = JSON.parse(told.panel.dataset.costs)[point.kind];
  const made = element("button", { type: "button", class: "quiet" }, requests ? `Show its neighbours: ${requests} requests` : "Show its neighbours");
  made.addEventListener("click", async () => {
    made.disabled = true;
    told.status.textContent = "Reading…";
    try {
      const answer = await fetch(addressOf(point.key, ".json"), { headers: { accept: "application/json" } });
      const page = await answer.json();
      if (!answer.ok || !page.node) throw new Error(page.what ?? answer.status);
      const before = graph.points.size;
      grow(graph, point, page);
      point.isExpanded = true;
      const cost = page.cost, units = Math.round(cost.read_units * 10) / 10;
      told.status.textContent = `${graph.points.size - before} more nodes, by ${cost.requests} requests and ${units} read units.`;
      select(graph, point, told, show);
    } catch (error) {
      made.disabled = false;
      told.status.textContent = `That did not work: ${visible(String(error.message))}`;
    }
  });
  return made;
}

function grow(graph, point, page) {
  const body = document.querySelector("[data-expanded] tbody");
  const columns = [...body.parentElement.tHead.rows[0].cells].map((head) => head.textContent);
  document.querySelector("[data-expanded]").hidden = false;
  const found = [page.node.outgoing, ...Object.values(page.node.incoming)].flatMap((direction) => direction.edges);
  for (const edge of found) {
    const other = edge.other, colour = page.colours[other.kind] ?? "kx";
    join(graph, { node: point.key, direction: edge.direction, edge: edge.type, key: other.key, label: other.label, kind: other.kind, colour, state: other.state, kept: edge.kept });
    const link = other.key ? element("a", { href: addressOf(other.key) }, visible(other.label)) : visible(other.label);
    const ends = edge.direction === "out" ? [point.label, link] : [link, point.label];
    const cells = [ends[0], visible(edge.type), ends[1], edge.kept === "unknown" ? "" : edge.kept];
    body.append(element("tr", { role: "row" }, ...cells.map((cell, at) => element("td", { role: "cell", "data-column": columns[at] }, cell))));
  }
}

function addressOf(key, twin = "") {
  const made = new URL(location.href), personal = made.searchParams.get("personal");
  made.search = "";
  made.hash = "";
  made.pathname += twin;
  made.searchParams.set("node", key);
  if (personal) made.searchParams.set("personal", personal);
  return made.href;
}
