// The search pages' comforts: suggestions, switches, folding, copying, thumbs, keys. Everything works without it.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);
const busy = () => document.documentElement.classList.add("busy");
addEventListener("pageshow", () => document.documentElement.classList.remove("busy"));

const question = () => one("[data-question]")?.dataset.question || "";
const live = document.createElement("p");
live.className = "sr";
live.setAttribute("role", "status");
document.body.append(live);
const say = (text) => { live.textContent = ""; setTimeout(() => { live.textContent = text; }, 50); };

// ── suggestions of names as you type ──
for (const form of all("[data-ask]")) {
  const input = one("input[type=search]", form);
  const list = one(".suggestions", form);
  let names = [], chosen = -1, timer = 0, asked = "", abort = null;

  const close = () => {
    list.hidden = true; chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (index) => {
    chosen = index;
    all("li", list).forEach((item, number) => item.setAttribute("aria-selected", String(number === index)));
    if (index >= 0) input.setAttribute("aria-activedescendant", `s${index}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (index) => { input.value = names[index]; close(); busy(); form.requestSubmit(); };
  const show = (picked) => { // what was chosen with the arrow keys stays chosen when more letters bring another list
    list.replaceChildren(...names.map((name, index) => {
      const item = document.createElement("li");
      item.id = `s${index}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      const typed = document.createElement("b");
      typed.textContent = name.slice(0, asked.length);
      item.append(typed, name.slice(asked.length));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(index); });
      return item;
    }));
    list.hidden = !names.length;
    choose(names.indexOf(picked));
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  const ask = async () => {
    asked = input.value.trim();
    if (asked.length < 2 || /\s/.test(asked)) { names = []; close(); return; }
    abort?.abort();
    abort = new AbortController();
    try {
      const reply = await fetch(`/api/suggest?prefix=${encodeURIComponent(asked)}`, { signal: abort.signal });
      const found = reply.ok ? (await reply.json()).names : [];
      const picked = names[chosen];
      names = found;
      if (document.activeElement === input) show(picked);
    } catch { /* typing went on, or the server is away: no suggestions then */ }
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 90); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) { close(); event.preventDefault(); }
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      choose(((chosen + 1 + step + names.length + 1) % (names.length + 1)) - 1);
    } else if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); take(chosen); }
  });
  form.addEventListener("submit", (event) => {
    if (!input.value.trim()) { event.preventDefault(); input.focus(); return; }
    busy();
  });
}

// ── switches: a change is a new address ──
addEventListener("pageshow", () => { // coming back, they show the page's state again and not the last change
  for (const form of all("[data-switches]")) form.reset();
});
for (const form of all("[data-switches]")) {
  form.addEventListener("change", () => {
    const typed = one("#q")?.value.trim();
    if (typed) form.elements.q.value = typed;
    if (!form.elements.q.value) return;
    const state = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value && value !== form.elements[name].dataset?.usual) state.set(name, value);
    }
    busy();
    location.assign(`/search?${state}`);
  });
}
document.addEventListener("click", (event) => {
  const link = event.target.closest(".filters a, .pager a, .examples a");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) busy();
});

// ── folds that are open where there is room ──
const wide = matchMedia("(min-width: 60rem)");
const beside = matchMedia("(min-width: 70rem)"); // there is room for the map beside the list
for (const fold of all("[data-wide-open]")) fold.open = wide.matches;

// ── nothing to search yet, or the engine is away: go on when there is ──
const waiting = one("[data-until-ready]");
if (waiting) {
  waiting.hidden = false;
  setInterval(async () => {
    try {
      if (!document.hidden && (await fetch("/readyz", { cache: "no-store" })).ok) location.reload();
    } catch { /* the service itself is away: ask again */ }
  }, 3000);
}

