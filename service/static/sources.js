// Add, update and remove sources, with the progress of the change that runs. The key, where one is needed, stays in the form.
const one = (selector, root = document) => root.querySelector(selector);
const form = one("[data-add]"), list = one("[data-list]"), job = one("[data-job]"), problem = one("[data-problem]");
const LOOK_EVERY = 700; // milliseconds
const DOING = { add: "Adding", update: "Updating", remove: "Removing" };
let running = false, timer = 0;

const call = async (path, body) => {
  const headers = { ...(body ? { "Content-Type": "application/json" } : {}), ...(form.elements.key?.value ? { Authorization: `Bearer ${form.elements.key.value}` } : {}) };
  const reply = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" });
  const found = await reply.json();
  if (!reply.ok) throw new Error([found.error.message, found.error.hint].filter(Boolean).join(": "));
  return found;
};
const complain = (error) => { problem.textContent = error ? error.message : ""; problem.hidden = !error; };
const index = () => form.elements.index.value;

const button = (label, act, really = "") => { // what cannot be undone is asked twice
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.disabled = running;
  made.addEventListener("click", () => {
    if (really && made.textContent !== really) { made.textContent = really; return; }
    act();
  });
  made.addEventListener("blur", () => { made.textContent = label; });
  return made;
};
const show = async () => {
  const { sources } = await call(`/api/sources?index=${encodeURIComponent(index())}`);
  const rows = sources.map(({ name, updatable }) => {
    const row = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
    head.scope = "row";
    head.textContent = name;
    const change = (action) => start({ action, source: name, index: index() });
    const buttons = [button("Remove", () => change("remove"), "Really remove?")];
    if (updatable) buttons.unshift(button("Update", () => change("update")));
    for (const each of buttons) each.setAttribute("aria-description", name);
    cell.append(...buttons);
    row.append(head, cell);
    return row;
  });
  one("tbody", list).replaceChildren(...rows);
  list.hidden = !rows.length;
  one("[data-none]").hidden = rows.length > 0;
};
const tell = (found) => {
  job.hidden = !found;
  if (!found) return;
  const share = found.total ? `, ${Math.floor((100 * found.done) / found.total)} %` : "";
  const ended = { done: "Done", failed: "Failed", stopped: "Stopped" }[found.state];
  const text = ended ? `${ended}: ${found.source}. ${found.message[0]?.toUpperCase() || ""}${found.message.slice(1)}.` : `${DOING[found.action]} ${found.source}: ${found.stage}${share}`;
  const place = one("[data-job-text]"), bar = one("[data-job-bar]");
  if (place.textContent !== text) place.textContent = text;
  job.classList.toggle("warn", found.state === "failed");
  bar.hidden = one("[data-stop]").hidden = Boolean(ended);
  if (found.total) { bar.max = found.total; bar.value = found.done; } else bar.removeAttribute("value");
};
const look = async () => {
  clearTimeout(timer);
  try {
    const { job: found } = await call("/api/sources/job");
    const was = running;
    running = found?.state === "running";
    tell(found);
    if (running !== was || list.hidden) await show();
    complain(null);
  } catch (error) { complain(error); }
  if (running) timer = setTimeout(look, LOOK_EVERY);
};
const start = async (change) => {
  try {
    await call("/api/sources", change);
    form.elements.source.value = "";
    await look();
  } catch (error) { complain(error); }
};
form.addEventListener("submit", (event) => {
  event.preventDefault();
  start({ action: "add", source: form.elements.source.value, index: index() });
});
form.elements.index.addEventListener("change", () => show().catch(complain));
form.elements.key?.addEventListener("change", look);
one("[data-stop]").addEventListener("click", () => call("/api/sources/stop", {}).then(look, complain));
form.hidden = false;
if (!form.elements.key) look();
