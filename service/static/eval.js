// The dashboard's pictures, and its table to sort and filter.
import { colour, config, font, onColours, plotly } from "./plotly.js";

const panel = document.querySelector("[data-charts]");
const source = document.getElementById("chart-data");

const base = () => ({
  autosize: true, margin: { l: 8, r: 16, t: 8, b: 36 }, showlegend: false, font: font(), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line-strong"), font: { ...font(), color: colour("--text") } },
});
const axis = () => ({ gridcolor: colour("--line"), linecolor: colour("--line-strong"), zerolinecolor: colour("--line-strong"), automargin: true });

const bars = ({ systems, headline, focus }) => {
  const shown = systems.filter((system) => system.means[headline]).reverse();
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
  }], { ...base(), xaxis: { ...axis(), rangemode: "tozero" }, yaxis: { ...axis(), ticksuffix: "  " } }];
};
const radar = ({ systems, metrics, focus }) => {
  const few = systems.length > 6 ? systems.filter((system, index) => index < 5 || system.name === focus) : systems;
  return [few.map((system, index) => ({
    type: "scatterpolar", name: system.name, mode: "lines+markers",
    r: [...metrics, metrics[0]].map((metric) => system.means[metric.name]?.mean ?? null), theta: [...metrics, metrics[0]].map((metric) => metric.label),
    line: { color: colour(system.name === focus ? "--accent" : `--cluster-${(index + 1) % 10}`), width: system.name === focus ? 3 : 1.5 },
    hovertemplate: "%{theta}: %{r:.3f}",
  })), {
    ...base(), showlegend: true, margin: { l: 96, r: 96, t: 24, b: 8 }, legend: { orientation: "h", y: -0.12, font: { size: 11 } },
    polar: { bgcolor: "rgba(0,0,0,0)", radialaxis: { ...axis(), range: [0, 1], tickfont: { size: 10 } }, angularaxis: { ...axis(), tickfont: { size: 10.5 } } },
  }];
};
const latency = ({ systems, headline, focus }) => {
  const shown = systems.filter((system) => system.means[headline] && system.latency.p50 !== undefined);
  return [[{
    type: "scatter", mode: "markers+text", x: shown.map((system) => system.latency.p50), y: shown.map((system) => system.means[headline].mean),
    text: shown.map((system) => system.name), cliponaxis: false,
    textposition: shown.map((system, index) => (index % 2 ? "bottom center" : "top center")),
    marker: { size: 11, color: shown.map((system) => colour(system.name === focus ? "--accent" : "--bar")) },
    hovertemplate: "%{text}: %{y:.3f} at %{x:.1f} ms<extra></extra>",
  }], { ...base(), margin: { l: 48, r: 56, t: 24, b: 40 }, xaxis: { ...axis(), title: { text: "median, ms" }, rangemode: "tozero" }, yaxis: { ...axis(), rangemode: "normal", ticklabelposition: "outside" } }];
};

if (panel && source) {
  const data = JSON.parse(source.textContent);
  const kinds = { bars, radar, latency };
  const draw = async () => {
    const Plotly = await plotly(panel.dataset.plotly);
    for (const box of panel.querySelectorAll("[data-chart]")) {
      const [traces, layout] = kinds[box.dataset.chart](data);
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
    const number = Number.parseFloat(text);
    return Number.isNaN(number) ? text.toLowerCase() : number;
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
        return sign * (x < y ? -1 : x > y ? 1 : 0);
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
