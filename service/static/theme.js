// The chosen colour scheme, set before the page is drawn so that it never flashes.
(() => {
  const root = document.documentElement;
  const read = () => {
    try { return localStorage.getItem("theme") || ""; } catch { return ""; }
  };
  const set = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    try { localStorage.setItem("theme", theme); } catch { /* private windows may refuse; the choice then lasts a page */ }
    document.dispatchEvent(new CustomEvent("themechange"));
  };
  const saved = read();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  document.addEventListener("DOMContentLoaded", () => {
    const names = { "": "as the system", light: "light", dark: "dark" };
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      const label = () => button.setAttribute("aria-label", `Colour scheme: ${names[root.dataset.theme || ""]}`);
      button.hidden = false;
      label();
      button.addEventListener("click", () => {
        const order = ["", "light", "dark"];
        set(order[(order.indexOf(root.dataset.theme || "") + 1) % order.length]);
        label();
      });
    }
  });
})();
