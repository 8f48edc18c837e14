// The dashboard's pictures, and its table to sort and filter.
import { colour, config, font, onColours, plotly } from "./plotly.js";

for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false; // without a script they would do nothing

const panel = document.querySelector("[data-charts]");
const source = document.getElementById("chart-data");

const base = () => ({
  autosize: true, margin: { l: 8, r: 16, t: 8, b: 36 }, showlegend: false, font: font(), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line-strong"), font: { ...font(), color: colour("--text") } },
});
const axis = () => ({ gridcolor: colour("--line"), linecolor: colour("--line-strong"), zerolinecolor: colour("--line-strong"), automargin: true });

const BAR = 20; // pixels that a bar and its name need
const bars = ({ systems, headline, focus }, box) => {
  const shown = systems.filter((system) => system.means[headline]).reverse();
  if (shown.length * BAR > box.clientHeight) box.style.height = `${shown.length * BAR}px`;
  const mean = (system) => system.means[headline];
  return [[{
    type: "bar", orientation: "h", y: shown.map((system) => system.name), x: shown.map((system) => mean(system).mean),
    marker: { color: shown.map((system) => colour(system.name === focus ? "--accent" : "--bar")) },
    error_x: {
      type: "data", symmetric: false, color: colour("--text"), thickness: 1.2, width: 4,
      array: shown.map((system) => (mean(system).high ?? mean(system).mean) - mean(system).mean),
      arrayminus: shown.map((system) => mean(system).mean - (mean(system).low ?? mean(system).mean)),
    },
    hovertemplate: "%{y}: %{x:.3f}<extra></extra>",
  }], { ...base(), xaxis: { ...axis(), rangemode: "tozero" }, yaxis: { ...axis(), ticksuffix: "  ", dtick: 1 } }];
};
// A label's words on lines of their own: the radar has room above and below rather than beside it.
const lines = (label) => label.replace(/, /g, ",<br>");
const radar = ({ systems, metrics, focus }) => {
  const few = systems.length > 6 ? systems.filter((system, index) => index < 5 || system.name === focus) : systems;
  return [few.map((system, index) => ({
    type: "scatterpolar", name: system.name, mode: "lines+markers",
    r: [...metrics, metrics[0]].map((metric) => system.means[metric.name]?.mean ?? null), theta: [...metrics, metrics[0]].map((metric) => lines(metric.label)),
    line: { color: colour(system.name === focus ? "--accent" : `--cluster-${(index + 1) % 10}`), width: system.name === focus ? 3 : 1.5 },
    text: [...metrics, metrics[0]].map((metric) => metric.label), hovertemplate: "%{text}: %{r:.3f}",
  })), {
    ...base(), showlegend: true, margin: { l: 84, r: 84, t: 48, b: 16 }, legend: { orientation: "h", x: 0.5, xanchor: "center", y: -0.22, font: { size: 11 } },
    polar: {
      bgcolor: "rgba(0,0,0,0)", radialaxis: { ...axis(), range: [0, 1], dtick: 0.25, angle: 90, tickangle: 90, tickfont: { size: 9 } },
      angularaxis: { ...axis(), tickfont: { size: 10.5 }, rotation: 90, direction: "clockwise" },
    },
  }];
};
// Where each point's name goes: the first side on which it covers no point and no name placed before it.
const SIDES = { "middle right": [1, 0], "middle left": [-1, 0], "top center": [0, -1], "bottom center": [0, 1] };
const sides = (points, names, [width, height]) => {
  const taken = points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
  return points.map(([x, y], index) => {
    const wide = names[index].length * 7, high = 14;
    const boxes = Object.entries(SIDES).map(([side, [dx, dy]]) => {
      const left = dx > 0 ? x + 9 : dx < 0 ? x - 9 - wide : x - wide / 2;
      const top = dy > 0 ? y + 9 : dy < 0 ? y - 9 - high : y - high / 2;
      const box = [left, top, left + wide, top + high];
      const outside = Math.max(0, -box[0]) + Math.max(0, box[2] - width) + Math.max(0, -box[1]) + Math.max(0, box[3] - height);
      const covered = taken.reduce((sum, [a, b, c, d]) => sum + Math.max(0, Math.min(box[2], c) - Math.max(box[0], a)) * Math.max(0, Math.min(box[3], d) - Math.max(box[1], b)), 0);
      return { side, box, cost: covered + 20 * outside };
    });
    const best = boxes.reduce((one, other) => (other.cost < one.cost ? other : one));
    taken.push(best.box);
    return best.side;
  });
};
const latency = ({ systems, headline, focus }, box) => {
  const shown = systems.filter((system) => system.means[headline] && system.latency.p50 !== undefined);
  const few = shown.length <= 12; // more names than that cover each other whatever one does: pointing at them tells
  const xs = shown.map((system) => system.latency.p50), ys = shown.map((system) => system.means[headline].mean);
  const margin = { l: 56, r: 24, t: 24, b: 40 };
  const [low, high] = [Math.min(...ys), Math.max(...ys)], pad = (high - low || 0.02) * 0.12;
  const right = Math.max(...xs) * 1.12;
  const size = [box.clientWidth - margin.l - margin.r, box.clientHeight - margin.t - margin.b];
  const pixels = xs.map((x, index) => [(x / right) * size[0], ((high + pad - ys[index]) / (high - low + 2 * pad)) * size[1]]);
  return [[{
    type: "scatter", mode: few ? "markers+text" : "markers", x: xs, y: ys,
    text: shown.map((system) => system.name), cliponaxis: false,
    textposition: sides(pixels, shown.map((system) => system.name), size),
    marker: { size: 11, color: shown.map((system) => colour(system.name === focus ? "--accent" : "--bar")) },
    hovertemplate: "%{text}: %{y:.3f} at %{x:.1f} ms<extra></extra>",
  }], {
    ...base(), margin, xaxis: { ...axis(), automargin: false, title: { text: "median, ms" }, range: [0, right] },
    yaxis: { ...axis(), automargin: false, range: [low - pad, high + pad] },
  }];
};

