// Elements and numbers. Text is only ever inserted as text.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";
const MINUS = "\u2212";

const byId = (id) => document.getElementById(id);

function make(space, name, attributes = {}, ...children) {
  const element = space
    ? document.createElementNS(space, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const html = (name, attributes, ...children) => make(null, name, attributes, ...children);
const svg = (name, attributes, ...children) => make(SVG, name, attributes, ...children);
const math = (name, attributes, ...children) => make(MATH, name, attributes, ...children);

function show(value, digits = 3) {
  if (value === null || value === undefined) return "NaN";
  const short = Number(Math.abs(value).toPrecision(digits));
  const text = short !== 0 && (short < 1e-4 || short >= 1e6)
    ? short.toExponential()
    : String(short);
  return (value < 0 ? MINUS : "") + text;
}

function percent(share) {
  if (share >= 0.995 && share < 1) return "over 99 %";
  if (share > 0 && share <= 0.005) return "under 1 %";
  return `${Math.round(100 * share)} %`;
}

// Draws now, and again whenever the width of the element changes.
function keepDrawn(place, draw) {
  let width = -1;
  const again = () => {
    const now = Math.floor(place.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw(width);
  };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(place);
  again();
}
