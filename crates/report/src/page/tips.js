
// One hint for the whole page. Its lines are text and never markup: names come from data.
const tip = {
  element: document.getElementById("tip"),
  place: null,
  stays: false,

  // `place` gives where on the screen it points to. One that stays, since the keyboard asked for it, moves
  // along when the page scrolls; others go away.
  show(lines, place, stays) {
    const first = document.createElement("b");
    first.textContent = lines[0];
    this.element.replaceChildren(first, lines.slice(1).join("\n"));
    this.element.hidden = false;
    Object.assign(this, { place, stays });
    this.move();
  },

  move() {
    const { x, y } = this.place();
    const box = this.element.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 14, document.documentElement.clientWidth - box.width - 8));
    const above = y - box.height - 12;
    this.element.style.left = left + "px";
    this.element.style.top = (above > 8 ? above : y + 18) + "px";
  },

  hide() {
    this.element.hidden = true;
  },
};

document.addEventListener("scroll", () => {
  if (tip.element.hidden) return;
  if (tip.stays) tip.move();
  else tip.hide();
}, { passive: true });

// From a key to a step through marks; undefined for other keys.
function stepOf(key) {
  return { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
}

// What comes after an item of a list, round and round; the first or the last where there is none.
function stepFrom(list, item, step) {
  const from = list.indexOf(item);
  const next = from < 0 && step < 0 ? -1 : from + step;
  return list[(next + list.length) % list.length];
}

// Marks and chips that carry their words: by pointer, by touch, by keyboard.
{
  let shown = null;

  const show = (mark, place, stays) => {
    shown?.classList.remove("shown");
    shown = mark;
    mark.classList.add("shown");
    tip.show(mark.dataset.tip.split("\n"), place, stays);
  };
  const showAt = (mark) => {
    show(mark, () => {
      const box = mark.getBoundingClientRect();
      return { x: box.left + box.width / 2, y: box.top };
    }, true);
  };
  const hide = () => {
    if (!shown) return;
    shown.classList.remove("shown");
    shown = null;
    tip.hide();
  };

  const byPointer = (event) => {
    const mark = event.target.closest?.("[data-tip]");
    const spot = { x: event.clientX, y: event.clientY };
    if (mark) show(mark, () => spot, false);
    else if (!tip.stays || event.type === "pointerdown") hide();
  };
  document.addEventListener("pointermove", byPointer);
  document.addEventListener("pointerdown", byPointer);
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-tip]")) showAt(event.target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = stepOf(event.key);
    if (!step || !event.target.matches("svg")) return;
    const marks = [...event.target.querySelectorAll("[data-tip]")];
    if (marks.length === 0) return;
    event.preventDefault();
    showAt(stepFrom(marks, shown, step));
  });
}
