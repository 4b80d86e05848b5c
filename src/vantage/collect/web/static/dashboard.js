// The overview refreshes itself. Everything works without this file, by reloading the page.
(() => {
  "use strict";
  const live = document.querySelector("[data-live]");
  if (!live) return;
  const note = document.querySelector("[data-live-note]");
  const seconds = Number(live.dataset.live);

  const refresh = async () => {
    // Nothing moves under the cursor of a keyboard, and nothing is asked for a page that nobody sees.
    if (document.hidden || live.contains(document.activeElement)) return;
    const response = await fetch(location.href, { headers: { "X-Requested-With": "refresh" } });
    if (!response.ok || response.redirected) { stop(note.dataset.ended); return; }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector("[data-live]");
    if (!fresh || fresh.innerHTML === live.innerHTML) return;
    live.replaceChildren(...fresh.childNodes);
    const said = page.querySelector("[data-live-note]").dataset.now;
    if (note.textContent !== said) note.textContent = said;
  };
  const stop = (why) => { clearInterval(timer); note.textContent = why; };
  const timer = setInterval(() => refresh().catch(() => {}), seconds * 1000);
})();
