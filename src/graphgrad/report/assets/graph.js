// The graph: arrows that show their terms, nodes that can be moved.

const BENDS = [0.22, 0.1, 0.35, -0.14, -0.28, -0.42, 0.5];
const SAMPLES = 120;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function bow(a, b, bend) {
  const middle = {
    x: (a.x + b.x) / 2 + bend * (b.y - a.y),
    y: (a.y + b.y) / 2 - bend * (b.x - a.x),
  };
  const points = [];
  for (let k = 0; k <= SAMPLES; k += 1) {
    const t = k / SAMPLES;
    const [p, q, r] = [(1 - t) ** 2, 2 * (1 - t) * t, t ** 2];
    points.push({
      x: p * a.x + q * middle.x + r * b.x, y: p * a.y + q * middle.y + r * b.y,
    });
  }
  return points;
}

const LOOP = 2.9; // how far a loop reaches, in radii of its node

// A loop on the side facing away from the centre, or towards it at the border.
function loop(a, { centre, width, height }, radius) {
  let [dx, dy] = [a.x - centre.x, a.y - centre.y];
  const size = Math.hypot(dx, dy);
  [dx, dy] = size < 1e-6 ? [0, -1] : [dx / size, dy / size];
  const [tipX, tipY] = [a.x + LOOP * radius * dx, a.y + LOOP * radius * dy];
  if (tipX < 0 || tipY < 0 || tipX > width || tipY > height) [dx, dy] = [-dx, -dy];
  const far = 3.6 * radius;
  const first = { x: a.x + far * (dx - 0.7 * dy), y: a.y + far * (dy + 0.7 * dx) };
  const second = { x: a.x + far * (dx + 0.7 * dy), y: a.y + far * (dy - 0.7 * dx) };
  const points = [];
  for (let k = 0; k <= SAMPLES; k += 1) {
    const t = k / SAMPLES;
    const [p, q, r] = [(1 - t) ** 3 + t ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2];
    points.push({
      x: p * a.x + q * first.x + r * second.x, y: p * a.y + q * first.y + r * second.y,
    });
  }
  return points;
}

const far = (p, q) => Math.hypot(p.x - q.x, p.y - q.y);

// A curve between node borders that avoids other nodes, if there is one.
function route(edge, places, radius, room) {
  const [a, b] = [places[edge.source], places[edge.target]];
  let points = null;
  if (edge.source === edge.target) {
    points = loop(a, room, radius);
  } else {
    const others = places.filter((_, i) => i !== edge.source && i !== edge.target);
    let best = -1;
    for (const bend of BENDS) {
      const tried = bow(a, b, bend);
      let gap = 1.4 * radius;
      for (const o of others) {
        for (let k = 0; k <= SAMPLES; k += 4) gap = Math.min(gap, far(tried[k], o));
      }
      if (gap > best) [best, points] = [gap, tried];
      if (best >= 1.4 * radius) break;
    }
  }
  const free = points.filter((p) => far(p, a) >= radius && far(p, b) >= radius + 3);
  return free.length > 1 ? free : points.slice(SAMPLES / 2 - 5, SAMPLES / 2 + 5);
}

