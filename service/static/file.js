// The code view: choose lines, see who calls what is under the cursor, cards on names, the rest of a long file.
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const file = one("[data-file]"), box = one(".source-code"), chosen = one(".chosen");
const gutter = () => one(".gutter", box), code = () => one(".code", box);
const total = Number(file.dataset.total);
let first = Number(box.dataset.first), from = 0, to = 0;

// ── where lines are ──
const height = () => parseFloat(getComputedStyle(code()).lineHeight);
const padding = () => parseFloat(getComputedStyle(code()).paddingTop);
const count = () => gutter().childElementCount;
const last = () => first + count() - 1;
const lineAt = (y) => Math.max(first, Math.min(last(), first + Math.floor((y - code().getBoundingClientRect().top - padding()) / height())));

// ── chosen lines: #L10 and #L10-L20 ──
const parse = (hash) => {
  const found = /^#L(\d+)(?:-L?(\d+))?$/.exec(hash);
  return found ? [Number(found[1]), Number(found[2] || found[1])].sort((a, b) => a - b) : null;
};
const paint = () => {
  chosen.hidden = !from || to < first || from > last();
  if (chosen.hidden) return;
  const start = Math.max(from, first), end = Math.min(to, last());
  chosen.style.top = `${code().offsetTop + padding() + (start - first) * height()}px`;
  chosen.style.height = `${(end - start + 1) * height()}px`;
};
const fragment = () => (from === to ? `#L${from}` : `#L${from}-L${to}`);
const choose = (a, b, push = true) => {
  [from, to] = [Math.min(a, b), Math.max(a, b)];
  if (push) history.replaceState(history.state, "", fragment());
  paint();
  panel(from);
};
const follow = (scroll) => {
  const wanted = parse(location.hash);
  if (!wanted) return;
  if (wanted[0] < first || wanted[0] > last()) {
    if (wanted[0] >= 1 && wanted[0] <= total) location.replace(`${file.dataset.file}?from=${Math.max(1, wanted[0] - 30)}${location.hash}`);
    return;
  }
  choose(wanted[0], wanted[1], false);
  if (scroll) one(`#L${wanted[0]}`)?.scrollIntoView({ block: "start" });
};
box.addEventListener("click", (event) => {
  const link = event.target.closest(".gutter a");
  if (link) {
    event.preventDefault();
    const line = Number(link.textContent);
    choose(event.shiftKey && from ? from : line, line);
  } else if (event.target.closest(".code") && !event.target.closest("a")) panel(lineAt(event.clientY));
});
box.addEventListener("keydown", (event) => { // one stop for the tab key; arrows move along the numbers, with shift they choose a range
  const link = event.target.closest(".gutter a");
  if (!link || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const next = event.key === "ArrowDown" ? link.nextElementSibling : link.previousElementSibling;
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (event.shiftKey) choose(from === Number(link.textContent) ? to : from || Number(link.textContent), Number(next.textContent));
});
const oneStop = () => all("a", gutter()).forEach((link, index) => { link.tabIndex = index ? -1 : 0; });
addEventListener("hashchange", () => follow(true));
addEventListener("resize", paint);

// ── what is known of the unit at a line ──
const seen = new Map();
const about = (address, line) => {
  const url = `${address}?at=${line}`;
  if (!seen.has(url)) seen.set(url, fetch(url).then((reply) => (reply.ok ? reply.text() : ""), () => ""));
  return seen.get(url);
};
const place = one("[data-unit-panel]");
let wanted = 0;
async function panel(line) {
  wanted = line;
  const html = await about(file.dataset.file, line);
  if (wanted !== line || !html.trim()) return;
  place.innerHTML = html; // escaped by the server
  let here = null;
  for (const link of all(".outline a")) { link.classList.remove("here"); if (Number(link.dataset.line) <= line) here = link; }
  here?.classList.add("here");
  const rows = one(".outline"); // scrolls by itself: the page stays where it is
  if (here) rows.scrollTop = here.getBoundingClientRect().top - rows.getBoundingClientRect().top + rows.scrollTop - rows.clientHeight / 2;
}

place.addEventListener("click", (event) => { if (event.target.closest("[data-close]")) { wanted = 0; place.replaceChildren(); } });

// ── cards on names ──
const card = one("[data-card]");
let timer = 0;
const target = (link) => {
  const address = new URL(link.href);
  const line = parse(address.hash);
  if (address.pathname.startsWith("/files/") && line) return [address.pathname, line[0]];
  return [file.dataset.file, lineAt(link.getBoundingClientRect().top + height() / 2)];
};
const show = async (link) => {
  const html = await about(...target(link));
  if (!html.trim() || card.dataset.of !== link.href) return;
  card.innerHTML = html; // escaped by the server
  card.hidden = false;
  const at = link.getBoundingClientRect(), room = file.getBoundingClientRect();
  card.style.left = `${Math.max(0, Math.min(at.left - room.left, room.width - card.offsetWidth - 16))}px`;
  card.style.top = `${at.bottom - room.top + 6}px`;
};
const hide = () => { clearTimeout(timer); card.hidden = true; card.dataset.of = ""; };
file.style.position = "relative";
for (const kind of ["mouseover", "focusin"]) {
  box.addEventListener(kind, (event) => {
    const link = event.target.closest(".code a");
    if (!link) return;
    clearTimeout(timer);
    card.dataset.of = link.href;
    timer = setTimeout(() => show(link), kind === "focusin" ? 0 : 250);
  });
}
box.addEventListener("mouseout", (event) => { if (event.target.closest(".code a") && !card.contains(event.relatedTarget)) hide(); });
box.addEventListener("focusout", hide);
card.addEventListener("mouseleave", hide);
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

// ── copying ──
const say = (button, text) => { const before = button.dataset.label ||= button.textContent; button.textContent = text; setTimeout(() => { button.textContent = before; }, 1500); };
const copy = async (button, text) => {
  try { await navigator.clipboard.writeText(await text()); say(button, "Copied"); } catch { say(button, "Could not copy"); }
};
one("[data-copy-link]").addEventListener("click", ({ target: button }) => copy(button, async () => location.origin + file.dataset.file + (from ? fragment() : "")));
one("[data-copy-code]").addEventListener("click", ({ target: button }) => copy(button, async () => {
  const text = await (await fetch(`${file.dataset.file}?raw=1`)).text();
  return from ? text.split(/\r\n|\r|\n/).slice(from - 1, to).join("\n") : text;
}));
one("[data-editor]")?.addEventListener("click", ({ currentTarget: link }) => { if (from) link.href = link.href.replace(/:\d+$/, `:${from}`); });
one("[data-source]")?.addEventListener("click", ({ currentTarget: link }) => { if (from) link.href = link.href.replace(/#.*$/, "") + fragment(); });

// ── the rest of a long file, as one comes near its end ──
const more = async () => {
  const next = one(".next-part", box);
  if (!next || next.dataset.busy) return;
  next.dataset.busy = "yes";
  try {
    const reply = await fetch(`${next.getAttribute("href")}&part=1`);
    if (!reply.ok) throw new Error(String(reply.status));
    const part = new DOMParser().parseFromString(await reply.text(), "text/html");
    gutter().append(...one(".gutter", part).childNodes);
    one("code", code()).append("\n", ...one(".code code", part).childNodes);
    next.remove();
    const following = one(".next-part", part);
    if (following) { box.append(following); watch(); }
    oneStop();
    paint();
  } catch { delete next.dataset.busy; } // the link still leads there
};
const watch = () => {
  const next = one(".next-part", box);
  if (!next) return;
  new IntersectionObserver((entries, observer) => {
    if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); more(); }
  }, { rootMargin: "1500px" }).observe(next);
};

oneStop();
watch();
follow(true);
