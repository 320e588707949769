
"use strict";

// Light or dark: as the system says, until the reader says otherwise.
{
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  dark.addEventListener("change", name);
  button.hidden = false;
  name();
}

// The data that the page holds for one of its blocks.
function dataOf(id) {
  return JSON.parse(document.getElementById(id + "-data").textContent);
}

// A figure with three digits that matter.
function significant(figure) {
  if (figure === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(figure)));
  if (size < -5 || size >= 15) return figure.toExponential(1).replaceAll("-", "\u2212");
  const digits = Math.min(12, Math.max(0, 2 - size));
  const text = figure.toLocaleString("en", { maximumFractionDigits: digits });
  return text.replace("-", "\u2212");
}

function percent(figure) {
  return figure === null || figure === undefined ? "n/a" : significant(figure * 100) + "%";
}
