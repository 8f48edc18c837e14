// The results' tree in the Poincaré disk: branches with names, points coloured by cluster, the ten best numbered.
// A click on a branch brings it to the middle (a Möbius translation: focus and context, after Lamping and Rao's
// hyperbolic browser); a click on its name searches within it.
const SIZE = 500; // the disk's radius in the picture's own units
const TEN = 10;
const STEPS = 8; // points of a drawn geodesic
const MOVE = 450; // milliseconds
const MOST_LABELS = 14;
const BEST = 24; // radius of a numbered point
const still = matchMedia("(prefers-reduced-motion: reduce)");
const svg = (name, given = {}, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
};
const html = (name, given = {}, ...inside) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
};

// ── complex numbers as [x, y] ──
const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
const over = ([a, b], [c, d]) => { const size = c * c + d * d; return [(a * c + b * d) / size, (b * c - a * d) / size]; };
const conjugate = ([a, b]) => [a, -b];
// Moves the point `centre` to the middle of the disk, and everything else with it; distances stay as they are.
export const translate = (z, centre) => {
  const below = times(conjugate(centre), z);
  return over([z[0] - centre[0], z[1] - centre[1]], [1 - below[0], -below[1]]);
};
// The point at a share of the way along the geodesic from one point to another.
export const along = (from, to, share) => {
  const there = translate(to, from);
  const length = Math.hypot(...there);
  if (length < 1e-9) return to;
  const reached = Math.tanh(share * Math.atanh(Math.min(length, 1 - 1e-12))) / length;
  return translate([there[0] * reached, there[1] * reached], [-from[0], -from[1]]);
};
const path = (a, b) => {
  const points = [];
  for (let step = 0; step <= STEPS; step += 1) points.push(along(a, b, step / STEPS).map((value) => (value * SIZE).toFixed(1)).join(" "));
  return `M${points.join("L")}`;
};

