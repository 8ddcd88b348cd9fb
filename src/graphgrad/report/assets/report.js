// The contents of the page, and its controls.

const content = JSON.parse(byId("content").textContent);
const shade = (state) => (state === null ? "c6" : `c${state % 7}`);
const nameOf = (i) => content.variables[i];

function termFormula(j) {
  const found = byId("templates").querySelector(`[data-term="${j}"]`);
  return found.firstElementChild.cloneNode(true);
}

function theme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : system.matches;
  };
  const mark = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    mark();
  });
  system.addEventListener("change", mark);
  mark();
}

function mainGraph() {
  const detail = byId("graph-detail");
  const count = byId("graph-count");
  const describe = (edge) => {
    if (!edge) {
      detail.replaceChildren(html("p", { class: "note" }, 
        "Point at an arrow, or select one with Tab and the arrow keys, to show its terms "
        + "here."));
      return;
    }
    const list = html("ul", {});
    edge.terms.forEach((j, k) => {
      const error = edge.errors && edge.errors[k] ? ` ± ${show(edge.errors[k], 2)}` : "";
      const sure = edge.sure && edge.sure[k] !== null
        ? `, confidence ${percent(edge.sure[k])}` : "";
      list.append(html("li", {}, `${show(edge.values[k], 4)}${error} × `,
        termFormula(j), sure));
    });
    const lines = [];
    if (edge.sign) lines.push(edge.sign > 0 ? "Raises it." : "Lowers it.");
    if (edge.sign === 0) lines.push("Raises or lowers it, depending on the state.");
    if (edge.strength !== null) lines.push(`Strength: ${show(edge.strength, 2)}`);
    if (edge.confidence !== null) lines.push(`Confidence: ${percent(edge.confidence)}`);
    detail.replaceChildren(
      html("h3", {}, `${nameOf(edge.source)} \u2192 ${nameOf(edge.target)}`),
      list, ...lines.map((text) => html("p", {}, text)),
    );
  };
  const drawn = graph(byId("graph-picture"), {
    names: content.variables, nStates: content.nStates, detail: describe,
    alt: `Graph of ${content.variables.length} nodes and ${content.edges.length} arrows. `
      + "The table below has the same contents.",
  });
  const tally = (left) => {
    count.textContent = `${left} of ${content.edges.length} arrows are shown.`;
  };
  drawn.show(content.edges);
  describe(null);
  tally(content.edges.length);
  byId("graph-reset").addEventListener("click", () => drawn.reset());
  const slider = byId("threshold");
  if (!slider) return;
  const hide = () => {
    byId("threshold-value").textContent = `${slider.value} %`;
    slider.setAttribute("aria-valuetext", `${slider.value} %`);
    tally(drawn.hideBelow(slider.value / 100));
  };
  slider.addEventListener("input", hide);
  hide();
}

function statePanels() {
  const place = byId("state-panels");
  if (!place) return;
  for (const panel of content.panels) {
    const notes = [];
    if (panel.missing) notes.push(`${panel.missing} of ${panel.all} missing`);
    if (panel.input) notes.push("an input");
    else if (!panel.dataT) notes.push("not observed directly");
    chart(figure(place, panel.name, notes.join(", ")), {
      x: extent(panel.span), y: widened(extent(panel.mean, panel.low, panel.high, panel.data)),
      xName: content.timeName, dated: content.dated, alt: panel.alt,
      shade: shade(panel.state),
      layers: (frame) => {
        const { x, y } = frame;
        if (frame.behind) {
          return (panel.gaps ?? []).map(([from, to]) => svg("rect", {
            class: "gap", x: x(from) - 1, width: x(to) - x(from) + 2,
            y: frame.top, height: frame.bottom - frame.top,
          }));
        }
        const made = content.breaks.map((at) => upright("break", at - 0.5, frame));
        if (panel.low) {
          made.push(svg("path", {
            class: "band", d: area(panel.t, panel.low, panel.high, x, y, content.breaks),
          }));
        }
        if (panel.data) {
          const small = panel.data.length > 300 ? " small" : "";
          made.push(svg("path", {
            class: `dots${small}`, d: dots(panel.dataT, panel.data, x, y),
          }));
        }
        if (panel.mean) {
          made.push(svg("path", {
            class: panel.t.length > 600 ? "curve thin" : "curve",
            d: line(panel.t, panel.mean, x, y, content.breaks),
          }));
        }
        return made;
      },
    });
  }
}

