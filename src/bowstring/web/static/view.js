// The viewer's pages work without this script. It updates running rows and adds keyboard shortcuts.
"use strict";

const EVERY = 2000; // milliseconds between two updates while something runs
const SELDOM = 5000; // between two updates of a list without running entries
const SPOKEN = 30000; // between two announcements of progress to screen readers

const news = document.getElementById("news");
const say = (text) => { news.textContent = text; };
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function ask(place) {
  if (document.hidden) return null; // the page is hidden
  try {
    const answer = await fetch(place, { cache: "no-store" });
    return answer.ok || answer.status === 404 ? answer : null;
  } catch {
    return null; // the viewer was stopped, or the machine slept: try again
  }
}

// Progress of a running run.

async function watch(section) {
  let spoken = Date.now();
  while (section.dataset.status === "running") {
    await wait(EVERY);
    const answer = await ask(section.dataset.watch);
    if (!answer) continue;
    const far = await answer.json();
    if (far.status !== "running") { location.reload(); return; }
    show(far);
    if (Date.now() - spoken > SPOKEN) { spoken = Date.now(); say(far.line); }
  }
}

function show(far) {
  const bar = document.getElementById("done");
  bar.max = far.total || 1;
  bar.value = far.done;
  document.getElementById("line").textContent = far.line;
  document.getElementById("asked").hidden = !far.rows.length;
  document.getElementById("roles").replaceChildren(...far.rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((text, n) => {
      const cell = document.createElement(n ? "td" : "th");
      if (!n) cell.scope = "row";
      if (n > 1) cell.className = "n";
      const shown = document.createElement("bdi");
      shown.textContent = text;
      cell.append(shown);
      return cell;
    }));
    return row;
  }));
}

// Update of the list. Unchanged rows are kept, with their selection and focus.

function source(row) {
  return row.outerHTML;
}

async function follow(body) {
  const known = new Map([...body.rows].map((row) => [row.dataset.run, source(row)]));
  for (;;) {
    const running = body.querySelector('[data-status="running"]');
    await wait(running ? EVERY : SELDOM);
    const answer = await ask(location.href);
    if (!answer || !answer.ok) continue;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector(".runs tbody");
    if (fresh) renew(body, [...fresh.rows], known, page);
  }
}

function renew(body, rows, known, page) {
  const old = new Map([...body.rows].map((row) => [row.dataset.run, row]));
  const changed = rows.some((row, n) => known.get(row.dataset.run) !== source(row) || body.rows[n] !== old.get(row.dataset.run));
  if (!changed && rows.length === body.rows.length) return;
  const at = place(body);
  const said = rows.filter((row) => old.has(row.dataset.run) && old.get(row.dataset.run).dataset.status !== row.dataset.status);
  const next = rows.map((row) => {
    const name = row.dataset.run;
    const before = old.get(name);
    if (before && known.get(name) === source(row)) return before;
    known.set(name, source(row));
    const made = document.importNode(row, true);
    if (before) mark(made).checked = mark(before).checked;
    return made;
  });
  body.replaceChildren(...next);
  document.getElementById("empty").hidden = next.length > 0;
  document.getElementById("counted").textContent = page.getElementById("counted").textContent;
  if (at) back(body, at);
  if (said.length) say(said.map((row) => `${row.dataset.run}: ${row.dataset.status}`).join("; "));
}

const mark = (row) => row.querySelector("input[name=run]");
const opener = (row) => row.querySelector("a.open");

function place(body) {
  const row = document.activeElement.closest("tr");
  if (!row || !body.contains(row)) return null;
  return { run: row.dataset.run, marking: document.activeElement === mark(row) };
}

function back(body, at) {
  const row = [...body.rows].find((one) => one.dataset.run === at.run);
  if (row) (at.marking ? mark(row) : opener(row)).focus({ preventScroll: true });
}

// Keys.

const WRITING = "input:not([type=checkbox]), textarea, select, [contenteditable]";

function listen(body) {
  const help = document.getElementById("help");
  const single = document.getElementById("single");
  const filter = document.getElementById("q");
  const form = document.getElementById("marked");
  const button = document.getElementById("keys");
  single.checked = localStorage.getItem("single-keys") !== "off";
  single.addEventListener("change", () => localStorage.setItem("single-keys", single.checked ? "on" : "off"));
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());

  const row = () => document.activeElement.closest(".runs tbody tr");
  const move = (by) => {
    const rows = [...body.rows];
    const from = rows.indexOf(row());
    const to = from < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, from + by));
    if (rows[to]) opener(rows[to]).focus();
  };
  const actions = {
    j: () => move(1),
    k: () => move(-1),
    x: () => { if (row()) mark(row()).click(); },
    c: () => {
      if (form.querySelectorAll("input[name=run]:checked").length) form.requestSubmit();
      else say("Nothing is selected: press x to select a run");
    },
    "/": () => { filter.focus(); filter.select(); },
    "?": () => help.showModal(),
  };
  const arrows = { ArrowDown: 1, ArrowUp: -1 };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const here = document.activeElement;
    if (here.matches(WRITING)) {
      if (event.key === "Escape") here.blur();
      return;
    }
    if (event.key in arrows && (row() || here === document.body)) {
      event.preventDefault();
      move(arrows[event.key]);
    } else if (single.checked && Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    } else if (event.key === "Enter" && row() && here === mark(row())) {
      event.preventDefault(); // do not submit the form: Enter opens the run
      opener(row()).click();
    }
  });
}

const section = document.getElementById("watch");
if (section) watch(section);
const body = document.querySelector(".runs tbody");
if (body) { listen(body); follow(body); }
