// The list of items of a run, from a small index; answers and histories are unpacked on demand.
// All texts are inserted as text, never as markup.
"use strict";
(async () => {
  const PAGE = 50;
  const at = (id) => document.getElementById(id);
  const root = at("items");
  if (!at("index")) {
    root.textContent = "There are no items.";
    document.documentElement.dataset.ready = "items";
    return;
  }
  const opened = new Map();

  function open(id) {
    if (!opened.has(id)) opened.set(id, unpack(id));
    return opened.get(id);
  }
  async function unpack(id) {
    const raw = Uint8Array.from(atob(at(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
  function make(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  if (typeof DecompressionStream === "undefined") {
    root.textContent = "This browser is too old to show the items; records.jsonl has all items.";
    return;
  }
  const index = await open("index");
  const all = index.items.map((line, n) => ({
    n, key: line[0], title: line[1], facets: line[2], numbers: line[3],
    label: `${line[0]} ${line[1]}`.toLowerCase(),
  }));
  let texts = null; // of all items, after the first search
  let shown = all, page = 0;

  async function detail(item) {
    const chunk = await open(`items-${Math.floor(item.n / index.chunk)}`);
    return chunk[item.n % index.chunk];
  }
  async function readAll() {
    if (texts) return;
    const found = [];
    for (let n = 0; n < all.length; n += index.chunk) {
      at("found").textContent = `Reading ${n} of ${all.length} …`;
      for (const [parts] of await open(`items-${n / index.chunk}`)) {
        found.push(parts.map((p) => p[1]).join("\n").toLowerCase());
      }
    }
    texts = found;
  }

  // The form: search, one filter per facet, order.
  const controls = at("controls");
  const chosen = index.facets.map((name, f) => {
    const values = [...new Set(all.map((item) => item.facets[f]))].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
    const label = make("label", `${name} `);
    label.hidden = values.length < 2;
    const select = make("select");
    select.append(new Option("all", ""));
    for (const value of values) {
      const n = all.filter((item) => item.facets[f] === value).length;
      select.append(new Option(`${value} (${n})`, value));
    }
    select.name = name;
    label.append(select);
    controls.append(label);
    return select;
  });
  const sorts = make("label", "order ");
  const order = make("select");
  order.name = "order";
  order.append(new Option("as in the data", ""));
  index.numbers.forEach((name, n) => {
    if (!all.some((item) => item.numbers[n] !== null)) return;
    order.append(new Option(`${name}, lowest first`, `${n}+`), new Option(`${name}, highest first`, `${n}-`));
  });
  sorts.append(order);
  controls.append(sorts);

  const search = at("search");
  async function choose() {
    const words = search.value.trim().toLowerCase();
    if (words && !texts) await readAll();
    shown = all.filter((item) =>
      chosen.every((select, f) => !select.value || item.facets[f] === select.value) &&
      (!words || item.label.includes(words) || texts[item.n].includes(words)));
    if (order.value) {
      const n = parseInt(order.value, 10), up = order.value.endsWith("+") ? 1 : -1;
      const rank = (item) => (item.numbers[n] === null ? Infinity : up * item.numbers[n]);
      shown = [...shown].sort((a, b) => (rank(a) === rank(b) ? a.n - b.n : rank(a) - rank(b)));
    }
    page = 0;
    list();
  }
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 200); });
  for (const select of [...chosen, order]) select.addEventListener("change", choose);
  controls.addEventListener("submit", (event) => { event.preventDefault(); choose(); });

  function list() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    const part = shown.slice(page * PAGE, (page + 1) * PAGE);
    at("found").textContent = shown.length === all.length ? `${all.length.toLocaleString("en")} items`
      : `${shown.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} items`;
    root.replaceChildren(...part.map(line));
    at("pages").hidden = pages === 1;
    at("place").textContent = `page ${page + 1} of ${pages}`;
    at("before").disabled = page === 0;
    at("after").disabled = page + 1 >= pages;
  }
  for (const [id, step] of [["before", -1], ["after", 1]]) {
    at(id).addEventListener("click", () => { page += step; list(); at("list").scrollIntoView(); });
  }

  function line(item) {
    const details = make("details");
    const summary = make("summary");
    const tags = [item.key, ...item.facets];
    summary.append(make("span", tags.join(" · "), "tag"), make("bdi", item.title));
    details.append(summary);
    details.addEventListener("toggle", () => fill(details, item), {once: true});
    return details;
  }
  async function fill(details, item) {
    const [parts, history, evidence, retrieved] = await detail(item);
    const list = make("dl");
    for (const [label, text] of parts) list.append(make("dt", label), make("dd", text));
    const numbers = index.numbers.map((name, n) => [name, item.numbers[n]]).filter(([, value]) => value !== null);
    if (numbers.length) {
      const said = numbers.map(([name, value]) => `${name} ${Number(value.toFixed(3))}`).join(" · ");
      list.append(make("dt", "numbers"), make("dd", said));
    }
    details.append(list);
    if (index.histories[history]) details.append(past(index.histories[history], evidence, retrieved));
    if (root.dataset.sources) details.append(sources(item.key));
  }

  // The history of an item. Dialogues with evidence are open and marked.
  function past(id, evidence, retrieved) {
    const whole = make("details", undefined, "past");
    const needs = evidence.length ? `evidence: ${evidence.join(", ")}` : "no evidence needed";
    const found = retrieved.length ? `; retrieved: ${retrieved.join(", ")}` : "";
    whole.append(make("summary", `History (${needs}${found})`));
    whole.addEventListener("toggle", async () => {
      for (const [n, label, messages] of await open(id)) {
        const needed = evidence.includes(n);
        const dialogue = make("details", undefined, needed ? "needed" : "");
        const marks = [needed ? "evidence" : "", retrieved.includes(n) ? "retrieved" : ""].filter(Boolean);
        const summary = make("summary", `${n} · ${label}`);
        for (const mark of marks) summary.append(" ", make("mark", mark));
        dialogue.append(summary);
        dialogue.open = needed;
        for (const [role, text] of messages) {
          const turn = make("p", undefined, role);
          turn.append(make("b", `${role} `), make("bdi", text));
          dialogue.append(turn);
        }
        whole.append(dialogue);
      }
    }, {once: true});
    return whole;
  }

  // Where the answers of an item came from. It is loaded each time it is opened: the store may have changed.
  function sources(key) {
    const whole = make("details", undefined, "sources");
    const summary = make("summary", "Where the answers came from");
    whole.append(summary);
    whole.addEventListener("toggle", async () => {
      if (!whole.open) return;
      const found = await load(root.dataset.sources + encodeURIComponent(key));
      const notes = found.note ? [make("p", found.note, "sub")] : [];
      whole.replaceChildren(summary, ...notes, ...found.sources.map(source));
    });
    return whole;
  }
  async function load(place) {
    try {
      return await (await fetch(place, {cache: "no-store"})).json();
    } catch {
      return {sources: [], note: "The viewer does not answer. Start it again and reload the page."};
    }
  }
  function source({lines, note}) {
    const made = make("div");
    const list = make("dl");
    for (const [label, text] of lines) list.append(make("dt", label), make("dd", text));
    made.append(list);
    if (note) made.append(make("p", note, "sub"));
    return made;
  }

  list();
  document.documentElement.dataset.ready = "items";
})();