function freePanels() {
  const place = byId("free-panels");
  if (!place) return;
  for (const panel of content.free) {
    chart(figure(place, panel.name), {
      x: extent(panel.t, panel.dataT), y: widened(extent(panel.mean, panel.data)),
      xName: content.timeName, dated: content.dated, alt: panel.alt,
      shade: shade(panel.state),
      layers: ({ x, y, behind }) => {
        if (behind) return [];
        const made = [];
        if (panel.data) {
          const small = panel.data.length > 300 ? " small" : "";
          made.push(svg("path", {
            class: `dots${small}`, d: dots(panel.dataT, panel.data, x, y),
          }));
        }
        made.push(svg("path", { class: "curve", d: line(panel.t, panel.mean, x, y) }));
        return made;
      },
    });
  }
}

// Arrows of a vector field: the direction of dx/dt, longer for a larger rate.
function fieldArrows({ x, y, u, v }, frame) {
  const [right, up] = [frame.x(1) - frame.x(0), frame.y(1) - frame.y(0)];
  const room = Math.min(
    Math.abs(frame.x(x[1]) - frame.x(x[0])), Math.abs(frame.y(y[1]) - frame.y(y[0])));
  const all = [];
  y.forEach((b, i) => x.forEach((a, j) => {
    if (u[i][j] === null || v[i][j] === null) return;
    const [dx, dy] = [u[i][j] * right, v[i][j] * up];
    all.push({ at: [frame.x(a), frame.y(b)], dx, dy, speed: Math.hypot(dx, dy) });
  }));
  const fastest = Math.max(...all.map((arrow) => arrow.speed), 1e-300);
  return all.filter(({ speed }) => speed > 0).map(({ at, dx, dy, speed }) => {
    const size = room * (0.3 + 0.55 * Math.sqrt(speed / fastest)) / speed;
    const [a, b] = [(dx * size) / 2, (dy * size) / 2];
    const tip = [at[0] + a, at[1] + b];
    const wing = (side) => `L${(tip[0] - 0.6 * a - side * 0.4 * b).toFixed(1)} ${
      (tip[1] - 0.6 * b + side * 0.4 * a).toFixed(1)}`;
    const there = `${tip[0].toFixed(1)} ${tip[1].toFixed(1)}`;
    return `M${(at[0] - a).toFixed(1)} ${(at[1] - b).toFixed(1)}L${there}${
      wing(1)}M${there}${wing(-1)}`;
  }).join("");
}

function portraitPart() {
  const place = byId("portrait-panel");
  if (!place) return;
  const { portrait } = content;
  const [first, second] = portrait.names;
  chart(figure(place, `${second} against ${first}`), {
    x: extent(portrait.x), y: extent(portrait.y), xName: first, alt: portrait.alt,
    shade: shade(0), height: 300,
    layers: (frame) => {
      if (frame.behind) {
        return [svg("path", { class: "field", d: fieldArrows(portrait, frame) })];
      }
      const made = [];
      if (portrait.data) {
        const small = portrait.data[0].length > 300 ? " small" : "";
        made.push(svg("path", {
          class: `dots${small}`, d: dots(...portrait.data, frame.x, frame.y),
        }));
      }
      if (portrait.trajectory) {
        made.push(svg("path", {
          class: "curve", d: line(...portrait.trajectory, frame.x, frame.y),
        }));
      }
      return made;
    },
  });
}

