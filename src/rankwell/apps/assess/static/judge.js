// Judging without waiting: grades by key, saved as they are given, the next passage in place of the last one.
// The page works without this script; swap.js, which comes before it, sends the same forms.
"use strict";

(() => {
  const PATIENCE = 150; // milliseconds in which a second press of a key still belongs to the passage before
  const guidelines = document.getElementById("guidelines");
  const { main, post, say, trouble } = window.swap;
  let shown = 0; // when the passage came
  let looked = 0; // for how long it was looked at before the page was last hidden
  let since = 0;

  const now = () => performance.now();

  function startClock() {
    shown = since = now();
    looked = 0;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) looked += now() - since;
    since = now();
  });

  document.addEventListener("sending", (event) => {
    if (!event.target.matches(".answer")) return;
    event.detail.set("milliseconds", String(Math.round(looked + now() - since)));
  });

  document.addEventListener("swapped", startClock);

  // A note is saved when one leaves it, too.
  document.addEventListener("change", async (event) => {
    if (event.target.id !== "note") return;
    const form = event.target.form;
    const saving = form.querySelector("button[value=note]");
    try {
      const response = await post(form, saving);
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      say("Note saved.");
    } catch {
      trouble.textContent = "The note is not saved. Reload the page and try again.";
    }
  });

  function byKey(key) {
    return [...main().querySelectorAll("button[data-keys]")].find((button) =>
      button.dataset.keys.split(" ").includes(key),
    );
  }

  function move(step) {
    const buttons = [...main().querySelectorAll(".grades button")];
    if (!buttons.length) return;
    const at = buttons.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : buttons.length - 1) : at + step;
    buttons[Math.min(Math.max(next, 0), buttons.length - 1)].focus();
  }

  function writeNote() {
    const note = document.getElementById("note");
    if (!note) return;
    note.closest("details").open = true;
    note.focus();
  }

  const follow = (id) => document.getElementById(id)?.click();
  const ACTIONS = {
    u: () => document.getElementById("undo")?.requestSubmit(),
    n: writeNote,
    g: () => guidelines.showModal(),
    "?": () => guidelines.showModal(),
    p: () => follow("pause"),
    ArrowLeft: () => move(-1),
    ArrowRight: () => move(1),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (guidelines.open) {
      if (event.key === "g" || event.key === "?") guidelines.close();
      return;
    }
    if (event.target.matches("textarea, input, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const button = byKey(event.key);
    const action = ACTIONS[event.key];
    if (!button && !action) return;
    event.preventDefault();
    if (!button) action();
    else if (now() - shown > PATIENCE) button.form.requestSubmit(button);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("#guidelines-link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    guidelines.showModal();
  });

  startClock();
})();
