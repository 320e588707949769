
// Rules to choose from: search, ticks, notes, and the file that is made of them.
function review(root) {
  const data = dataOf("review");
  const find = (name) => root.querySelector(`[data-${name}]`);
  const search = root.querySelector("input[type=search]");
  const filters = Object.fromEntries(
    [...root.querySelectorAll("[data-filter]")].map((select) => [select.dataset.filter, select]),
  );
  const groups = [...root.querySelectorAll("[data-group]")];
  const sections = [...root.querySelectorAll("section")];
  // More codes than these are counted; a category may have hundreds.
  const mostCodes = 12;
  const longestNote = 500;

  const rules = data.rules.map(([group, name, statement, sentence, evidence, codes, ticked]) => {
    const words = [name, statement, sentence, ...codes.flatMap(([code, title]) => [code, title])];
    const haystack = words.join("\n").toLowerCase();
    return { group, name, statement, sentence, evidence, codes, ticked, suggested: ticked, note: "", haystack };
  });
  const number = (count) => count.toLocaleString("en");
  const named = (count) => number(count) + (count === 1 ? " rule" : " rules");
  const chosen = () => rules.filter((rule) => rule.ticked);

  // Letters that would turn the text after them around, or that cannot be seen.
  function visible(text) {
    return text.replace(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
  }
  // Text that stays within a comment line.
  function oneLine(text) {
    return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();
  }
  function element(tag, name, text = "") {
    const made = document.createElement(tag);
    made.className = name;
    made.textContent = visible(text);
    return made;
  }

  // What the browser keeps between two visits to the page: what differs from the suggestion.
  const memory = {
    key: "consequence-review " + data.key,
    read() {
      try {
        const { ticked = {}, notes = {} } = JSON.parse(localStorage.getItem(this.key)) ?? {};
        rules.forEach((rule, at) => {
          if (typeof ticked[at] === "boolean") rule.ticked = ticked[at];
          if (typeof notes[at] === "string") rule.note = oneLine(notes[at]).slice(0, longestNote);
        });
      } catch {
        // What was kept cannot be read: the page begins anew.
      }
    },
    write() {
      const changed = rules.map((rule, at) => [at, rule]);
      const ticked = changed.filter(([, rule]) => rule.ticked !== rule.suggested).map(([at, rule]) => [at, rule.ticked]);
      const notes = changed.filter(([, rule]) => rule.note !== "").map(([at, rule]) => [at, rule.note]);
      try {
        localStorage.setItem(
          this.key,
          JSON.stringify({ ticked: Object.fromEntries(ticked), notes: Object.fromEntries(notes) }),
        );
        tell("Choices are kept in this browser.");
      } catch {
        tell("This browser keeps no choices: save before you leave.");
      }
    },
  };
  function tell(text) {
    find("told").textContent = text;
  }

  function codeList(codes) {
    const list = element("ul", "codes");
    for (const [code, title, seen] of codes.slice(0, mostCodes)) {
      const item = document.createElement("li");
      item.append(element("span", "name", code), " " + visible([title, seen].filter((part) => part !== "").join(", ")));
      list.append(item);
    }
    if (codes.length > mostCodes) list.append(element("li", "", `and ${number(codes.length - mostCodes)} more`));
    return list;
  }
  function draw(rule) {
    const row = document.createElement("li");
    const tick = element("label", "tick");
    const box = document.createElement("input");
    box.type = "checkbox";
    tick.append(box, element("span", "", rule.sentence || rule.name));
    const remark = element("label", "remark");
    const note = document.createElement("input");
    Object.assign(note, { type: "text", placeholder: "Note", maxLength: longestNote, autocomplete: "off", value: rule.note });
    remark.append(element("span", "unseen", "Note on " + rule.name), note);
    const onPaper = element("p", "on-paper", rule.note);
    row.append(
      tick, element("p", "evidence", rule.evidence), element("p", "code", rule.statement), codeList(rule.codes), remark, onPaper,
    );
    Object.assign(rule, { row, box });
    box.addEventListener("change", () => { rule.ticked = box.checked; count(); memory.write(); });
    note.addEventListener("input", () => {
      rule.note = oneLine(note.value);
      onPaper.textContent = visible(rule.note);
      memory.write();
    });
    return row;
  }

  // What is ticked, as boxes and figures show it.
  function count() {
    const tallies = groups.map(() => [0, 0]);
    for (const rule of rules) {
      rule.box.checked = rule.ticked;
      rule.row.classList.toggle("chosen", rule.ticked);
      tallies[rule.group][0] += Number(rule.ticked);
      tallies[rule.group][1] += 1;
    }
    groups.forEach((group, at) => {
      const [some, all] = tallies[at];
      group.querySelector(".tally").textContent = `${number(some)} of ${number(all)} chosen`;
    });
    find("chosen").textContent = `${number(chosen().length)} of ${named(rules.length)} chosen`;
    find("save").disabled = chosen().length === 0;
  }

  function matches() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const [kind, heading, state] = ["class", "heading", "state"].map((name) => filters[name].value);
    const states = {
      "": () => true,
      chosen: (rule) => rule.ticked,
      left: (rule) => !rule.ticked,
      noted: (rule) => rule.note !== "",
    };
    return (rule) => {
      const group = data.groups[rule.group];
      return (kind === "" || group[0] === kind) && (heading === "" || group[1] === heading)
        && states[state](rule) && words.every((word) => rule.haystack.includes(word));
    };
  }
  function filter() {
    const match = matches();
    const used = new Set();
    let shown = 0;
    for (const rule of rules) {
      rule.row.hidden = !match(rule);
      if (rule.row.hidden) continue;
      used.add(rule.group);
      shown += 1;
    }
    groups.forEach((group, at) => { group.hidden = !used.has(at); });
    for (const section of sections) section.hidden = !section.querySelector(".group:not([hidden])");
    find("shown").textContent = `${number(shown)} of ${number(rules.length)} shown`;
    if (rules.length === 0) return;
    find("none").hidden = shown > 0;
    find("none").textContent = "No rule matches.";
  }

  // A note or a title is a comment whatever is in it, so that it can never be read as a rule.
  function file() {
    const some = chosen();
    const lines = [`# ${number(some.length)} of ${named(rules.length)} chosen in a review.`];
    let group = null;
    for (const rule of some) {
      if (rule.group !== group) lines.push("", "", `# ---- ${data.groups[rule.group].map(oneLine).join(": ")} ----`);
      group = rule.group;
      const comments = [rule.sentence, rule.evidence, rule.note && "note: " + rule.note];
      const written = comments.map(oneLine).filter((comment) => comment !== "");
      lines.push("", ...written.map((comment) => "# " + comment), rule.statement);
    }
    const opening = data.opening === "" || data.opening.endsWith("\n") ? data.opening : data.opening + "\n";
    return opening + lines.join("\n") + "\n";
  }
  function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file()], { type: "application/octet-stream" }));
    link.download = "reviewed.rules";
    link.click();
    // Some browsers begin to read only after the click was handled.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    tell(`${named(chosen().length)} saved as ${link.download}.`);
  }

  search.addEventListener("input", filter);
  for (const select of Object.values(filters)) select.addEventListener("change", filter);
  for (const button of root.querySelectorAll("[data-tick]")) {
    button.addEventListener("click", () => {
      const to = { all: () => true, none: () => false, suggested: (rule) => rule.suggested }[button.dataset.tick];
      for (const rule of rules.filter((each) => !each.row.hidden)) rule.ticked = to(rule);
      count();
      memory.write();
    });
  }
  find("save").addEventListener("click", save);
  // From box to box, past what is not shown.
  root.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.type !== "checkbox") return;
    event.preventDefault();
    const shown = rules.filter((rule) => !rule.row.hidden);
    shown[shown.findIndex((rule) => rule.box === event.target) + step]?.box.focus();
  });

  memory.read();
  memory.write();
  const rows = groups.map(() => []);
  for (const rule of rules) rows[rule.group].push(draw(rule));
  groups.forEach((group, at) => { group.querySelector("ul").append(...rows[at]); });
  count();
  filter();
  find("bar").hidden = rules.length === 0;
}

document.querySelectorAll("[data-review]").forEach(review);
