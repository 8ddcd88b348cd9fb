// Files to save: texts in templates, and the picture of the graph.

function save(file, kind, text) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = html("a", { href: url, download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// A copy with the colours that the style of the page gives it.
function picture(drawn) {
  const copy = drawn.cloneNode(true);
  const kept = ["fill", "stroke", "stroke-width", "opacity", "font-size", "font-family",
    "text-anchor", "dominant-baseline", "display", "font-weight", "paint-order"];
  const [ours, theirs] = [drawn, copy].map((each) => [each, ...each.querySelectorAll("*")]);
  ours.forEach((each, i) => {
    const style = getComputedStyle(each);
    for (const name of kept) theirs[i].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["tabindex", "role", "class"]) theirs[i].removeAttribute(name);
  });
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", drawn.viewBox.baseVal.width);
  return new XMLSerializer().serializeToString(copy);
}

function downloadPart() {
  for (const button of document.querySelectorAll(".download")) {
    button.addEventListener("click", () => {
      const file = button.dataset.for;
      const found = document.querySelector(`template[data-file="${file}"]`);
      save(file, found.dataset.kind, found.content.textContent);
    });
  }
  byId("graph-svg").addEventListener("click", () => {
    save("graph.svg", "image/svg+xml", picture(byId("graph-picture").firstElementChild));
  });
}
