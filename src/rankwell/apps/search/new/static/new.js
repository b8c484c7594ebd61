// Drop a file to upload it, and follow the indexing. Without this script the form and a reload do the same.
"use strict";

(() => {
  const form = document.getElementById("upload");
  if (form) {
    const input = form.querySelector("input[type=file]");
    const status = document.getElementById("reading");
    for (const part of form.querySelectorAll(".with-script")) part.hidden = false;
    const over = (is) => form.classList.toggle("over", is);
    for (const name of ["dragenter", "dragover"]) {
      form.addEventListener(name, (event) => {
        event.preventDefault();
        over(true);
      });
    }
    form.addEventListener("dragleave", (event) => over(form.contains(event.relatedTarget)));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      if (!event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      form.requestSubmit();
    });
    form.addEventListener("submit", () => (status.textContent = "The file is being read …"));
    window.addEventListener("pageshow", () => (status.textContent = ""));
  }

  const PAUSE = 700; // milliseconds
  async function follow() {
    try {
      const response = await fetch(location.href, { headers: { "X-Rankwell-Fragment": "1" } });
      if (!response.ok) throw new Error(String(response.status));
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const count = page.getElementById("count");
      if (count) {
        document.getElementById("count").textContent = count.textContent;
      } else if (page.getElementById("done")) {
        document.getElementById("main").replaceWith(document.adoptNode(page.getElementById("main")));
        document.getElementById("done").focus();
        return;
      } else {
        location.reload();
        return;
      }
    } catch {
      // The server may be busy: ask again.
    }
    setTimeout(follow, PAUSE);
  }
  if (document.querySelector("[data-wait]")) setTimeout(follow, PAUSE);
})();
