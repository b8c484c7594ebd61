// Judging without waiting: grades by key, saved as they are given, the next passage in place of the last one.
// The page works without this script; everything here sends the same forms.
"use strict";

(() => {
  const PATIENCE = 150; // milliseconds in which a second press of a key still belongs to the passage before
  const status = document.getElementById("status");
  const trouble = document.getElementById("trouble");
  const guidelines = document.getElementById("guidelines");
  let busy = false;
  let shown = 0; // when the passage came
  let looked = 0; // for how long it was looked at before the page was last hidden
  let since = 0;

  const main = () => document.getElementById("main");
  const now = () => performance.now();

  function startClock() {
    shown = since = now();
    looked = 0;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) looked += now() - since;
    since = now();
  });

  function fields(form, button) {
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.set(button.name, button.value);
    if (form.classList.contains("answer")) body.set("milliseconds", String(Math.round(looked + now() - since)));
    return body;
  }

  async function post(form, button) {
    return fetch(form.action, {
      method: "POST",
      body: fields(form, button),
      headers: { "X-Rankwell-Fragment": "1" },
    });
  }

  // Send a form and put the page that comes back in place of this one.
  async function send(form, button) {
    if (busy) return;
    busy = true;
    main().setAttribute("aria-busy", "true");
    try {
      const response = await post(form, button);
      if (response.redirected) {
        location.assign(response.url); // signed out, paused, or not agreed yet
        return;
      }
      if (!response.ok) throw new Error(String(response.status));
      swap(await response.text());
    } catch (error) {
      const gone = /^4/.test(error.message);
      trouble.textContent = gone
        ? "Not saved: this page is out of date. Reload it and answer again."
        : "Not saved: there is no connection. Answer again in a moment.";
    } finally {
      busy = false;
      main().removeAttribute("aria-busy");
    }
  }

  function swap(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const fresh = page.getElementById("main");
    if (!fresh) throw new Error("0");
    main().replaceWith(document.adoptNode(fresh));
    document.title = page.title;
    history.replaceState(null, "", guidelines.dataset.judge);
    trouble.textContent = "";
    const said = document.getElementById("said");
    say(said ? said.textContent : "Saved.");
    window.scrollTo(0, 0);
    (document.getElementById("passage") || main()).focus({ preventScroll: true });
    startClock();
  }

  let silence;
  function say(words) {
    status.textContent = words;
    clearTimeout(silence);
    silence = setTimeout(() => (status.textContent = ""), 4000);
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

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
