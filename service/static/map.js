// The results' tree in the Poincaré disk: geodesics, points coloured by cluster, the ten best numbered.
import { colour, config, font, onColours, plain, plotly } from "./plotly.js";

const STEPS = 10; // points of a drawn geodesic
const TEN = 10;

// The geodesic between two points: a circle that meets the rim at right angles, or a diameter.
export const geodesic = (a, b) => {
  const cross = a.x * b.y - a.y * b.x;
  const points = [];
  if (Math.abs(cross) < 1e-6) {
    for (let step = 0; step <= STEPS; step += 1) points.push([a.x + ((b.x - a.x) * step) / STEPS, a.y + ((b.y - a.y) * step) / STEPS]);
    return points;
  }
  const left = (a.x * a.x + a.y * a.y + 1) / 2, right = (b.x * b.x + b.y * b.y + 1) / 2;
  const x = (left * b.y - right * a.y) / cross, y = (right * a.x - left * b.x) / cross;
  const radius = Math.hypot(a.x - x, a.y - y);
  const from = Math.atan2(a.y - y, a.x - x);
  let turn = Math.atan2(b.y - y, b.x - x) - from;
  if (turn > Math.PI) turn -= 2 * Math.PI;
  if (turn < -Math.PI) turn += 2 * Math.PI;
  for (let step = 0; step <= STEPS; step += 1) {
    const angle = from + (turn * step) / STEPS;
    points.push([x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
  }
  return points;
};

const edges = (nodes) => {
  const xs = [], ys = [];
  for (const node of nodes) {
    if (node.parent === null) continue;
    for (const [x, y] of geodesic(nodes[node.parent], node)) { xs.push(x); ys.push(y); }
    xs.push(null); ys.push(null);
  }
  return { x: xs, y: ys, mode: "lines", hoverinfo: "skip", line: { color: colour("--line-strong"), width: 1 } };
};

const traces = (nodes, when) => {
  const inner = nodes.filter((node) => node.id === null);
  const functions = nodes.filter((node) => node.id !== null);
  const best = (node) => node[when] !== null && node[when] <= TEN;
  const shade = (node) => colour(node.cluster === null ? "--accent" : `--cluster-${node.cluster % 10}`);
  const text = (node) => `<b>${plain(node.label)}</b><br>${plain(node.place)}<br>rank ${node.rank}${node.before !== node.rank ? `, ${node.before} before re-ranking` : ""}`;
  const points = (some, marker, extra = {}) => ({
    x: some.map((node) => node.x), y: some.map((node) => node.y), mode: "markers", type: "scatter",
    customdata: some.map((node) => [node.id, node.rank]), hovertext: some.map(text), hoverinfo: "text",
    marker: { ...marker, color: some.map(shade) }, ...extra,
  });
  return [
    edges(nodes),
    {
      x: inner.map((node) => node.x), y: inner.map((node) => node.y), mode: "markers", hoverinfo: "text",
      hovertext: inner.map((node) => `${node.kind}: ${plain(node.label || "all repositories")}`),
      marker: { size: 4, color: colour("--line-strong") },
    },
    points(functions.filter((node) => !best(node)), { size: 7, opacity: 0.75 }),
    points(functions.filter(best), { size: 19, line: { width: 2, color: colour("--surface") } }, {
      mode: "markers+text", text: functions.filter(best).map((node) => String(node[when])), textposition: "middle center",
      textfont: { size: 10.5, color: colour("--on-cluster"), weight: 700 },
    }),
  ];
};

const layout = () => ({
  autosize: true, margin: { l: 4, r: 4, t: 4, b: 4 }, showlegend: false, dragmode: "pan", hovermode: "closest", font: font(),
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  xaxis: { visible: false, range: [-1.06, 1.06], fixedrange: false }, yaxis: { visible: false, range: [-1.06, 1.06], scaleanchor: "x" },
  hoverlabel: { align: "left", bgcolor: colour("--surface"), bordercolor: colour("--line-strong"), font: { ...font(), color: colour("--text") } },
  shapes: [{ type: "circle", x0: -1, y0: -1, x1: 1, y1: 1, line: { color: colour("--line-strong"), width: 1 }, fillcolor: colour("--surface"), layer: "below" }],
});

export const start = async (panel) => {
  const box = panel.querySelector(".disk");
  try {
    const [Plotly, reply] = await Promise.all([plotly(panel.dataset.plotly), fetch(panel.dataset.mapApi)]);
    if (!reply.ok) throw new Error((await reply.json()).error?.message || "the map could not be had");
    const { nodes } = await reply.json();
    if (!nodes.length) { box.textContent = "There is nothing to draw."; return; }
    const when = () => panel.querySelector("input[name=when]:checked").value;
    box.replaceChildren();
    const draw = () => Plotly.react(box, traces(nodes, when()), layout(), { ...config, scrollZoom: true });
    await draw();
    for (const { id, cluster } of nodes) { // the list wears the map's colours
      const badge = id && cluster !== null && document.querySelector(`.result[data-id="${id}"] .rank`);
      if (badge) { badge.className = `rank cluster-${cluster % 10}`; badge.title = `cluster ${cluster + 1}`; }
    }
    box.dataset.drawn = "yes";
    onColours(draw);
    for (const input of panel.querySelectorAll("input[name=when]")) input.addEventListener("change", draw);
    box.on("plotly_click", ({ points: [point] }) => {
      const id = point.customdata?.[0];
      if (!id) return;
      location.assign(`/functions/${id}${location.search}`); // it leads back to this list
    });
    // Point at a function and its place in the list lights up, and the other way round.
    const light = (id, on) => document.querySelector(`.result[data-id="${id}"]`)?.classList.toggle("lit", on);
    box.on("plotly_hover", ({ points: [point] }) => point.customdata && light(point.customdata[0], true));
    box.on("plotly_unhover", ({ points: [point] }) => point.customdata && light(point.customdata[0], false));
    for (const result of document.querySelectorAll(".result")) {
      result.addEventListener("mouseenter", () => {
        for (const curve of [2, 3]) {
          const at = box.data[curve].customdata.findIndex(([id]) => id === result.dataset.id);
          if (at >= 0) Plotly.Fx.hover(box, [{ curveNumber: curve, pointNumber: at }]);
        }
      });
      result.addEventListener("mouseleave", () => Plotly.Fx.unhover(box));
    }
  } catch (error) {
    box.textContent = `The map could not be drawn: ${error.message}.`;
  }
};
