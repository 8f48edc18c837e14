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

// ── what was asked before, and searches that are kept: in this browser alone ──
const MOST_RECENT = 30, MOST_SAVED = 50;
const stored = (name) => { try { return JSON.parse(localStorage.getItem(name)) || []; } catch { return []; } };
const store = (name, rows) => { try { localStorage.setItem(name, JSON.stringify(rows)); } catch { /* private windows may refuse */ } };
const recent = () => stored("recent").filter((text) => typeof text === "string");
const saved = () => stored("saved").filter((row) => Array.isArray(row) && typeof row[0] === "string" && String(row[1]).startsWith("/search?"));
if (question() && location.pathname === "/search") store("recent", [question(), ...recent().filter((text) => text !== question())].slice(0, MOST_RECENT));
const here = () => { // this search, without what only this view of it has
  const address = new URL(location.href);
  for (const name of ["page", "map"]) address.searchParams.delete(name);
  return address.pathname + address.search;
};
const keep = one("[data-save]");
if (keep) {
  keep.hidden = false;
  const isKept = () => saved().some(([, address]) => address === here());
  const tell = () => { keep.setAttribute("aria-pressed", String(isKept())); keep.textContent = isKept() ? "Saved" : "Save"; };
  keep.addEventListener("click", () => {
    const others = saved().filter(([, address]) => address !== here());
    store("saved", isKept() ? others : [[question(), here()], ...others].slice(0, MOST_SAVED));
    tell();
    say(isKept() ? "Saved in this browser" : "No longer saved");
  });
  tell();
}
for (const place of all("[data-kept]")) {
  const row = (label, address) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = address;
    link.textContent = label;
    item.append(link);
    return item;
  };
  const list = () => {
    place.replaceChildren();
    const groups = [["Saved searches", saved().map(([label, address]) => row(label, address))],
      ["Asked before", recent().slice(0, 8).map((text) => row(text, `/search?q=${encodeURIComponent(text)}`))]];
    for (const [title, rows] of groups) {
      if (!rows.length) continue;
      const heading = document.createElement("h2"), items = document.createElement("ul");
      heading.textContent = title;
      items.className = "examples";
      items.append(...rows);
      place.append(heading, items);
    }
    place.hidden = !place.childElementCount;
    if (!recent().length) return;
    const forget = document.createElement("button");
    forget.type = "button";
    forget.textContent = "Forget what was asked";
    forget.addEventListener("click", () => { store("recent", []); list(); });
    place.append(forget);
  };
  list();
}

