
// The table of rules: search, sorting, a second method beside ours, more rows on demand.
function ruleTable(root) {
  const data = dataOf(root.dataset.rules);
  const search = root.querySelector("input");
  const select = root.querySelector("select");
  const output = root.querySelector("output");
  const body = root.querySelector("tbody");
  const heads = [...root.querySelectorAll("th[aria-sort]")];
  const more = root.querySelector(".more");
  const page = 100;
  const onPaper = 500;
  let sort = null;
  let falling = false;
  let limit = data.first;
  let beside = data.methods.findIndex((_, method) => method !== data.ours);

  const haystack = data.rules.map((rule) => (rule[0] + "\n" + rule[1]).toLowerCase());
  const keys = {
    name: (rule) => rule[0],
    text: (rule) => rule[1],
    strength: (rule) => rule[2],
    reach: (rule) => rule[3],
    real: (rule) => rule[4] ?? -1,
    ours: (rule) => rule[5][data.ours] ?? -1,
    beside: (rule) => rule[5][beside] ?? -1,
  };
  const collator = new Intl.Collator("en", { numeric: true });

  function chosen() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const rules = data.rules.filter((_, at) => words.every((word) => haystack[at].includes(word)));
    if (!sort) return rules;
    const key = keys[sort];
    const turn = falling ? -1 : 1;
    const compare = (a, b) => (typeof a === "string" ? collator.compare(a, b) : a - b);
    return rules.sort((a, b) => turn * compare(key(a), key(b)));
  }
  function titleOf(key) {
    return root.querySelector(`[data-sort="${key}"]`).textContent;
  }
  function cell(tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    return element;
  }
  // Small screens show the head of the column beside the figure.
  function tally(figure, label) {
    const element = tallyCell(figure);
    element.dataset.label = label;
    return element;
  }
  function tallyCell(figure) {
    if (figure === null || figure === undefined) return cell("td", "n/a", "figure missing");
    const digits = figure === 0 ? 0 : data.digits;
    const text = figure > 0 && figure < 0.05
      ? "<0.1" : figure.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return cell("td", text, figure > 0 ? "figure broken" : "figure");
  }
  function row(rule) {
    const element = document.createElement("tr");
    const name = cell("th", rule[0]);
    name.scope = "row";
    element.append(name, cell("td", rule[1], "code"), cell("td", rule[2]), cell("td", rule[3]));
    element.append(tally(rule[4], titleOf("real")));
    if (data.methods.length > 0) element.append(tally(rule[5][data.ours], data.methods[data.ours]));
    if (beside >= 0) element.append(tally(rule[5][beside], data.methods[beside]));
    return element;
  }
  function draw() {
    const rules = chosen();
    const shown = rules.slice(0, limit);
    body.replaceChildren(...shown.map(row));
    const number = (count) => count.toLocaleString("en");
    const all = data.rules.length;
    output.textContent = (rules.length === all ? "" : number(rules.length) + " of ")
      + number(all) + (all === 1 ? " rule" : " rules");
    more.querySelector("span").textContent = all === 0 ? "There are no rules."
      : rules.length === 0 ? "No rule matches."
        : shown.length < rules.length ? number(shown.length) + " of " + number(rules.length) + " shown" : "";
    more.querySelector("button").hidden = shown.length === rules.length;
    for (const head of heads) {
      const is = head.querySelector("button").dataset.sort === sort;
      head.setAttribute("aria-sort", !is ? "none" : falling ? "descending" : "ascending");
    }
  }

  search.addEventListener("input", () => { limit = data.first; draw(); });
  select?.addEventListener("change", () => {
    beside = Number(select.value);
    root.querySelector('[data-sort="beside"]').textContent = data.methods[beside];
    draw();
  });
  for (const head of heads) {
    head.querySelector("button").addEventListener("click", (event) => {
      const key = event.currentTarget.dataset.sort;
      const figures = ["real", "ours", "beside"].includes(key);
      // Most violations first; names from A.
      falling = sort === key ? !falling : figures;
      sort = key;
      draw();
    });
  }
  more.querySelector("button").addEventListener("click", () => { limit += limit < page ? page - limit : 2 * page; draw(); });
  // Paper cannot be scrolled or searched: print what is chosen, within reason.
  addEventListener("beforeprint", () => { limit = Math.max(limit, onPaper); draw(); });
  draw();
}

document.querySelectorAll("[data-rules]").forEach(ruleTable);
