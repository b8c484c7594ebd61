// Searching without waiting: results as one types, re-ranked ones when they are ready, everything by key.
// The page works without this script: every link and form here has an address of its own.
"use strict";

(() => {
  const PAUSE = 180; // milliseconds without a key before a search is sent
  const REST = 700; // and before a model is asked to read the results of words that are still being typed
  const FRAGMENT = { headers: { "X-Rankwell-Fragment": "1" } };
  const NOT_SAVED = { 401: "Not saved: sign in first.", 429: "Not saved: these were many thumbs. Try again in a minute." };
  const status = document.getElementById("status");
  const trouble = document.getElementById("trouble");
  const keys = document.getElementById("keys");
  const box = document.getElementById("q");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let silence, typing, resting;
  let asked = new AbortController(); // the search that is under way; a newer one ends it

  const results = () => [...document.querySelectorAll(".result")];
  const current = () => document.activeElement?.closest?.(".result");
  const links = () => results().map((result) => result.querySelector("h2 a, h3 a"));

  function say(words) {
    status.textContent = words;
    clearTimeout(silence);
    silence = setTimeout(() => (status.textContent = ""), 6000);
  }

  async function page(url, signal) {
    const response = await fetch(url, { ...FRAGMENT, signal });
    if (response.status >= 500) throw new Error(String(response.status));
    return { url: response.url, html: new DOMParser().parseFromString(await response.text(), "text/html") };
  }

  // Put the parts of another page in the place of those here; what is open stays open, what has the focus keeps it.
  function put(html, only) {
    const open = [...document.querySelectorAll("details[id]")].filter((part) => part.open).map((part) => part.id);
    const focus = document.activeElement?.closest?.("[data-region]") && document.activeElement;
    const key = focus && (focus.getAttribute("href") || focus.id);
    const at = current()?.dataset.id;
    for (const fresh of html.querySelectorAll("[data-region]")) {
      const here = document.getElementById(fresh.id);
      if (here && (!only || fresh.id === only)) here.replaceWith(document.adoptNode(fresh));
    }
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (at) results().find((result) => result.dataset.id === at)?.querySelector("h2 a, h3 a").focus({ preventScroll: true });
    else if (key) [...document.querySelectorAll("[data-region] a, [data-region] input, [data-region] select")].find((part) => part.getAttribute("href") === key || part.id === key)?.focus({ preventScroll: true });
    if (html.title && !only) document.title = html.title;
    foldFilters();
  }

  async function go(url, { push = true, rest = 0, top = true, fill = false } = {}) {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    clearTimeout(resting);
    document.getElementById("page").setAttribute("aria-busy", "true");
    try {
      const found = await page(url, signal);
      if (!found.html.getElementById("page")) return location.assign(url);
      put(found.html);
      trouble.textContent = "";
      if (push) history.pushState(null, "", found.url);
      else history.replaceState(null, "", found.url);
      if (fill || document.activeElement !== box) box.value = found.html.getElementById("q").value;
      if (top) window.scrollTo(0, 0);
      say(document.getElementById("found").dataset.said);
      resting = setTimeout(() => rerank(signal), rest);
    } catch (error) {
      if (error.name !== "AbortError") trouble.textContent = "There is no answer from the server. Try again in a moment.";
    } finally {
      document.getElementById("page").removeAttribute("aria-busy");
    }
  }

  // The first stage's results are here; a model's take their place when it has read them.
  async function rerank(signal) {
    const url = document.getElementById("found")?.dataset.rerank;
    if (!url) return;
    try {
      const found = await page(url, signal);
      if (signal.aborted) return;
      if (!found.html.getElementById("page")) throw new Error("0");
      const before = places();
      put(found.html, "page");
      glide(before);
      say(document.getElementById("found").dataset.said);
    } catch (error) {
      if (error.name === "AbortError") return;
      document.querySelector(".working")?.remove();
      say("These results are not re-ranked: the model did not answer.");
    }
  }

  const name = (result) => result.closest(".side")?.querySelector("h2").id + " " + result.dataset.id;
  const places = () => new Map(results().map((result) => [name(result), result.getBoundingClientRect().top]));

  // Results move from where they were to where they are now; whoever wants no motion sees them there at once.
  function glide(before) {
    if (calm.matches) return;
    for (const result of results()) {
      const from = before.get(name(result));
      const way = from === undefined ? 0 : from - result.getBoundingClientRect().top;
      const frames = from === undefined ? [{ opacity: 0 }, { opacity: 1 }] : [{ transform: `translateY(${way}px)` }, { transform: "none" }];
      if (from === undefined || way) result.animate(frames, { duration: 350, easing: "ease-out" });
    }
  }

  function addressOf(form) {
    const fields = [...new FormData(form)].filter(([, value]) => value !== "");
    return form.action + "?" + new URLSearchParams(fields);
  }

  async function why(link) {
    const result = link.closest(".result");
    const shown = result.querySelector(".because");
    if (shown) {
      shown.remove();
      link.setAttribute("aria-expanded", "false");
      return;
    }
    link.setAttribute("aria-busy", "true");
    try {
      const part = (await page(link.href)).html.getElementById("why");
      if (!part) throw new Error("0");
      part.removeAttribute("id");
      result.querySelector("article").append(document.adoptNode(part));
      link.setAttribute("aria-expanded", "true");
      say("Shown below the result.");
    } catch {
      trouble.textContent = "There is no answer from the server. Try again in a moment.";
    } finally {
      link.removeAttribute("aria-busy");
    }
  }

  async function judge(form, button) {
    const body = new URLSearchParams(new FormData(form));
    body.set("grade", button.value);
    const place = [...form.querySelectorAll("button")].indexOf(button);
    try {
      const response = await fetch(form.action, { method: "POST", body, ...FRAGMENT });
      if (!response.ok) throw new Error(String(response.status));
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      const thumbs = document.adoptNode(fresh.querySelector("form"));
      const focused = form.contains(document.activeElement);
      form.replaceWith(thumbs);
      if (focused) thumbs.querySelectorAll("button")[place].focus();
      trouble.textContent = "";
      say(fresh.querySelector("#said").textContent);
    } catch (error) {
      trouble.textContent = NOT_SAVED[error.message] || (/^4/.test(error.message) ? "Not saved: reload the page and try again." : "Not saved: there is no answer from the server.");
    }
  }

  function move(step) {
    const all = links();
    if (!all.length) return;
    const at = results().indexOf(current());
    const next = at < 0 ? (step > 0 ? 0 : -1) : at + step;
    if (next < 0) return box?.focus();
    const link = all[Math.min(next, all.length - 1)];
    link.focus({ preventScroll: true });
    link.closest(".result").scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
  }

  const press = (selector) => (current() || document).querySelector(selector)?.click();
  const ACTIONS = {
    "/": () => (box ? (box.focus(), box.select()) : document.querySelector(".brand").click()),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    o: () => current()?.querySelector("h2 a, h3 a").click(),
    w: () => current() && press("a.why"),
    y: () => current() && press(".thumb"),
    x: () => current() && press(".thumb.down"),
    n: () => document.querySelector("a[rel=next]")?.click(),
    p: () => document.querySelector("a[rel=prev]")?.click(),
    c: () => document.querySelector("nav a[href*='/compare']")?.click(),
    s: () => document.querySelector("details.settings > summary")?.click(),
    "?": () => keys.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (keys.open) {
      if (event.key === "?") keys.close();
      return;
    }
    if (event.target === box) {
      if (event.key === "Escape") box.blur();
      if (event.key === "ArrowDown" && results().length) (event.preventDefault(), move(1));
      return;
    }
    if (event.target.matches("input, select, textarea")) return;
    if (event.key.length === 1 && !letters.checked && event.key !== "?") return;
    if (event.key.startsWith("Arrow") && !current()) return; // the page scrolls
    const action = ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-live]")) {
      event.preventDefault();
      clearTimeout(typing);
      go(addressOf(event.target));
    } else if (event.target.matches("form[data-thumbs]")) {
      event.preventDefault();
      judge(event.target, event.submitter);
    }
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-go]")) go(addressOf(event.target.form));
  });

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest("a[data-live], a[data-why]");
    if (!link) return;
    event.preventDefault();
    if (link.matches("[data-why]")) why(link);
    else go(link.href);
  });

  box?.addEventListener("input", (event) => {
    clearTimeout(typing);
    if (event.isComposing) return;
    typing = setTimeout(() => go(addressOf(box.form), { push: false, rest: REST, top: false }), PAUSE);
  });

  // Beside each other, a document that both rankings have shows where it is in the other one.
  for (const [kind, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
    document.addEventListener(kind, (event) => {
      const result = event.target.closest?.(".side .result");
      if (!result) return;
      for (const other of results()) if (other !== result && other.dataset.id === result.dataset.id) other.classList.toggle("partner", on);
    });
  }

  window.addEventListener("popstate", () => {
    if (box) go(location.href, { push: false, fill: true });
  });

  // On a phone the filters are folded until somebody wants them.
  function foldFilters() {
    const filters = document.getElementById("facets");
    if (filters && matchMedia("(min-width: 52.01rem)").matches) filters.open = true;
  }

  // Browsers let a page copy only where it came by HTTPS or from this machine; elsewhere the field is there to be marked.
  const copy = document.getElementById("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById("share").value);
      say("Copied.");
    });
  }

  const letters = document.getElementById("keys-on");
  letters.checked = localStorage.getItem("rankwell-keys") !== "off";
  letters.addEventListener("change", () => localStorage.setItem("rankwell-keys", letters.checked ? "on" : "off"));
  foldFilters();
  rerank(asked.signal);
})();