// The line of an arrow and its head; the line ends inside the head.
function shaped(points, width) {
  const tip = points[points.length - 1];
  const size = 4.5 + 2.4 * width;
  let k = points.length - 1;
  while (k > 1 && far(points[k], tip) < size) k -= 1;
  const angle = Math.atan2(tip.y - points[k].y, tip.x - points[k].x);
  const back = (length, turn) => `${(tip.x - length * Math.cos(angle + turn)).toFixed(1)} ${
    (tip.y - length * Math.sin(angle + turn)).toFixed(1)}`;
  const body = points.slice(0, k + 1).map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`);
  return {
    body: `M${body.join("L")}L${back(0.7 * size, 0)}`,
    head: `M${back(0, 0)}L${back(size, 0.42)}L${back(size, -0.42)}Z`,
  };
}

// Names that fit: cut at the end, or in the middle where that makes two alike.
function shortened(names, room) {
  const cut = (name, tail) => {
    const letters = Array.from(name);
    if (letters.length <= room) return name;
    const head = Math.max(1, room - 1 - tail);
    return `${letters.slice(0, head).join("")}\u2026${tail ? letters.slice(-tail).join("") : ""}`;
  };
  const taken = new Set();
  return names.map((name, i) => {
    const alike = (tail) => names.some((other, j) => j !== i && cut(other, tail) === cut(name, tail));
    let tail = 0;
    while (tail < room - 2 && alike(tail)) tail += 1;
    let label = cut(name, alike(tail) ? 0 : tail);
    for (let k = 1; taken.has(label); k += 1) label = `${cut(name, 0).slice(0, -1)}\u2026${k}`;
    taken.add(label);
    return label;
  });
}

const SIGNS = { 1: "+", "-1": MINUS, 0: "\u00b1" };

// Draws a graph into an element. `detail(edge or null)` receives the active arrow.
function graph(place, { names, nStates, alt, detail, ratio = 0.82, movable = true }) {
  // Positions from 0 to 1: the first on top, then clockwise.
  const home = names.map((_, i) => {
    const turn = (2 * Math.PI * i) / names.length - Math.PI / 2;
    return { x: 0.5 + 0.5 * Math.cos(turn), y: 0.5 + 0.5 * Math.sin(turn) };
  });
  // The full height: three nodes on a circle take three quarters of it.
  const [low, high] = extent(home.map((spot) => spot.y));
  for (const spot of home) spot.y = (spot.y - low) / (high - low);
  let spots = home.map((spot) => ({ ...spot }));
  let [edges, width, height, radius, margin] = [[], 0, 0, 0, 0];
  let [nodeParts, edgeParts, threshold, current] = [[], [], 0, 0];
  const canvas = svg("svg", { role: "group", "aria-label": alt });
  place.replaceChildren(canvas);

  // Positions within a margin that has room for loops.
  const inner = () => [width - 2 * margin, height - 2 * margin];
  const places = () => spots.map((s) => ({
    x: margin + s.x * inner()[0], y: margin + s.y * inner()[1],
  }));
  const visible = () => edgeParts.filter((part) => !part.group.classList.contains("hidden"));

  function layOut() {
    const at = places();
    const centre = {
      x: at.reduce((sum, p) => sum + p.x, 0) / at.length,
      y: at.reduce((sum, p) => sum + p.y, 0) / at.length,
    };
    nodeParts.forEach((group, i) => group.setAttribute(
      "transform", `translate(${at[i].x.toFixed(1)} ${at[i].y.toFixed(1)})`));
    for (const part of edgeParts) {
      const points = route(part.edge, at, radius, { centre, width, height });
      const { body, head } = shaped(points, part.width);
      part.arrow.setAttribute("d", body);
      part.reach.setAttribute("d", body);
      part.head.setAttribute("d", head);
      if (!part.sign) continue;
      // Beside the middle of the arrow.
      const k = Math.floor(points.length / 2);
      const [p, q] = [points[k - 1] ?? points[0], points[k]];
      const size = far(p, q) || 1;
      const away = 7 + part.width;
      part.sign.setAttribute("x", q.x + (away * (q.y - p.y)) / size);
      part.sign.setAttribute("y", q.y - (away * (q.x - p.x)) / size);
    }
  }

  function look(part) {
    for (const each of edgeParts) each.group.classList.toggle("current", each === part);
    detail(part ? part.edge : null);
  }

  function rove(part) {
    for (const each of edgeParts) each.group.setAttribute("tabindex", "-1");
    if (part) part.group.setAttribute("tabindex", "0");
    current = edgeParts.indexOf(part);
  }

  function hideUnsure() {
    for (const { edge, group } of edgeParts) {
      const sure = edge.confidence ?? 1;
      group.classList.toggle("hidden", sure < threshold);
    }
    const left = visible();
    if (!left.includes(edgeParts[current])) rove(left[0]);
    return left.length;
  }

  function edgePart(edge, widest) {
    const share = edge.strength === null || edge.strength === undefined
      ? 0.15 : Math.sqrt(Math.max(0, edge.strength) / widest);
    const thick = (1.2 + 3.8 * share) * clamp(radius / 18, 0.5, 1);
    const sure = edge.confidence ?? 1;
    const look0 = { opacity: 0.25 + 0.75 * clamp(sure, 0, 1) };
    const arrow = svg("path", {
      class: "arrow", "stroke-width": thick, ...look0,
      "stroke-dasharray": sure < 0.5 ? "6 4" : null,
    });
    const head = svg("path", { class: "head", ...look0 });
    const reach = svg("path", { class: "reach" });
    const sign = edge.sign === null || edge.sign === undefined
      ? null : svg("text", { class: "sign" }, SIGNS[edge.sign]);
    const group = svg("g", {
      class: edge.other ? "edge other" : "edge", role: "img", tabindex: "-1",
      "aria-label": edge.alt,
    }, arrow, head, reach, ...(sign ? [sign] : []));
    const part = { edge, group, arrow, head, reach, sign, width: thick };
    group.addEventListener("pointerenter", () => look(part));
    group.addEventListener("click", () => { rove(part); group.focus(); });
    group.addEventListener("focus", () => look(part));
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = visible();
      const next = all[(all.indexOf(part) + step + all.length) % all.length];
      rove(next);
      next.group.focus();
    });
    return part;
  }

  function move(i, x, y) {
    const [dx, dy] = inner().map((room) => (margin - radius - 2) / room);
    spots[i] = { x: clamp(x, -dx, 1 + dx), y: clamp(y, -dy, 1 + dy) };
    layOut();
  }

  function node(name, i) {
    const input = i >= nStates;
    const font = clamp(0.82 * radius, 9, 13);
    const room = Math.max(2, Math.ceil((1.8 * radius) / (0.6 * font)));
    const label = shortened(names, room)[i];
    const group = svg("g", {
      class: "node", "font-size": font, tabindex: movable ? "0" : null, role: movable ? "button" : "img",
      "aria-label": `${name}${input ? ", an input" : ""}.${movable ? " Arrow keys move it." : ""}`,
    },
    svg("title", {}, name),
    input
      ? svg("rect", { x: -radius, y: -radius, width: 2 * radius, height: 2 * radius })
      : svg("circle", { r: radius }),
    svg("text", {}, label));
    if (!movable) return group;
    let held = null;
    group.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY, ...{ from: spots[i] } };
      group.setPointerCapture(event.pointerId);
    });
    group.addEventListener("pointermove", (event) => {
      if (!held) return;
      const scale = width / canvas.getBoundingClientRect().width;
      move(i, held.from.x + ((event.clientX - held.x) * scale) / inner()[0],
        held.from.y + ((event.clientY - held.y) * scale) / inner()[1]);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      group.addEventListener(end, () => { held = null; });
    }
    group.addEventListener("keydown", (event) => {
      const [dx, dy] = {
        ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1],
      }[event.key] ?? [0, 0];
      if (!dx && !dy) return;
      event.preventDefault();
      const step = event.shiftKey ? 40 : 10;
      move(i, spots[i].x + (dx * step) / inner()[0], spots[i].y + (dy * step) / inner()[1]);
    });
    return group;
  }

  function draw() {
    if (!width) return;
    const widest = Math.max(1e-300, ...edges.map((edge) => edge.strength ?? 0));
    edgeParts = edges.map((edge) => edgePart(edge, widest));
    nodeParts = names.map(node);
    canvas.replaceChildren(...edgeParts.map((part) => part.group), ...nodeParts);
    canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
    canvas.setAttribute("height", height);
    rove(edgeParts[0]);
    hideUnsure();
    layOut();
  }

  keepDrawn(place, (now) => {
    width = now;
    // On a narrow screen the full width is needed.
    const tall = now < 500 ? 1 : ratio;
    height = Math.round(clamp(now * tall, 260, 620));
    const circle = (Math.PI * 0.72 * Math.min(width, height)) / names.length;
    radius = clamp(circle * 0.36, 11, names.length > 6 ? 22 : 26);
    margin = LOOP * radius + 4;
    draw();
  });

  return {
    show(next) { edges = next; draw(); },
    hideBelow(share) { threshold = share; return hideUnsure(); },
    reset() { spots = home.map((spot) => ({ ...spot })); layOut(); },
  };
}
