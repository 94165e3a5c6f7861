// Where the points of a graph lie: forces first, then labels that overlap are pushed apart. No randomness: the same graph
// has the same picture.

const SPRING = 0.05, REPULSION = 26000, PULL = 0.006, FRICTION = 0.82;

/** Gives each point {x, y, width, height} a place. `lines` are pairs of points. Points with `isPlaced` keep near theirs. */
export function arrange(points, lines, width) {
  begin(points, width);
  const rounds = Math.max(60, Math.min(320, Math.round(60000 / Math.max(1, points.length))));
  const speed = points.map(() => ({ x: 0, y: 0 }));
  const at = new Map(points.map((point, number) => [point, number]));
  for (let round = 0; round < rounds; round++) {
    const heat = 1 - round / rounds;
    repel(points, speed);
    attract(lines, at, speed);
    for (let n = 0; n < points.length; n++) {
      const point = points[n], own = speed[n];
      own.x = (own.x - point.x * PULL * (width < 500 ? 1.4 : 0.5)) * FRICTION;
      own.y = (own.y - point.y * PULL) * FRICTION;
      if (point.isCentre) continue;
      const most = 24 * heat + 1, length = Math.hypot(own.x, own.y) || 1, part = Math.min(1, most / length);
      point.x += own.x * part;
      point.y += own.y * part;
    }
  }
  separate(points);
  for (const point of points) point.isPlaced = true;
}

/** New points begin around the one that they came with, in the order of their appearance. */
function begin(points, width) {
  const counts = new Map();
  points.forEach((point, number) => {
    if (point.isPlaced) return;
    const from = point.from;
    if (!from) {
      point.x = point.y = 0;
      return;
    }
    const before = counts.get(from) ?? 0;
    counts.set(from, before + 1);
    const turn = before * 2.39996 + number * 0.01, far = 90 + 9 * before;
    point.x = from.x + Math.cos(turn) * far * Math.min(1.6, width / 600);
    point.y = from.y + Math.sin(turn) * far;
  });
}

function repel(points, speed) {
  for (let n = 0; n < points.length; n++) {
    for (let m = n + 1; m < points.length; m++) {
      let dx = points[n].x - points[m].x, dy = (points[n].y - points[m].y) * 1.5;
      if (dx === 0 && dy === 0) dx = 0.1 * (n - m);
      const square = Math.max(64, dx * dx + dy * dy);
      const force = REPULSION / (square * Math.sqrt(square));
      speed[n].x += dx * force;
      speed[n].y += dy * force;
      speed[m].x -= dx * force;
      speed[m].y -= dy * force;
    }
  }
}

function attract(lines, at, speed) {
  for (const [one, other] of lines) {
    const dx = other.x - one.x, dy = other.y - one.y, far = Math.hypot(dx, dy) || 1;
    const rest = 95 + (one.width + other.width) / 2.6, force = SPRING * (far - rest) / far;
    const a = speed[at.get(one)], b = speed[at.get(other)];
    a.x += dx * force;
    a.y += dy * force;
    b.x -= dx * force;
    b.y -= dy * force;
  }
}

/** Points whose labels overlap go apart by the shorter way. */
function separate(points) {
  for (let round = 0; round < 80; round++) {
    let isMoved = false;
    for (let n = 0; n < points.length; n++) {
      for (let m = n + 1; m < points.length; m++) {
        const one = points[n], other = points[m];
        const dx = other.x - one.x, dy = other.y - one.y;
        const x = (one.width + other.width) / 2 + 10 - Math.abs(dx);
        const y = (one.height + other.height) / 2 + 8 - Math.abs(dy);
        if (x <= 0 || y <= 0) continue;
        isMoved = true;
        if (x < y) shift(one, other, (dx < 0 ? -x : x) / 2, 0);
        else shift(one, other, 0, (dy < 0 ? -y : y) / 2);
      }
    }
    if (!isMoved) return;
  }
}

function shift(one, other, x, y) {
  const part = one.isCentre || other.isCentre ? 2 : 1;
  if (!one.isCentre) {
    one.x -= x * part;
    one.y -= y * part;
  }
  if (!other.isCentre) {
    other.x += x * part;
    other.y += y * part;
  }
}
