// The regularisation path: equations and graph at each penalty.

const MOST_LINES = 60;

function numeral(value) {
  const [mantissa, exponent] = show(value).split("e");
  const made = [math("mn", {}, mantissa)];
  if (exponent) {
    const power = exponent.replace("+", "").replace("-", MINUS);
    made.push(math("mo", {}, "\u00d7"),
      math("msup", {}, math("mn", {}, "10"), math("mn", {}, power)));
  }
  return made;
}

function pathEquation(target, step) {
  const row = step.filter(([a]) => a === target);
  const left = byId("equations").querySelectorAll(".equation")[target].firstElementChild;
  const words = [];
  const made = row.map(([, j, value], k) => {
    const name = content.terms[j].name;
    const sign = value < 0 ? MINUS : k ? "+" : "";
    const size = value === null ? null : Math.abs(value);
    words.push(`${sign} ${show(size)}${name === "1" ? "" : ` ${name}`}`);
    const formula = termFormula(j);
    formula.prepend(...numeral(size), math("mspace", { width: "0.17em" }));
    const space = k ? { lspace: "0.1em", rspace: "0.3em" } : { form: "prefix" };
    if (sign) formula.prepend(math("mo", space, sign));
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
      + (known.has(key) ? "" : " Not in the selected equations."),
  }));
}

// Coefficients along the regularisation path, relative to their largest value: those
// that are nonzero at a step, and as many others as can be distinguished.
function pathLines(step) {
  const { steps } = content.path;
  const all = new Map();
  steps.forEach((each, k) => {
    for (const [a, j, value] of each) {
      const key = `${a} ${j}`;
      if (!all.has(key)) {
        all.set(key, { state: a, values: steps.map(() => 0), there: false });
      }
      all.get(key).values[k] = value;
      if (k === step) all.get(key).there = true;
    }
  });
  for (const each of all.values()) {
    const most = Math.max(...each.values.map((v) => Math.abs(v ?? 0))) || 1;
    each.values = each.values.map((v) => (v === null ? null : v / most));
  }
  const [there, others] = [[], []];
  for (const each of all.values()) (each.there ? there : others).push(each);
  const room = Math.max(0, MOST_LINES - there.length);
  return {
    drawn: [...others.slice(0, room), ...there], left: Math.max(0, others.length - room),
  };
}

function pathPart() {
  const { penalties, steps, chosen } = content.path;
  if (!penalties) return;
  const slider = byId("penalty");
  const known = new Set(content.edges.map((edge) => `${edge.source} ${edge.target}`));
  const small = graph(byId("path-graph"), {
    names: content.variables, nStates: content.nStates, movable: false, detail: () => {},
    alt: "Graph at this penalty. Orange arrows are not in the selected equations.",
  });
  const at = penalties.map((penalty) => -Math.log10(penalty));
  const lines = pathLines(chosen ?? steps.length - 1);
  let marker = null;
  let frameNow = null;
  chart(figure(byId("path-picture"), "Coefficients against the penalty",
    `relative to the largest of each${lines.left ? `; ${lines.left} faint ones not drawn` : ""}`), {
    x: penalties.length > 1 ? extent(at) : [at[0] - 1, at[0] + 1],
    y: widened(extent([0], ...lines.drawn.map((each) => each.values))),
    xName: "penalty per term, decreasing to the right", penalties: true, height: 230,
    alt: `Coefficients at ${penalties.length} penalties from ${show(penalties[0])} to ${
      show(penalties[penalties.length - 1])}; from ${steps[0].length} to ${
      steps[steps.length - 1].length} terms.`,
    layers: (frame) => {
      if (frame.behind) return [];
      const made = lines.drawn.map((each) => svg("g", { class: shade(each.state) },
        svg("path", {
          class: each.there ? "curve" : "curve faint",
          d: line(at, each.values, frame.x, frame.y),
        })));
      if (chosen !== null) made.push(upright("mark", at[chosen], frame));
      marker = upright("now", at[slider.value], frame);
      frameNow = frame;
      return [...made, marker];
    },
  });
  const move = () => {
    const k = Number(slider.value);
    const step = steps[k];
    const text = `${show(penalties[k])}: ${step.length} term${step.length === 1 ? "" : "s"}${
      k === chosen ? ", chosen" : ""}`;
    byId("penalty-value").textContent = text;
    slider.setAttribute("aria-valuetext", text);
    byId("path-equations").replaceChildren(
      ...content.variables.slice(0, content.nStates).map((_, a) => pathEquation(a, step)));
    small.show(pathEdges(step, known));
    if (!marker) return;
    for (const end of ["x1", "x2"]) marker.setAttribute(end, frameNow.x(at[k]));
  };
  slider.addEventListener("input", move);
  move();
}