// ── results ──
// A vote needs no key: the page sets a cookie that no other site can read, and its script sends it back.
const token = () => (document.cookie.match(/(?:^|; )treeline-token=([^;]*)/) || [])[1] || "";
const feedback = (id, signal, undo = false) => {
  const query = question();
  if (!query) return Promise.resolve(false);
  return fetch("/api/feedback", {
    method: "POST", keepalive: true, headers: { "Content-Type": "application/json", "X-Treeline-Token": token() },
    body: JSON.stringify({ query, function: id, signal, undo }),
  }).then((reply) => reply.ok, () => false);
};
// What was voted here, so that a thumb still shows after a reload and can be taken back: the service keeps counts alone.
const MOST_VOTES = 500;
const remembered = () => {
  try { return new Map(JSON.parse(localStorage.getItem("votes"))); } catch { return new Map(); }
};
const voteOn = (id) => `${question()}\n${id}`;
const remember = (id, signal) => {
  const votes = remembered();
  votes.delete(voteOn(id));
  if (signal) votes.set(voteOn(id), signal);
  try { localStorage.setItem("votes", JSON.stringify([...votes].slice(-MOST_VOTES))); } catch { /* private windows may refuse; the thumb then lasts a page */ }
};
const copied = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // pages that are not on https or loopback have no clipboard object
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};
for (const button of all("[data-copy]")) {
  button.addEventListener("click", async () => {
    try {
      const reply = await fetch(button.dataset.copy);
      await copied((await reply.json()).original_string);
      button.classList.add("done");
      say("Copied");
      setTimeout(() => button.classList.remove("done"), 1500);
    } catch { say("Could not copy"); }
  });
}
for (const result of all(".result")) {
  const id = result.dataset.id;
  for (const link of all("[data-open]", result)) link.addEventListener("click", () => { feedback(id, "open"); });
  const votes = all("[data-vote]", result);
  const press = (signal) => {
    for (const button of votes) button.setAttribute("aria-pressed", String(button.dataset.vote === signal));
  };
  let voted = remembered().get(voteOn(id)) || "", wanted = voted, sending = false;
  press(voted);
  const send = async () => { // one request at a time, until the service has what was clicked last
    while (voted !== wanted) {
      const signal = wanted;
      const kept = voted ? await feedback(id, voted, true) : await feedback(id, signal);
      if (!kept) return false;
      voted = voted ? "" : signal;
    }
    return true;
  };
  for (const button of votes) {
    button.addEventListener("click", async () => {
      wanted = wanted === button.dataset.vote ? "" : button.dataset.vote;
      press(wanted);
      if (sending) return; // it goes out when the one under way is through
      sending = true;
      const kept = await send();
      wanted = voted;
      press(voted);
      remember(id, voted);
      sending = false;
      say(!kept ? "Could not be kept" : voted ? "Thank you; it counts for this question" : "Taken back");
    });
  }
  const more = one("[data-more]", result);
  more?.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      const reply = await fetch(`/functions/${id}/code?q=${encodeURIComponent(question())}`);
      if (!reply.ok) throw new Error(String(reply.status));
      const code = one("pre.code code", result), gutter = one(".gutter", result);
      code.innerHTML = await reply.text(); // escaped by the server, as the preview was
      const first = Number(gutter.dataset.first);
      gutter.textContent = code.textContent.replace(/\n$/, "").split("\n").map((_, line) => first + line).join("\n");
    } catch { location.assign(more.href); return; } // its page has the code, or says what is the matter
    more.remove();
    one("pre.code", result).focus();
  });
  const alike = one("[data-similar]", result);
  alike?.addEventListener("toggle", async () => {
    if (!alike.open || alike.dataset.loaded) return;
    const body = one(".alike-body", alike);
    body.textContent = "Looking …";
    try {
      const reply = await fetch(alike.dataset.similar);
      if (!reply.ok) throw new Error(String(reply.status));
      body.innerHTML = await reply.text();
      alike.dataset.loaded = "yes";
    } catch { body.textContent = "Similar code could not be loaded; close and open this to try again."; }
  });
}

// ── keys ──
let current = -1;
const go = (step) => {
  const results = all(".result");
  if (!results.length) return;
  current = Math.max(0, Math.min(results.length - 1, current + step));
  results.forEach((result, index) => result.classList.toggle("current", index === current));
  one("h2 a", results[current]).focus();
  results[current].scrollIntoView({ block: "nearest" });
};
document.addEventListener("focusin", (event) => {
  const at = all(".result").indexOf(event.target.closest?.(".result"));
  if (at >= 0) current = at;
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select")) return;
  const result = all(".result")[current];
  if (event.key === "/") { event.preventDefault(); const box = one("#q"); box.focus(); box.select(); }
  else if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "w" && result) { const why = one(".why", result); why.open = !why.open; }
  else if (event.key === "c" && result) one("[data-copy]", result).click();
});

// ── the map, after first paint and only where it is looked at ──
const map = one("[data-map]");
if (map) {
  const off = new URLSearchParams(location.search).get("map") === "off";
  let started = false;
  const draw = async () => {
    if (started) return;
    started = true;
    const { start } = await import(map.dataset.mapScript);
    start(map);
  };
  map.addEventListener("toggle", () => {
    if (map.open) draw();
    const address = new URL(location.href);
    const shown = map.open || !beside.matches;
    if (shown) address.searchParams.delete("map"); else address.searchParams.set("map", "off");
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  });
  if (!off && beside.matches) {
    const idle = globalThis.requestIdleCallback || ((task) => setTimeout(task, 200));
    new PerformanceObserver((seen, observer) => { // frames may be asked for long before the first is on the screen
      if (!seen.getEntriesByName("first-contentful-paint").length) return;
      observer.disconnect();
      idle(() => { map.open = true; });
    }).observe({ type: "paint", buffered: true });
  }
}
