// "Try it": sends the request that the form describes and shows what came back.
for (const form of document.querySelectorAll("[data-try]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let path = form.dataset.path;
    const query = new URLSearchParams();
    for (const field of form.querySelectorAll("[data-in]")) {
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      else if (field.value) query.set(field.name, field.value);
    }
    const address = query.size ? `${path}?${query}` : path;
    const options = { method: form.dataset.method };
    if (form.elements.body) Object.assign(options, { body: form.elements.body.value, headers: { "Content-Type": "application/json" } });
    const reply = form.querySelector(".reply");
    const [line, text] = [reply.querySelector("p"), reply.querySelector("pre")];
    reply.hidden = false;
    line.textContent = `${options.method} ${address} …`;
    text.textContent = "";
    const started = performance.now();
    try {
      const answer = await fetch(address, options);
      const body = await answer.text();
      line.textContent = `${options.method} ${address}: ${answer.status} in ${Math.round(performance.now() - started)} ms, ${body.length.toLocaleString("en")} characters`;
      try { text.textContent = JSON.stringify(JSON.parse(body), null, 2); } catch { text.textContent = body; }
    } catch (error) { line.textContent = `No answer: ${error.message}`; }
  });
}
