// Screening by key. The page works without this script: keys press the buttons and links that are there.
"use strict";

(() => {
  const PATIENCE = 150; // milliseconds in which a second press of a key still belongs to the record before
  let shown = performance.now();

  const press = (selector) => document.querySelector(selector)?.click();
  const enter = (id) => document.getElementById(id)?.focus();

  function decide(key) {
    const button = document.querySelector(`.decide button[data-key="${key}"]`);
    if (button && performance.now() - shown > PATIENCE) button.form.requestSubmit(button);
  }

  const ACTIONS = {
    i: () => decide("i"),
    m: () => decide("m"),
    e: () => decide("e"),
    u: () => document.getElementById("undo")?.requestSubmit(),
    r: () => enter("reason"),
    n: () => enter("note"),
    ArrowLeft: () => press("#back"),
    ArrowRight: () => press("#forward"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (event.target.matches("textarea, input, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const action = ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  document.addEventListener("swapped", () => (shown = performance.now()));
})();
