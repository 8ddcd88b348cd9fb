// The path: what the equations and the graph are at each price.

const MOST_LINES = 60;

function pathEquation(target, step) {
  const row = step.filter(([a]) => a === target);
  const left = byId("equations").querySelectorAll(".equation")[target].firstElementChild;
  const words = [];
  const made = row.map(([, j, value], k) => {
    const name = content.terms[j].name;
    const sign = value < 0 ? MINUS : k ? "+" : "";
    words.push(`${sign} ${show(Math.abs(value))}${name === "1" ? "" : ` ${name}`}`);
    const formula = termFormula(j);
    formula.prepend(math("mn", {}, show(Math.abs(value))),
      math("mspace", { width: "0.17em" }));
    if (sign) formula.prepend(math("mo", k ? { form: "infix" } : {}, sign));
    return formula;
  });
  if (!made.length) made.push(math("math", {}, math("mn", {}, "0")));
  const line = html("p", {
    class: "equation", role: "math",
    "aria-label": `${nameOf(target)}: ${words.join(" ") || "0"}`,
  }, left.cloneNode(true));
  for (const formula of made) line.append(" ", formula);
  return line;
}

function pathEdges(step, known) {
  const found = new Map();
  for (const [target, j] of step) {
    for (const source of content.terms[j].enters) {
      const key = `${source} ${target}`;
      if (!found.has(key)) found.set(key, { source, target, names: [] });
      found.get(key).names.push(content.terms[j].name);
    }
  }
  return [...found].map(([key, edge]) => ({
    ...edge, strength: null, confidence: null, other: !known.has(key),
    alt: `${nameOf(edge.source)} acts on ${nameOf(edge.target)} by ${edge.names.join(", ")}.`
      + (known.has(key) ? "" : " Not in the equations found."),
  }));
}

function pathPart() {
  const { prices, steps, chosen } = content.path;
  if (!prices) return;
  const slider = byId("price");
  const known = new Set(content.edges.map((edge) => `${edge.source} ${edge.target}`));
  const small = graph(byId("path-graph"), {
    names: content.variables, nStates: content.nStates, movable: false, detail: () => {},
    alt: "Graph at this price. Orange arrows are not in the equations found.",
  });
  const at = prices.map((price) => -Math.log10(Math.max(price, 1e-300)));
  const all = new Map();
  steps.forEach((step, k) => {
    for (const [a, j, value] of step) {
      const key = `${a} ${j}`;
      if (!all.has(key)) all.set(key, { state: a, values: prices.map(() => 0) });
      all.get(key).values[k] = value;
    }
  });
  const size = (values) => Math.max(...values.map((v) => Math.abs(v ?? 0)));
  const lines = [...all.values()].sort((p, q) => size(q.values) - size(p.values));
  const drawn = lines.slice(0, MOST_LINES);
  const left = lines.length - drawn.length;
  let marker = null;
  let frameNow = null;
  const mark = () => {
    if (!marker) return;
    const x = frameNow.x(at[slider.value]);
    marker.setAttribute("x1", x);
    marker.setAttribute("x2", x);
  };
  chart(figure(byId("path-picture"), "Coefficients over the price",
    left ? `the ${MOST_LINES} largest of ${lines.length}` : ""), {
    x: prices.length > 1 ? extent(at) : [at[0] - 1, at[0] + 1],
    y: widened(extent([0], ...drawn.map((each) => each.values))),
    xName: "price of a term, falling to the right", logX: true, flipped: true,
    height: 230,
    alt: `Coefficients at ${prices.length} prices from ${show(prices[0])} to ${
      show(prices[prices.length - 1])}; from ${steps[0].length} to ${
      steps[steps.length - 1].length} terms.`,
    layers: (frame) => {
      if (frame.behind) return [];
      const made = drawn.map((each) => svg("g", { class: shade(each.state) },
        svg("path", { class: "curve", d: line(at, each.values, frame.x, frame.y) })));
      if (chosen !== null) made.push(upright("mark", at[chosen], frame));
      marker = upright("now", at[slider.value], frame);
      frameNow = frame;
      return [...made, marker];
    },
  });
  const move = () => {
    const k = Number(slider.value);
    const step = steps[k];
    const text = `${show(prices[k])}: ${step.length} term${step.length === 1 ? "" : "s"}${
      k === chosen ? ", chosen" : ""}`;
    byId("price-value").textContent = text;
    slider.setAttribute("aria-valuetext", text);
    byId("path-equations").replaceChildren(
      ...content.variables.slice(0, content.nStates).map((_, a) => pathEquation(a, step)));
    small.show(pathEdges(step, known));
    mark();
  };
  slider.addEventListener("input", move);
  move();
}
