// Keyboard shortcuts; the pages work without them. A key does the same as a click.
"use strict";

const form = document.querySelector("form[data-page]");
(document.getElementById("problem") || document.querySelector("h1")).focus({ preventScroll: true });

// A double press that was meant for the previous page must not answer this one.
const settled = 300;
setTimeout(() => { document.body.dataset.ready = ""; }, settled);

// Only the time during which the page is visible counts.
let seen = 0;
let since = document.visibilityState === "visible" ? performance.now() : null;
function pause() {
  if (since !== null) seen += performance.now() - since;
  since = null;
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") since = performance.now();
  else pause();
});

if (form) {
  form.addEventListener("submit", (event) => {
    if ("sent" in form.dataset) {
      event.preventDefault();
      return;
    }
    pause();
    form.elements.seconds.value = (seen / 1000).toFixed(2);
    form.dataset.sent = "";
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    delete form.dataset.sent;
    since = performance.now();
  });
}

function writing(target) {
  return target.matches("textarea, select, input:not([type=radio])");
}

// The point that a key labels: the one with the focus, or the first without a label.
function currentPart() {
  const parts = [...document.querySelectorAll("[data-part]")];
  return parts.find((part) => part.contains(document.activeElement)) || parts.find((part) => !part.querySelector(":checked"));
}

function label(key) {
  const part = currentPart();
  const radio = part && part.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!radio) return false;
  radio.click();
  const parts = [...document.querySelectorAll("[data-part]")];
  const following = parts[parts.indexOf(part) + 1];
  const next = following ? following.querySelector(":checked") || following.querySelector("input") : document.querySelector("button.go");
  next.focus();
  return true;
}

// If a criterion has the focus, a digit rates that criterion and never answers the question of the page.
function rate(key) {
  const group = document.activeElement.closest(".criteria fieldset");
  if (!group || !/^\d$/.test(key)) return false;
  const radio = group.querySelector(`[value="${key}"]`);
  if (radio) radio.click();
  return true;
}

// Not every browser focuses a clicked radio button.
for (const radio of document.querySelectorAll(".criteria input")) radio.addEventListener("click", () => radio.focus());

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (!("ready" in document.body.dataset) || writing(event.target)) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "z") {
    const before = document.getElementById("before");
    if (before) before.click();
    return;
  }
  if (!form) return;
  if (key === "Enter") {
    if (form.dataset.page !== "staged" || event.target.matches("a, button, summary")) return;
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  // Arrows move inside a group of choices and scroll wide texts.
  if (key.startsWith("Arrow") && (event.target.matches("input") || event.target.scrollWidth > event.target.clientWidth)) return;
  if (rate(key) || label(key)) {
    event.preventDefault();
    return;
  }
  const choice = [...document.querySelectorAll("[data-keys]")].find((one) => one.dataset.keys.split(" ").includes(key));
  if (choice) {
    event.preventDefault();
    choice.click();
  }
});
