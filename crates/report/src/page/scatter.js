
// Scatter plots: the point nearest to the pointer is named, and ringed in every panel.
function scatterPlot(search) {
  const id = search.dataset.scatterSearch;
  const data = dataOf(id);
  const figure = search.closest("figure");
  const output = figure.querySelector("output");
  const drawings = [...figure.querySelectorAll("svg.scatter")];
  // Farthest from the diagonal first: what a reader wants to see when stepping by keyboard.
  const orders = data.panels.map(() => null);
  let current = -1;

  function fraction(value) {
    if (data.scale === "log") return Math.log(value / data.low) / Math.log(data.high / data.low);
    if (data.scale === "square_root") return Math.sqrt(value / data.high);
    return (value - data.low) / (data.high - data.low);
  }
  function place(panel, point) {
    const real = data.real[point];
    const synthetic = data.panels[panel].synthetic[point];
    if (real == null || synthetic == null || (real === 0 && synthetic === 0)) return null;
    const beside = data.gutter > 0;
    const x = real === 0 && beside
      ? data.left - data.gutter / 2 : data.left + fraction(real) * (data.right - data.left);
    const y = synthetic === 0 && beside
      ? data.bottom + data.gutter / 2 : data.bottom - fraction(synthetic) * (data.bottom - data.top);
    return { x, y };
  }
  const places = data.panels.map((_, panel) => data.names.map((_, point) => place(panel, point)));

  function ring(point) {
    current = point;
    drawings.forEach((drawing, panel) => {
      const circle = drawing.querySelector(".ring");
      const at = point < 0 ? null : places[panel][point];
      circle.setAttribute("visibility", at ? "visible" : "hidden");
      if (!at) return;
      circle.setAttribute("cx", at.x);
      circle.setAttribute("cy", at.y);
    });
  }
  function lines(panel, point) {
    return [
      data.names[point],
      "real: " + percent(data.real[point]),
      "synthetic: " + percent(data.panels[panel].synthetic[point]),
    ];
  }
  function show(panel, point, stays) {
    ring(point);
    const place = () => {
      const spot = drawings[panel].createSVGPoint();
      Object.assign(spot, places[panel][point]);
      return spot.matrixTransform(drawings[panel].getScreenCTM());
    };
    tip.show(lines(panel, point), place, stays);
  }
  function nearest(panel, event) {
    const spot = drawings[panel].createSVGPoint();
    Object.assign(spot, { x: event.clientX, y: event.clientY });
    const { x, y } = spot.matrixTransform(drawings[panel].getScreenCTM().inverse());
    let best = -1;
    let least = 14 * 14;
    places[panel].forEach((at, point) => {
      if (!at) return;
      const distance = (at.x - x) ** 2 + (at.y - y) ** 2;
      if (distance < least) [best, least] = [point, distance];
    });
    return best;
  }
  function away(panel, point) {
    const at = places[panel][point];
    return Math.abs(at.x - data.left - (data.bottom - at.y));
  }
  function leave() {
    ring(-1);
    tip.hide();
  }

  drawings.forEach((drawing, panel) => {
    const byPointer = (event) => {
      const point = nearest(panel, event);
      if (point < 0) leave();
      else show(panel, point, false);
    };
    drawing.addEventListener("pointermove", byPointer);
    drawing.addEventListener("pointerdown", byPointer);
    drawing.addEventListener("pointerleave", leave);
    drawing.addEventListener("blur", leave);
    drawing.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
      const step = stepOf(event.key);
      if (!step) return;
      event.preventDefault();
      orders[panel] ??= [...data.names.keys()]
        .filter((point) => places[panel][point])
        .sort((a, b) => away(panel, b) - away(panel, a));
      if (orders[panel].length > 0) show(panel, stepFrom(orders[panel], current, step), true);
    });
  });

  search.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase();
    const found = words === ""
      ? [] : [...data.names.keys()].filter((point) => data.names[point].toLowerCase().includes(words));
    ring(found.length > 0 ? found[0] : -1);
    if (words === "") output.textContent = "";
    else if (found.length === 0) output.textContent = "no " + data.point + " with this name";
    else {
      const others = found.length > 1 ? ", and " + (found.length - 1).toLocaleString("en") + " more" : "";
      output.textContent = lines(0, found[0]).slice(0, data.panels.length === 1 ? 3 : 2).join(", ") + others;
    }
  });
}

document.querySelectorAll("[data-scatter-search]").forEach(scatterPlot);