function residualPanels() {
  const place = byId("residual-panels");
  if (!place) return;
  const pick = byId("column");
  const draw = () => {
    const each = content.residuals[pick.value];
    const far = Math.max(3, ...each.r.map((v) => Math.abs(v ?? 0)));
    const ends = [each.ends[0], each.ends[each.ends.length - 1]];
    const grid = [...Array(81).keys()].map((k) => ends[0] + ((ends[1] - ends[0]) * k) / 80);
    const normal = grid.map((v) => Math.exp((-v * v) / 2) / Math.sqrt(2 * Math.PI));
    const tallest = Math.max(0.45, ...each.density) * 1.08;
    const most = Math.max(0.3, 1.2 * each.bound, ...each.autocorrelations.map(Math.abs));
    const level = (frame, at) => svg("path", {
      class: "mark", d: `M${MARGIN.left} ${frame.y(at)}H${frame.width - MARGIN.right}`,
    });
    byId("residual-words").textContent = each.alt;
    place.replaceChildren();
    chart(figure(place, "Over time", each.note), {
      x: extent(each.t), y: [-1.08 * far, 1.08 * far], xName: content.timeName,
      dated: content.dated,
      alt: `Residuals of ${each.name} over time. ${each.alt}`, shade: shade(Number(pick.value)),
      layers: (frame) => (frame.behind ? [] : [
        level(frame, -1.96), level(frame, 1.96),
        svg("path", {
          class: "dots of-state small", d: dots(each.t, each.r, frame.x, frame.y),
        }),
      ]),
    });
    chart(figure(place, "Distribution"), {
      x: ends, y: [0, tallest], xName: "residual",
      alt: `Histogram of the residuals of ${each.name} with the normal density. ${each.alt}`,
      shade: shade(Number(pick.value)),
      layers: ({ x, y, behind }) => (behind ? [] : [
        ...each.density.map((v, i) => svg("rect", {
          class: "bar-of", x: x(each.ends[i]) + 0.5, y: y(v),
          width: x(each.ends[i + 1]) - x(each.ends[i]) - 1, height: y(0) - y(v),
        })),
        svg("path", { class: "curve normal", d: line(grid, normal, x, y) }),
      ]),
    });
    chart(figure(place, "Autocorrelation"), {
      x: [0.2, each.autocorrelations.length + 0.8], y: [-most, most], xName: "lag", whole: true,
      alt: `Autocorrelation of the residuals of ${each.name}. ${each.alt}`,
      shade: shade(Number(pick.value)),
      layers: (frame) => (frame.behind ? [] : [
        level(frame, -each.bound), level(frame, each.bound),
        svg("path", {
          class: "curve",
          d: each.autocorrelations.map((v, i) => (
            `M${frame.x(i + 1)} ${frame.y(0)}V${frame.y(v)}`)).join(""),
        }),
      ]),
    });
  };
  pick.addEventListener("change", draw);
  draw();
}

function forecastPanels() {
  const place = byId("forecast-panels");
  if (!place) return;
  const half = Math.floor(content.levels.length / 2);
  for (const fan of content.fans) {
    const last = (fan.pastT ?? []).length - 1;
    // The fan starts at the end of the history.
    const joined = last >= 0 && fan.past[last] !== null && fan.pastT[last] <= fan.t[0];
    const t = joined ? [fan.pastT[last], ...fan.t] : fan.t;
    const lines = fan.lines.map((row) => (joined ? [fan.past[last], ...row] : row));
    chart(figure(place, fan.name), {
      x: extent(t, fan.pastT), y: widened(extent(fan.past, ...lines)),
      xName: content.breaks.length ? "time of the last series" : content.timeName,
      dated: content.dated, alt: fan.alt, shade: shade(fan.state),
      layers: ({ x, y, behind }) => {
        if (behind) return [];
        const made = [];
        for (let k = 0; k < half; k += 1) {
          made.push(svg("path", {
            class: "band", d: area(t, lines[k], lines[lines.length - 1 - k], x, y),
          }));
        }
        if (fan.past) {
          made.push(svg("path", { class: "curve past", d: line(fan.pastT, fan.past, x, y) }));
        }
        if (lines.length % 2) {
          made.push(svg("path", { class: "curve", d: line(t, lines[half], x, y) }));
        }
        return made;
      },
    });
  }
}

theme();
mainGraph();
statePanels();
portraitPart();
pathPart();
freePanels();
residualPanels();
forecastPanels();
downloadPart();
