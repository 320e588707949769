"""A script that lists texts of a page that are too faint on their ground."""

# Given the least ratio of contrast, as the accessibility guidelines (WCAG 2) define it. Grounds are looked
# for upwards; a text in a drawing stands on the ground of what holds the drawing.
FAINT_TEXT = """
const channel = (value) => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [red, green, blue] = parse(colour).map(channel);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = (element) => {
  for (let box = element; box; box = box.parentElement) {
    const colour = getComputedStyle(box).backgroundColor;
    const parts = parse(colour);
    if (parts.length < 4 || parts[3] > 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const faint = new Set();
for (const element of document.querySelectorAll("body *")) {
  const words = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
  if (!words || element.closest("script, [hidden]") || element.getClientRects().length === 0) continue;
  const style = getComputedStyle(element);
  const ink = light(element.closest("svg") ? style.fill : style.color);
  const paper = light(ground(element));
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (ratio < arguments[0]) faint.add(element.tagName + "." + element.getAttribute("class") + " " + ratio.toFixed(2));
}
return [...faint];
"""
