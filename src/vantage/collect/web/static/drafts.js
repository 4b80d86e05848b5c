// Keeps what people choose and type as a draft on the server, and their reservation as long as they are active. What the
// server does not have yet is kept in the tab; a form that cannot be sent is sent when the connection is back.
(() => {
  "use strict";
  const KEY = "vantage-draft";
  const local = {
    read: () => { try { return JSON.parse(sessionStorage.getItem(KEY)); } catch { return null; } },
    keep: (draft) => { try { sessionStorage.setItem(KEY, JSON.stringify(draft)); } catch { /* only the server keeps it */ } },
    drop: () => { try { sessionStorage.removeItem(KEY); } catch { /* nothing was kept */ } },
  };
  const hold = document.getElementById("hold");
  const token = document.querySelector("[name=form_token]");
  const form = document.querySelector("form[data-draft]");
  const place = form && `${form.action} ${form.dataset.draft}`;
  const earlier = local.read();
  if (earlier && earlier.place !== place) local.drop();
  if (!hold || !token) return;
  // A page that shows what was wrong with a form is loaded again by itself, without sending the old form again.
  if (form) history.replaceState(null, "", location.href);
  const status = document.getElementById("saved");
  const [warning, over] = hold.children;
  const clock = document.getElementById("clock");
  let total = Number(hold.dataset.left);
  let ends = Date.now() + total * 1000;
  let last = Date.now(), active = false, dirty = false, sent = false, waiting = false, timer = 0;

  const content = () => new URLSearchParams(dirty ? new FormData(form) : { form_token: token.value });
  const save = async () => {
    clearTimeout(timer);
    timer = 0;
    if (sent) return;
    const body = content(), kept = dirty;
    active = dirty = false;
    last = Date.now();
    try {
      const response = await fetch(hold.dataset.draft, { method: "POST", body });
      if (!response.ok) throw new Error(response.statusText);
      const { left } = await response.json();
      if (left !== null) {
        total = Math.max(total, left);
        ends = Date.now() + left * 1000;
      }
      if (kept && !dirty) local.drop();
      if (kept && status) status.textContent = status.dataset.saved;
      if (waiting) {
        sent = true;
        form.submit();
      }
    } catch {
      dirty = dirty || kept;
      if (kept && status) status.textContent = status.dataset.failed;
    }
    look();
  };

  // A warning comes two minutes before the end, later for short reservations, and never less than 20 seconds before.
  const look = () => {
    const left = (ends - Date.now()) / 1000;
    const late = left < Math.min(120, Math.max(20, total / 4));
    warning.hidden = !late || left <= 0;
    over.hidden = left > 0;
    clock.textContent = `${Math.floor(left / 60)}:${String(Math.floor(left % 60)).padStart(2, "0")}`;
    if ((active && (late || Date.now() - last > 60000)) || (dirty && !timer && Date.now() - last > 5000)) save();
  };
  setInterval(look, 1000);
  look();
  warning.querySelector("button").addEventListener("click", save);
  ["keydown", "pointerdown", "scroll"].forEach((kind) => addEventListener(kind, () => { active = true; }, { passive: true }));

  if (form) {
    const changed = () => {
      dirty = true;
      local.keep({ place, fields: [...new FormData(form)].filter(([name]) => name !== "form_token") });
      timer = timer || setTimeout(save, 1000);
    };
    form.addEventListener("input", changed);
    form.addEventListener("change", changed);
    form.addEventListener("submit", (event) => {
      if (navigator.onLine) { sent = true; return; }
      event.preventDefault();
      waiting = dirty = true;
      if (status) status.textContent = status.dataset.failed;
    });
    addEventListener("online", () => { if (dirty) save(); });
    if (earlier && earlier.place === place) {
      [...form.elements].forEach((input) => {
        if (!input.name || input.type === "hidden") return;
        const values = earlier.fields.filter(([name]) => name === input.name).map(([, value]) => value);
        if (input.type === "radio" || input.type === "checkbox") input.checked = values.includes(input.value);
        else input.value = values.join("");
        input.dispatchEvent(new Event("input", { bubbles: true }));
      });
    }
  }
  // A page that is left too soon sends its draft on its way out; one that the browser brings back goes on.
  addEventListener("pagehide", () => { if (dirty && !sent) navigator.sendBeacon(hold.dataset.draft, content()); });
  addEventListener("pageshow", () => { sent = false; });
})();
