// Comfort only: the values under the pointer, or where arrow keys move, in place of the notes.
const clock = (s, known) => {
  if (!known) return `sample ${Math.round(s)}`;
  const two = (n) => String(n).padStart(2, "0");
  const whole = Math.round(s);
  if (whole < 120) return `${s < 10 ? s.toFixed(1) : whole} s`;
  const [h, m, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h ? `${h} h ${two(m)} min` : `${m} min ${two(rest)} s`;
};
const points = (path) => { // absolute points of a path in steps
  const found = [];
  let x = 0, y = 0;
  for (const [, command, rest] of path.getAttribute("d").matchAll(/([Mlhvz])([^Mlhvz]*)/g)) {
    const n = (rest.match(/-?(?:\d+\.\d+|\.\d+|\d+)/g) || []).map(Number);
    if (command === "M") [x, y] = n;
    else if (command === "l") { x += n[0]; y += n[1]; }
    else if (command === "h") { // a level stretch may stand for many readings
      for (let step = 2; step < Math.abs(n[0]); step += 2) found.push([x + Math.sign(n[0]) * step, y]);
      x += n[0];
    } else if (command === "v") y += n[0];
    found.push([x, y]);
  }
  return found;
};
const nearest = (all, x) => { // lowest and highest value at the place nearest to x
  let best = Infinity, high = 0, low = 0;
  for (const [px, py] of all) {
    const far = Math.abs(px - x);
    if (far < best - 0.05) { best = far; high = low = py; }
    else if (far < best + 0.05) { high = Math.min(high, py); low = Math.max(low, py); }
  }
  return best <= 12 ? [low, high] : null;
};
for (const plot of document.querySelectorAll("svg.plot[data-plot]")) {
  const facts = JSON.parse(plot.dataset.plot);
  const [left, right, start, end] = facts.x;
  const notes = [...plot.querySelectorAll(".t-note")];
  const texts = notes.map((note) => note.textContent);
  const line = document.createElementNS(plot.namespaceURI, "path");
  line.setAttribute("class", "t-read");
  let read = null;
  const curves = [...plot.querySelectorAll(".t-line")];
  if (!facts.heat && (curves.length !== facts.panels.length || notes.length !== curves.length)) continue;
  const others = [...plot.querySelectorAll(".t-other")]; // of a second run, in every panel or none
  const prepare = () => facts.panels.map((panel, place) => {
    const range = curves[place].previousElementSibling;
    const other = others.length === curves.length ? points(others[place]) : [];
    return [panel, points(curves[place]), range.matches(".t-range") ? points(range) : [], other];
  });
  const leave = () => {
    line.remove();
    plot.classList.remove("reading");
    notes.forEach((note, place) => { note.textContent = texts[place]; });
  };
  const show = (at, letter) => {
    const when = clock(start + ((at.x - left) / (right - left)) * (end - start), facts.known);
    plot.classList.add("reading");
    line.setAttribute("d", `M${at.x.toFixed(1)} 0V${plot.viewBox.baseVal.height - 22}`);
    plot.append(line);
    if (facts.heat) {
      const [[top, row], gpus] = facts.heat;
      const gpu = gpus[Math.floor((at.y - top) / row)];
      notes[0].textContent = gpu === undefined ? texts[0]
        : `GPU ${gpu}, ${when}: ${letter ? `${facts.levels[letter]} %` : "no reading"}`;
      return undefined;
    }
    read = read || prepare();
    read.forEach(([[base, height, bottom, top, unit], curve, range, other], place) => {
      // a path is drawn to a tenth of a pixel: no more digits than that
      const digits = Math.max(0, Math.floor(-Math.log10((top - bottom) / height / 10)));
      const value = (y) => (bottom + ((base - y) / height) * (top - bottom))
        .toLocaleString("en", { maximumFractionDigits: Math.min(digits, 6) });
      const mean = nearest(curve, at.x);
      const span = mean && nearest(range, at.x);
      const wide = span && value(span[0]) !== value(span[1]) ? ` (${value(span[0])} to ${value(span[1])})` : "";
      const second = other.length && nearest(other, at.x);
      const dashed = other.length ? `, ${"dashed"} ${second ? value(second[1]) : "–"}` : "";
      const first = mean ? `${value(mean[1])}${wide}` : "no reading";
      notes[place].textContent = mean || second ? `${when}: ${first}${dashed} ${unit}`.trim() : `${when}: no reading`;
    });
    return undefined;
  };
  const heatLetter = (cell) => (/ h-([a-f])/.exec((cell && cell.getAttribute("class")) || "") || [])[1];
  const pointed = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse());
    if (at.x < left || at.x > right) leave();
    else show(at, heatLetter(event.target));
  };
  plot.addEventListener("pointermove", pointed);
  plot.addEventListener("pointerdown", pointed);
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });

  // The same by keyboard; what is read is also said to a screen reader.
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("aria-live", "polite");
  plot.parentNode.after(said);
  plot.setAttribute("tabindex", "0");
  plot.setAttribute("aria-description", "Arrow keys read the values.");
  const at = { x: left, y: facts.heat ? facts.heat[0][0] + facts.heat[0][1] / 2 : 0 };
  plot.addEventListener("keydown", (event) => {
    const far = (right - left) / (event.shiftKey ? 10 : 100);
    const row = facts.heat ? facts.heat[0][1] : 0;
    const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], Home: [left - right, 0], End: [right - left, 0] };
    if (facts.heat) Object.assign(moves, { ArrowUp: [0, -row], ArrowDown: [0, row] });
    if (event.key === "Escape") leave();
    if (!moves[event.key]) return;
    event.preventDefault();
    const rows = facts.heat ? facts.heat[1].length : 1;
    const top = facts.heat ? facts.heat[0][0] : 0;
    at.x = Math.min(Math.max(at.x + moves[event.key][0], left), right);
    at.y = Math.min(Math.max(at.y + moves[event.key][1], top + row / 2), top + (rows - 0.5) * row);
    const seen = new DOMPoint(at.x, at.y).matrixTransform(plot.getScreenCTM());
    show(at, facts.heat && heatLetter(document.elementFromPoint(seen.x, seen.y)));
    said.textContent = notes.map((note) => note.textContent).join(". ");
  });
  plot.addEventListener("blur", leave);
}