// ── suggestions of names and filters as you type ──
const LONGEST_ADDRESS = 12_000; // a longer text goes in the body
for (const form of all("[data-ask]")) {
  const input = one("textarea", form);
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
  let filter = null; // the `repo:…` under the cursor, while it is one
  const take = (index) => {
    if (!filter) { input.value = names[index]; close(); busy(); form.requestSubmit(); return; }
    const value = filter.head + (/\s/.test(names[index]) ? `"${names[index]}"` : names[index]);
    const open = names[index].endsWith("/"); // a folder: go on with what is in it
    const rest = input.value.slice(filter.end).replace(/^\s*/, open ? "" : " ");
    input.value = input.value.slice(0, filter.start) + value + rest;
    const caret = filter.start + value.length + (open ? 0 : 1);
    input.setSelectionRange(caret, caret);
    close();
    if (open) ask();
  };
  const filterAt = () => {
    const caret = input.selectionStart ?? input.value.length, before = input.value.slice(0, caret);
    const found = /(?:^|\s)(-?(repo|lang|path|kind|role):(?:[^\s"]*,)?)([^\s",]*)$/.exec(before);
    return found && { head: found[1], name: found[2], typed: found[3], start: caret - found[3].length - found[1].length, end: caret };
  };
  const show = (picked) => { // what was chosen with the arrow keys stays chosen when more letters bring another list
    list.replaceChildren(...names.map((name, index) => {
      const item = document.createElement("li");
      item.id = `s${index}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      const typed = document.createElement("b");
      const at = Math.max(0, name.toLowerCase().indexOf(asked.toLowerCase()));
      typed.textContent = name.slice(at, at + asked.length);
      item.append(name.slice(0, at), typed, name.slice(at + asked.length));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(index); });
      return item;
    }));
    list.hidden = !names.length;
    choose(names.indexOf(picked));
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  const within = (given) => { // the index that is chosen
    const index = form.elements.index?.value;
    return new URLSearchParams({ ...given, ...(index ? { index } : {}) });
  };
  const ask = async () => {
    filter = filterAt();
    if (filter) { await complete(); return; }
    asked = input.value.trim();
    if (!asked) { names = recent().slice(0, 8); show(""); return; }
    if (asked.length < 2 || /\s/.test(asked)) { names = []; close(); return; }
    abort?.abort();
    abort = new AbortController();
    try {
      const reply = await fetch(`/api/suggest?${within({ prefix: asked })}`, { signal: abort.signal });
      const found = reply.ok ? (await reply.json()).names : [];
      const picked = names[chosen];
      names = found;
      if (document.activeElement === input) show(picked);
    } catch { /* typing went on, or the server is away: no suggestions then */ }
  };
  const complete = async () => {
    asked = filter.typed;
    abort?.abort();
    abort = new AbortController();
    const repo = /(?:^|\s)repo:([^\s"]+)/.exec(input.value)?.[1] || form.elements.repo?.value || "";
    const given = within({ filter: filter.name, prefix: asked, ...(filter.name === "path" && repo ? { repo } : {}) });
    try {
      const reply = await fetch(`/api/complete?${given}`, { signal: abort.signal });
      const picked = names[chosen];
      names = reply.ok ? (await reply.json()).values : [];
      if (document.activeElement === input) show(picked);
    } catch { /* typing went on, or the server is away */ }
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 90); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) { close(); event.preventDefault(); }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && chosen < 0) { event.preventDefault(); form.requestSubmit(); }
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      choose(((chosen + 1 + step + names.length + 1) % (names.length + 1)) - 1);
    } else if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); take(chosen); }
  });
  form.addEventListener("submit", (event) => {
    if (!input.value.trim()) { event.preventDefault(); input.focus(); return; }
    if (encodeURIComponent(input.value).length > LONGEST_ADDRESS) form.method = "post";
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

// ── a comparison: both places of one result light up ──
for (const row of all("[data-pair]")) {
  for (const [kind, on] of [["mouseenter", true], ["mouseleave", false]]) {
    row.addEventListener(kind, () => all(`[data-pair="${row.dataset.pair}"]`).forEach((each) => each.classList.toggle("lit", on)));
  }
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
      gutter.textContent = first ? code.textContent.replace(/\n$/, "").split("\n").map((_, line) => first + line).join("\n") : "";
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

const share = one("[data-share]");
if (share) {
  share.hidden = false;
  share.addEventListener("click", async () => {
    try { await copied(location.origin + here()); say("Link copied"); share.textContent = "Copied"; } catch { share.textContent = "Could not copy"; }
    setTimeout(() => { share.textContent = "Copy link"; }, 1500);
  });
}

// ── keys ──
const KEYS = [["/", "go to the search box"], ["j", "next result"], ["k", "previous result"], ["Enter", "open it"], ["w", "why it is here"],
  ["c", "copy its code"], ["↑ ↓", "move along suggestions or line numbers; with Shift, choose lines"], ["Esc", "close"], ["?", "this list"]];
const keys = document.createElement("dialog");
keys.className = "keys";
keys.setAttribute("aria-label", "Keys");
const explain = () => {
  if (!keys.childElementCount) {
    const rows = document.createElement("dl");
    for (const [key, what] of KEYS) {
      const name = document.createElement("dt"), about = document.createElement("dd"), cap = document.createElement("kbd");
      cap.textContent = key;
      name.append(cap);
      about.textContent = what;
      rows.append(name, about);
    }
    const heading = document.createElement("h2"), close = document.createElement("button");
    heading.textContent = "Keys";
    close.type = "button";
    close.className = "primary";
    close.textContent = "Close";
    close.addEventListener("click", () => keys.close());
    keys.append(heading, rows, close);
    document.body.append(keys);
  }
  keys.showModal();
};
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
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open || event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select")) return;
  const result = all(".result")[current];
  if (event.key === "/") { event.preventDefault(); const box = one("#q"); box.focus(); box.select(); }
  else if (event.key === "?") { event.preventDefault(); explain(); }
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