const under = (nodes) => { // how many results are below each node, and its path from the repository on
  for (const node of nodes) Object.assign(node, { results: node.id ? 1 : 0, children: [], repo: "", folder: "" });
  nodes.forEach((node) => { if (node.parent !== null) nodes[node.parent].children.push(node); });
  for (const node of [...nodes].reverse()) if (node.parent !== null) nodes[node.parent].results += node.results;
  const fill = (node, repo, folder) => {
    if (node.kind !== "root" && !node.id) {
      if (!repo) { // the repository's own name may have a slash in it, so it is taken from a result below
        let leaf = node;
        while (!leaf.id) leaf = leaf.children[0];
        node.repo = leaf.place.slice(0, leaf.place.indexOf(": "));
        node.folder = node.label.slice(node.repo.length).replace(/^\//, "");
      } else { node.repo = repo; node.folder = [folder, node.label].filter(Boolean).join("/"); }
    } else { node.repo = repo; node.folder = folder; }
    for (const child of node.children) fill(child, node.repo, node.folder);
  };
  if (nodes.length) fill(nodes[0], "", "");
};
const within = (node) => { // the same search, within a branch
  const address = new URL(location.href);
  address.pathname = "/search";
  for (const name of ["page", "map", "path"]) address.searchParams.delete(name);
  address.searchParams.set("repo", node.repo);
  if (node.folder && ["folder", "file"].includes(node.kind)) address.searchParams.set("path", node.folder);
  return address.pathname + address.search;
};
const short = (text, most = 26) => (text.length > most ? `…${text.slice(1 - most)}` : text);
const last = (node) => (node.kind === "repository" ? node.repo + (node.folder ? `/${node.folder}` : "") : node.label);
const isBranch = (node) => !node.id && node.kind !== "root" && node.repo;

// ── the same as a nested list, for keyboard and screen reader ──
const list = (nodes, clusters) => {
  const entry = (node) => {
    if (node.id) {
      const item = html("li", {}, html("a", { href: `/functions/${node.id}${location.search}` }, node.label), ` rank ${node.rank}`);
      if (clusters[node.cluster]) item.append(html("small", { class: "quiet" }, ` ${clusters[node.cluster]}`));
      return item;
    }
    const inside = html("ul", {}, ...node.children.map(entry));
    if (!isBranch(node)) return inside;
    return html("li", {}, html("a", { href: within(node) }, last(node)), ` ${node.results} ${node.results === 1 ? "result" : "results"}`, inside);
  };
  const root = entry(nodes[0]);
  return root.tagName === "LI" ? html("ul", {}, root) : root;
};

export const start = async (panel) => {
  const box = panel.querySelector(".disk"), note = panel.querySelector("[data-map-note]");
  try {
    const reply = await fetch(panel.dataset.mapApi);
    if (!reply.ok) throw new Error((await reply.json()).error?.message || "the map could not be had");
    const { nodes, clusters } = await reply.json();
    if (!nodes.length) { box.textContent = "There is nothing to draw."; return; }
    under(nodes);
    const when = () => panel.querySelector("input[name=when]:checked").value;
    const picture = svg("svg", { viewBox: "-520 -520 1040 1040", "aria-hidden": "true" });
    const edges = svg("g", { class: "edges" }), dots = svg("g"), names = svg("g", { class: "branch-names" });
    picture.append(svg("circle", { r: SIZE, class: "rim" }), edges, dots, names);

    for (const node of nodes) {
      if (node.parent !== null) { node.edge = svg("path"); edges.append(node.edge); }
      node.mark = svg("g", { class: node.id ? "point" : "branch" });
      if (node.id) {
        const shade = node.cluster === null ? "none" : node.cluster % 10;
        node.dot = svg("circle", { class: `on-map-${shade}` });
        node.number = svg("text", { "text-anchor": "middle", dy: ".35em" });
        node.mark.append(node.dot, node.number);
        node.mark.dataset.id = node.id;
        node.mark.addEventListener("click", () => location.assign(`/functions/${node.id}${location.search}`)); // it leads back to this list
      } else {
        node.dot = svg("circle", { r: 9 });
        node.mark.append(svg("circle", { r: 22, class: "reach" }), node.dot);
        node.mark.addEventListener("click", () => focus(node));
      }
      dots.append(node.mark);
    }

    // ── drawing ──
    let centre = [0, 0];
    const place = () => {
      for (const node of nodes) node.at = translate([node.x, node.y], centre);
      for (const node of nodes) {
        node.edge?.setAttribute("d", path(nodes[node.parent].at, node.at));
        node.size = Math.max(0.35, 1.15 - Math.hypot(...node.at) ** 6); // small at the rim
        node.mark.setAttribute("transform", `translate(${(node.at[0] * SIZE).toFixed(1)} ${(node.at[1] * SIZE).toFixed(1)}) scale(${node.size.toFixed(2)})`);
      }
    };
    const label = () => { // the largest branches first, as many as have room beside the numbers
      const taken = nodes.filter((node) => node.mark.classList.contains("best")).map((node) => (
        { x: node.at[0] * SIZE - BEST * node.size, y: node.at[1] * SIZE - BEST * node.size, width: 2 * BEST * node.size, height: 2 * BEST * node.size }));
      const order = ["repository", "folder", "file"];
      const rows = nodes.filter((node) => isBranch(node) && node.results > 1 && order.includes(node.kind));
      rows.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.results - a.results);
      names.replaceChildren();
      for (const node of rows) {
        if (names.childElementCount >= MOST_LABELS) break;
        if (Math.hypot(...node.at) > 0.93) continue;
        const text = short(last(node)), width = 13.5 * text.length + 16;
        const x = Math.max(-515, Math.min(515 - width, node.at[0] * SIZE - width / 2));
        const free = (y) => !taken.some((other) => x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + 32);
        const y = [node.at[1] * SIZE + 16, node.at[1] * SIZE - 46].find(free); // below it, or above
        if (y === undefined) continue;
        taken.push({ x, y, width, height: 32 });
        const link = svg("a", { href: within(node), tabindex: "-1" }, svg("rect", { x, y, width, height: 30, rx: 8 }), svg("text", { x: x + 8, y: y + 21 }, text));
        link.append(svg("title", {}, `Search within ${node.repo}${node.folder ? `/${node.folder}` : ""}: ${node.results} results here`));
        names.append(link);
      }
    };
    const rank = () => {
      const which = when();
      for (const node of nodes) {
        if (!node.id) continue;
        const best = node[which] !== null && node[which] <= TEN;
        node.mark.classList.toggle("best", best);
        node.dot.setAttribute("r", best ? BEST : 10); // eased by the style sheet
        node.number.textContent = best ? String(node[which]) : "";
        if (best) dots.append(node.mark); // above the others
      }
    };
    let frame = 0;
    const focus = (node) => {
      const from = centre, to = node ? [node.x, node.y] : [0, 0], begun = performance.now();
      cancelAnimationFrame(frame);
      names.replaceChildren();
      const step = (now) => {
        const share = still.matches ? 1 : Math.min(1, (now - begun) / MOVE);
        centre = along(from, to, share * share * (3 - 2 * share));
        place();
        if (share < 1) frame = requestAnimationFrame(step);
        else { label(); box.dataset.focus = node ? last(node) : ""; }
      };
      step(begun);
      tell(node);
    };
    const tell = (node) => {
      if (!node || !isBranch(node)) { note.replaceChildren("Each point is a result, each colour a cluster of the tree; the ten best are numbered. Click a branch to bring it to the middle, or its name to search within it."); return; }
      const back = html("button", { type: "button" }, "Whole map");
      back.addEventListener("click", () => focus(null));
      note.replaceChildren(`${last(node)}: ${node.results} ${node.results === 1 ? "result" : "results"}. `, html("a", { href: within(node) }, "Search within it"), " ", back);
    };

    // ── dragging moves the disk as a whole ──
    let held = null;
    const spot = (event) => {
      const frame_ = picture.getBoundingClientRect(), scale = frame_.width / 1040;
      const z = [(event.clientX - frame_.left) / scale / SIZE - 1.04, (event.clientY - frame_.top) / scale / SIZE - 1.04];
      const size = Math.hypot(...z);
      return size > 0.95 ? z.map((value) => (value * 0.95) / size) : z;
    };
    picture.addEventListener("pointerdown", (event) => { if (!event.target.closest(".point, .branch, a")) { held = spot(event); picture.setPointerCapture(event.pointerId); } });
    picture.addEventListener("pointermove", (event) => {
      if (!held) return;
      const now = spot(event);
      const moved = [(held[0] - now[0]) * 0.7, (held[1] - now[1]) * 0.7];
      centre = translate(moved, [-centre[0], -centre[1]]);
      if (Math.hypot(...centre) > 0.999) centre = centre.map((value) => value * 0.998);
      held = now;
      place();
      names.replaceChildren();
    });
    for (const kind of ["pointerup", "pointercancel"]) picture.addEventListener(kind, () => { if (held) { held = null; label(); } });

    // ── a word on what is pointed at; the list lights up with it ──
    const tip = html("p", { class: "map-tip", hidden: "" });
    const light = (id, on) => document.querySelector(`.result[data-id="${id}"]`)?.classList.toggle("lit", on);
    const point = (node, on) => {
      node.mark.classList.toggle("lit", on);
      tip.hidden = !on;
      if (!on) return;
      const moved = node.before !== node.rank ? `, ${node.before} before re-ranking` : "";
      tip.replaceChildren(html("b", {}, node.label), html("br"), node.place, html("br"), `rank ${node.rank}${moved}`);
      if (clusters[node.cluster]) tip.append(html("br"), `cluster of ${clusters[node.cluster]}`);
      const room = box.getBoundingClientRect(), at = node.mark.getBoundingClientRect();
      tip.style.left = `${Math.max(0, Math.min(room.width - tip.offsetWidth, at.left - room.left - tip.offsetWidth / 2))}px`;
      tip.style.top = `${at.bottom - room.top + 6}px`;
    };
    for (const node of nodes) {
      if (!node.id) { node.mark.append(svg("title", {}, `${node.kind}: ${last(node) || "all repositories"}`)); continue; }
      node.mark.addEventListener("mouseenter", () => { point(node, true); light(node.id, true); });
      node.mark.addEventListener("mouseleave", () => { point(node, false); light(node.id, false); });
      const result = document.querySelector(`.result[data-id="${node.id}"]`);
      result?.addEventListener("mouseenter", () => point(node, true));
      result?.addEventListener("mouseleave", () => point(node, false));
      const badge = result?.querySelector(".rank"); // the list wears the map's colours
      if (badge && node.cluster !== null) { badge.className = `rank cluster-${node.cluster % 10}`; badge.title = clusters[node.cluster] ? `cluster of ${clusters[node.cluster]}` : `cluster ${node.cluster + 1}`; }
    }

    const legend = panel.querySelector("[data-map-legend]");
    const used = [...new Set(nodes.filter((node) => node.id && node.cluster !== null).map((node) => node.cluster))].sort((a, b) => a - b);
    const places = [...new Set(used.map((cluster) => clusters[cluster]).filter(Boolean))]; // one may be of several colours
    const swatch = (cluster) => html("span", { class: `swatch cluster-${cluster % 10}`, "aria-hidden": "true" });
    legend.replaceChildren(...places.map((place) => html("li", {}, ...used.filter((cluster) => clusters[cluster] === place).map(swatch), place)));
    panel.querySelector("[data-map-list]").replaceChildren(list(nodes, clusters));
    panel.querySelector("[data-map-as-list]").hidden = false;
    place();
    rank();
    label();
    tell(null);
    box.replaceChildren(picture, tip);
    box.dataset.drawn = "yes";
    for (const input of panel.querySelectorAll("input[name=when]")) input.addEventListener("change", () => { rank(); label(); });
  } catch (error) {
    box.textContent = `The map could not be drawn: ${error.message}.`;
  }
};