if (panel && source) {
  const data = JSON.parse(source.textContent);
  const kinds = { bars, radar, latency };
  const draw = async () => {
    const Plotly = await plotly(panel.dataset.plotly);
    for (const box of panel.querySelectorAll("[data-chart]")) {
      const [traces, layout] = kinds[box.dataset.chart](data, box);
      await Plotly.react(box, traces, layout, config);
      box.dataset.drawn = "yes";
    }
  };
  const failed = () => { for (const box of panel.querySelectorAll("[data-chart]")) box.textContent = "The picture could not be drawn; the table below has the figures."; };
  requestAnimationFrame(() => requestAnimationFrame(() => draw().catch(failed)));
  onColours(() => draw().catch(failed));
}

for (const table of document.querySelectorAll("[data-sortable]")) {
  const body = table.tBodies[0];
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = column ? Number.parseFloat(text) : Number.NaN; // a question may begin with a number
    return Number.isNaN(number) ? text : number;
  };
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const cell = button.closest("th");
      const up = cell.getAttribute("aria-sort") === "descending";
      for (const other of cell.parentElement.cells) other.setAttribute("aria-sort", "none");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1;
      body.append(...[...body.rows].sort((a, b) => {
        const [x, y] = [value(a, cell.cellIndex), value(b, cell.cellIndex)];
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1; // what has no value comes last either way
        return sign * (typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true }));
      }));
    });
  }
}
document.querySelector("[data-filter]")?.addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of document.querySelector("[data-sortable]").tBodies[0].rows) {
    const text = row.cells[0].textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
});
document.querySelector("[data-metric]")?.addEventListener("change", ({ target }) => location.assign(target.value));
