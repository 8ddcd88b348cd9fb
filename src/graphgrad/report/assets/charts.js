// Charts of layers over two axes.

const MARGIN = { left: 46, right: 10, top: 8, bottom: 34 };

function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((s) => s * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) {
    found.push(k * step);
  }
  return found;
}

// Ticks of an axis of minus the logarithm of a penalty: 1, 2, 5, 10, ...
function penaltyTicks(low, high, count) {
  const found = [];
  for (let power = Math.floor(-high) - 1; power <= -low; power += 1) {
    for (const digit of [1, 2, 5]) found.push(-Math.log10(digit) - power);
  }
  const seen = found.filter((at) => at >= low && at <= high);
  if (seen.length <= count) return seen;
  const step = Math.ceil((high - low) / count);
  return seen.filter((at) => Math.abs(at / step - Math.round(at / step)) < 1e-9);
}

const [SECOND, DAY] = [1000, 86400e3];
const SPANS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200];

// Ticks of an axis of dates, in milliseconds: each a place and its text.
function dateTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const text = (at, from, to) => new Date(at).toISOString().slice(from, to);
  const found = [];
  const even = (step, from, to) => {
    for (let k = Math.ceil(low / step); k * step <= high; k += 1) {
      found.push([k * step, text(k * step, from, to)]);
    }
    return found;
  };
  const short = SPANS.find((seconds) => seconds * SECOND >= rough);
  if (short && rough < DAY / 2) return even(short * SECOND, 11, short < 60 ? 19 : 16);
  const days = [1, 2, 7, 14].find((number) => number * DAY >= rough);
  if (days) return even(days * DAY, 5, 10);
  const months = [1, 2, 3, 6].find((number) => number * 30 * DAY >= rough);
  const rest = Math.max(1, rough / (365 * DAY));
  const power = 10 ** Math.floor(Math.log10(rest));
  const step = months ?? 12 * power * [1, 2, 5, 10].find((s) => s * power >= rest);
  const first = new Date(low);
  let month = 12 * first.getUTCFullYear() + first.getUTCMonth();
  month = Math.ceil(month / step) * step;
  for (; ; month += step) {
    const at = new Date(0);
    at.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    if (at.getTime() > high) return found;
    if (at.getTime() >= low) found.push([at.getTime(), text(at, 0, months ? 7 : 4)]);
  }
}

function extent(...series) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of series) {
    for (const v of values || []) {
      if (v === null) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  return [low, high];
}

function widened([low, high], by = 0.05) {
  return [low - by * (high - low), high + by * (high - low)];
}

// Lines break where a value is missing, or where a new series begins.
function line(xs, ys, x, y, breaks = []) {
  let path = "";
  let pen = false;
  let next = 0;
  xs.forEach((at, i) => {
    while (next < breaks.length && at >= breaks[next]) { pen = false; next += 1; }
    if (ys[i] === null) { pen = false; return; }
    path += `${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(ys[i]).toFixed(1)}`;
    pen = true;
  });
  return path;
}

function stretch(xs, low, high, x, y, from, to) {
  let there = "";
  let back = "";
  for (let i = from; i < to; i += 1) {
    there += `${there ? "L" : "M"}${x(xs[i]).toFixed(1)} ${y(high[i]).toFixed(1)}`;
    back = `L${x(xs[i]).toFixed(1)} ${y(low[i]).toFixed(1)}${back}`;
  }
  return there ? `${there}${back}Z` : "";
}

function area(xs, low, high, x, y, breaks = []) {
  let path = "";
  let from = 0;
  let next = 0;
  for (let i = 0; i <= xs.length; i += 1) {
    const fresh = i < xs.length && next < breaks.length && xs[i] >= breaks[next];
    while (i < xs.length && next < breaks.length && xs[i] >= breaks[next]) next += 1;
    const missing = i === xs.length || low[i] === null || high[i] === null;
    if (fresh || missing) {
      path += stretch(xs, low, high, x, y, from, i);
      from = missing ? i + 1 : i;
    }
  }
  return path;
}

function dots(xs, ys, x, y) {
  return xs.map((at, i) => ys[i] === null
    ? ""
    : `M${x(at).toFixed(1)} ${y(ys[i]).toFixed(1)}h0`).join("");
}

// Draws a chart into an element. `layers(frame)` returns the contents of the axes.
function chart(place, { x: [x0, x1], y: [y0, y1], xName, alt, layers, height = 190,
  penalties = false, whole = false, dated = false, shade = "c0" }) {
  keepDrawn(place, (width) => {
    const right = width - MARGIN.right;
    const bottom = height - MARGIN.bottom;
    const x = (v) => MARGIN.left + ((v - x0) / (x1 - x0)) * (right - MARGIN.left);
    const y = (v) => bottom - ((v - y0) / (y1 - y0)) * (bottom - MARGIN.top);
    const grid = svg("g", { class: "grid tick" });
    const count = Math.max(2, Math.floor(width / 65));
    const places = penalties ? penaltyTicks(x0, x1, count) : ticks(x0, x1, count);
    const marks = dated
      ? dateTicks(x0, x1, count)
      : places.map((at) => [at, show(penalties ? 10 ** -at : at, 6)]);
    for (const [at, text] of marks) {
      if (whole && at % 1) continue;
      grid.append(
        svg("line", { x1: x(at), x2: x(at), y1: MARGIN.top, y2: bottom }),
        svg("text", { x: x(at), y: bottom + 15, "text-anchor": "middle" }, text),
      );
    }
    for (const at of ticks(y0, y1, Math.max(2, height / 38))) {
      grid.append(
        svg("line", { x1: MARGIN.left, x2: right, y1: y(at), y2: y(at) }),
        svg("text", { x: MARGIN.left - 5, y: y(at) + 4, "text-anchor": "end" },
          show(at, 4)),
      );
    }
    const drawn = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": alt,
      class: shade,
    });
    drawn.append(
      ...layers({ x, y, width, top: MARGIN.top, bottom, behind: true }),
      grid,
      svg("path", { class: "axis", d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` }),
      ...layers({ x, y, width, top: MARGIN.top, bottom, behind: false }),
      svg("text", { x: (MARGIN.left + right) / 2, y: height - 3, "text-anchor": "middle" },
        xName),
    );
    place.replaceChildren(drawn);
  });
}

function figure(place, title, note = "") {
  const box = html("div", { class: "picture" });
  const caption = html("figcaption", {}, title);
  if (note) caption.append(html("span", { class: "note" }, ` ${note}`));
  place.append(html("figure", {}, caption, box));
  return box;
}

const upright = (kind, at, frame) => svg("line", {
  class: kind, x1: frame.x(at), x2: frame.x(at), y1: frame.top, y2: frame.bottom,
});
