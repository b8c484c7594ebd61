// Forms with data-swap are sent without leaving the page: the main part of the answer takes the place of this one.
// Without this script the same forms work as forms do. Pages need #status (role=status) and #trouble (role=alert).
// Other scripts add to what is sent ("sending"), follow a change ("swapped"), and use `window.swap`.
"use strict";

(() => {
  const status = document.getElementById("status");
  const trouble = document.getElementById("trouble");
  let busy = false;
  let silence;

  const main = () => document.getElementById("main");

  function say(words) {
    status.textContent = words;
    clearTimeout(silence);
    silence = setTimeout(() => (status.textContent = ""), 4000);
  }

  function post(form, button) {
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.set(button.name, button.value);
    form.dispatchEvent(new CustomEvent("sending", { bubbles: true, detail: body }));
    return fetch(form.action, { method: "POST", body, headers: { "X-Rankwell-Fragment": "1" } });
  }

  async function send(form, button) {
    if (busy) return;
    busy = true;
    main().setAttribute("aria-busy", "true");
    try {
      const response = await post(form, button);
      if (response.redirected) {
        location.assign(response.url);
        return;
      }
      if (!response.ok) throw new Error(String(response.status));
      swap(await response.text());
    } catch (error) {
      trouble.textContent = /^4/.test(error.message)
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
    if (fresh.dataset.address) history.replaceState(null, "", fresh.dataset.address);
    trouble.textContent = "";
    say(document.getElementById("said")?.textContent || "Saved.");
    window.scrollTo(0, 0);
    (fresh.querySelector("[data-focus]") || fresh).focus({ preventScroll: true });
    document.dispatchEvent(new Event("swapped"));
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  window.swap = { main, post, say, trouble };
})();
