// The table of queries: sort and filter it, and open both rankings of a query. Without this script the table is plain.
// All text is put in as text, never as HTML.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("bench-data").textContent);
  const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(4);
  const figure = (value) => (value === null ? "-" : value.toFixed(4));
  const onTop = (rank) => rank !== null && rank <= data.k;
  let opened = null; // the row whose rankings are shown
  const benches = [...document.querySelectorAll(".bench")].map(prepare);
  let bench = benches[0]; // the one that is shown

  document.documentElement.classList.add("js");
  offerRuns();
  document.addEventListener("keydown", key);

  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function prepare(section) {
    const body = section.querySelector(".queries tbody");
    const rows = [...body.rows].map((row) => {
      const name = row.cells[0];
      const button = el("button", { type: "button", class: "open", "aria-expanded": "false" }, ...name.childNodes);
      name.append(button);
      const kind = row.cells[4].textContent;
      const made = { row, button, kind, query: data.queries[Number(row.dataset.query)], at: Number(row.dataset.query) };
      made.words = row.textContent.toLowerCase();
      made.difference = parseFloat(row.cells[3].textContent);
      made.outcome = row.dataset.outcome;
      row.addEventListener("click", (event) => {
        if (event.target.closest("button") || !String(getSelection())) toggle(made);
      });
      return made;
    });
    const made = { section, body, rows, run: Number(section.dataset.run), tools: section.querySelector(".tools") };
    addTools(made);
    addSorting(made);
    return made;
  }

  // Sorting

  function addSorting(of) {
    const heads = [...of.section.querySelectorAll(".queries thead th")];
    heads.forEach((head, column) => {
      const button = el("button", { type: "button", class: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sort(of, column, falling ? -1 : 1);
      });
    });
  }

  function sort(of, column, direction) {
    close();
    const keyed = of.rows.map((one) => [one, one.row.cells[column].textContent]);
    const numbers = column >= 1 && column <= 3;
    const value = (text) => (Number.isNaN(parseFloat(text)) ? -Infinity : parseFloat(text));
    const compare = numbers ? (a, b) => value(a) - value(b) || 0 : new Intl.Collator(undefined, { numeric: true }).compare;
    keyed.sort((a, b) => direction * compare(a[1], b[1]) || a[0].at - b[0].at);
    of.rows = keyed.map(([one]) => one);
    of.body.append(...of.rows.map((one) => one.row));
  }

  // Filters

  function addTools(of) {
    const counts = new Map();
    for (const { kind } of of.rows) counts.set(kind, (counts.get(kind) || 0) + 1);
    of.filter = el("input", { type: "search", placeholder: "words, ids, kinds", autocomplete: "off" });
    of.outcome = choice([["", "all"], ["worse", "worse"], ["better", "better"], ["equal", "equal"]]);
    of.kind = choice([["", "all"], ...[...counts].map(([name, count]) => [name, `${name} (${count})`])]);
    of.group = choice([["", "all"]]);
    data.groups.forEach(([title, groups], grouping) => {
      const options = groups.map(([name, members], place) => {
        return el("option", { value: `${grouping} ${place}` }, `${name} (${members.length})`);
      });
      of.group.append(el("optgroup", { label: title }, ...options));
    });
    of.status = el("p", { role: "status", class: "status" });
    const tools = [["Filter", of.filter], ["Outcome", of.outcome], ["Kind", of.kind], ["Group", of.group]];
    for (const [name, control] of tools) {
      of.tools.append(el("label", {}, `${name} `, control));
      control.addEventListener("input", () => narrow(of));
    }
    const keys = "Keys: j and k move, Enter opens, Escape closes, / filters.";
    of.tools.append(of.status, el("p", { class: "keys" }, keys));
    of.tools.hidden = false;
    narrow(of);
  }

  function choice(options) {
    return el("select", {}, ...options.map(([value, text]) => el("option", { value }, text)));
  }

  function narrow(of) {
    close();
    const words = of.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [grouping, place] = of.group.value.split(" ");
    const members = of.group.value ? new Set(data.groups[grouping][1][place][1]) : null;
    let [count, sum] = [0, 0];
    for (const one of of.rows) {
      const fits =
        words.every((word) => one.words.includes(word)) &&
        (!of.outcome.value || one.outcome === of.outcome.value) &&
        (!of.kind.value || one.kind === of.kind.value) &&
        (!members || members.has(one.at));
      one.row.hidden = !fits;
      count += fits;
      sum += fits && !Number.isNaN(one.difference) ? one.difference : 0;
    }
    const mean = count ? `, mean difference ${signed(sum / count)}` : "";
    of.status.textContent = `${count} of ${of.rows.length} queries${mean}`;
  }

  // Several runs: one at a time

  function offerRuns() {
    if (benches.length < 2) return;
    benches.forEach((one, place) => {
      const select = choice(benches.map((other, number) => [String(number), data.runs[other.run]]));
      select.value = String(place);
      one.tools.prepend(el("label", {}, "Run ", select));
      select.addEventListener("input", () => {
        const next = benches[Number(select.value)];
        select.value = String(place);
        show(next);
        next.tools.querySelector("select").focus();
      });
    });
    show(bench);
  }

  function show(next) {
    close();
    bench = next;
    for (const one of benches) one.section.hidden = one !== bench;
  }

  // Rankings

  function toggle(one) {
    const again = opened === one;
    close();
    if (!again) open(one);
  }

  function close() {
    if (!opened) return;
    opened.button.setAttribute("aria-expanded", "false");
    opened.row.classList.remove("opened");
    opened.row.nextElementSibling.remove();
    opened = null;
  }

  function open(one) {
    opened = one;
    one.button.setAttribute("aria-expanded", "true");
    one.row.classList.add("opened");
    const columns = [...one.row.cells].filter((cell) => getComputedStyle(cell).display !== "none"); // fewer when narrow
    const cell = el("td", { colspan: String(columns.length) }, detail(one));
    one.row.after(el("tr", { class: "detail" }, cell));
    one.row.scrollIntoView({ block: "nearest" });
  }

  function detail(one) {
    const made = el("div", { class: "inside" });
    const why = one.row.cells[5].textContent;
    made.append(el("p", {}, el("strong", {}, one.kind), why ? `: ${why}` : ""), measures(one.query));
    made.append(el("div", { class: "sides" }, side(one.query, 0, bench.run), side(one.query, bench.run, 0)));
    const further = one.query.docs.filter(([, , ranks]) => !onTop(ranks[0]) && !onTop(ranks[bench.run]));
    const relevant = further.filter(([, grade]) => grade !== null && grade >= data.rel);
    if (relevant.length || one.query.more) made.append(below(relevant, one.query.more));
    return made;
  }

  function measures(query) {
    const [first, second] = [data.runs[0], data.runs[bench.run]];
    const heads = ["measure", first, second, "difference"].map((name, place) => {
      return el("th", { scope: "col", class: place ? "r" : "" }, name);
    });
    const rows = data.measures.map((name, place) => {
      const [a, b] = [query.values[place][0], query.values[place][bench.run]];
      const difference = a === null || b === null ? "-" : signed(b - a);
      const cells = [figure(a), figure(b), difference].map((text) => el("td", { class: "r" }, text));
      return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
    });
    return el("table", { class: "values" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  }

  function side(query, run, other) {
    const docs = query.docs.filter(([, , ranks]) => onTop(ranks[run])).sort((a, b) => a[2][run] - b[2][run]);
    const list = el("ol", { class: "ranking" }, ...docs.map((doc) => item(doc, run, other)));
    const content = docs.length ? list : el("p", {}, "No results.");
    return el("section", {}, el("h4", {}, data.runs[run]), content);
  }

  function item(doc, run, other) {
    const [id, grade, ranks, title, pieces] = doc;
    const made = el("li", { class: standing(grade), value: String(ranks[run]) });
    made.append(el("p", { class: "facts" }, label(grade), " ", movement(ranks[run], ranks[other], run), " ", el("code", {}, id)));
    if (title) made.append(el("p", { class: "title" }, title));
    if (pieces.length) made.append(snippet(pieces));
    const twins = (on) => {
      for (const twin of made.closest(".sides").querySelectorAll("li")) {
        twin.classList.toggle("twin", on && twin.querySelector("code").textContent === id);
      }
    };
    made.addEventListener("mouseenter", () => twins(true));
    made.addEventListener("mouseleave", () => twins(false));
    return made;
  }

  function standing(grade) {
    if (grade === null) return "unjudged";
    return grade >= data.rel ? "relevant" : "not";
  }

  function label(grade) {
    return el("span", { class: "grade" }, grade === null ? "unjudged" : `grade ${grade}`);
  }

  // In the baseline's list where a document goes, in the other where it comes from.
  function movement(rank, there, run) {
    const base = run === 0;
    if (there === null) return el("span", { class: "move" }, base ? "gone" : "new");
    if (there === rank) return el("span", { class: "move" }, "same rank");
    const up = base ? there < rank : rank < there;
    const word = base ? `to ${there}` : `from ${there}`;
    return el("span", { class: up ? "move up" : "move down" }, `${up ? "\u25b2" : "\u25bc"} ${word}`);
  }

  // Every second piece is a word of the query.
  function snippet(pieces) {
    return el("p", { class: "snippet" }, ...pieces.map((piece, place) => (place % 2 ? el("mark", {}, piece) : piece)));
  }

  function below(docs, more) {
    const [first, second] = [data.runs[0], data.runs[bench.run]];
    const place = (rank) => (rank === null ? "not returned" : `rank ${rank}`);
    const items = docs.map(([id, grade, ranks, title]) => {
      const where = `${first}: ${place(ranks[0])}, ${second}: ${place(ranks[bench.run])}`;
      return el("li", {}, label(grade), " ", el("code", {}, id), ` ${where}`, title ? ` \u2013 ${title}` : "");
    });
    if (more) items.push(el("li", {}, `and ${more} more`));
    return el("section", { class: "below" }, el("h4", {}, "Relevant documents further down"), el("ul", {}, ...items));
  }

  // Keys

  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape") leave(typing);
    else if (typing) return;
    else if (event.key === "/") bench.filter.focus();
    else if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  function leave(typing) {
    if (typing && typing === bench.filter) {
      bench.filter.value = "";
      narrow(bench);
      bench.filter.blur();
    } else if (opened) {
      const { button } = opened;
      close();
      button.focus();
    }
  }

  function move(step) {
    const rows = bench.rows.filter((one) => !one.row.hidden);
    if (!rows.length) return;
    const focused = rows.findIndex((one) => one === opened || one.button === document.activeElement);
    const at = focused < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(focused + step, 0), rows.length - 1);
    const next = rows[at];
    if (opened && opened !== next) {
      close();
      open(next);
    }
    next.button.focus({ preventScroll: true });
    next.row.scrollIntoView({ block: "nearest" });
  }
})();
