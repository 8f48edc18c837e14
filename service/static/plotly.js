// Loads Plotly once, when a picture is wanted.
let loading = null;
export const plotly = (address) => {
  loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = () => reject(new Error("Plotly could not be loaded"));
    document.head.append(script);
  });
  return loading;
};
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const font = () => ({ family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--muted") });
// Plotly reads a little HTML in its texts; what comes from code is text only.
export const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
export const config = { displayModeBar: false, responsive: true };
// Redraw when the colours change, by the switch or by the system.
export const onColours = (redraw) => {
  document.addEventListener("themechange", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
};
