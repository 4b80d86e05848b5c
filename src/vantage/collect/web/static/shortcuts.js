// Digits choose an answer, Enter continues. Everything works without this file.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  // A form is sent once; a page restored from the browser's cache may be sent again.
  const sent = new WeakSet();
  addEventListener("submit", (event) => {
    if (sent.has(event.target)) event.preventDefault();
    sent.add(event.target);
    setTimeout(() => sent.delete(event.target), 8000);
  });
  addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => sent.delete(form)));

  // A number gets a slider. It shows no thumb and says nothing until it is used; a click or the space bar takes the
  // value on which it stands, so that the middle can be answered as well.
  document.querySelectorAll(".number").forEach((box) => {
    const typed = box.querySelector("input");
    const low = Number(box.dataset.low), high = Number(box.dataset.high);
    const slider = Object.assign(document.createElement("input"), { type: "range", min: low, max: high });
    slider.step = "whole" in box.dataset ? 1 : (high - low) / 1000;
    slider.value = typed.value === "" ? (low + high) / 2 : typed.value;
    slider.setAttribute("aria-label", box.dataset.label);
    if ("falls" in box.dataset) slider.dir = getComputedStyle(box).direction === "rtl" ? "ltr" : "rtl";
    const show = () => box.classList.toggle("untouched", typed.value === "");
    const take = () => { typed.value = String(Number(Number(slider.value).toPrecision(4))); show(); };
    slider.addEventListener("input", take);
    slider.addEventListener("pointerup", take);
    slider.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); take(); } });
    typed.addEventListener("input", () => { if (typed.value !== "") slider.value = typed.value.replace(",", "."); show(); });
    show();
    box.prepend(slider);
  });

  // Shares get a slider each, which ends where all shares are given away, and their sum below them.
  const given = (box) => [...box.querySelectorAll("input[type=text]")].map((typed) => Number(typed.value.replace(",", ".")) || 0);
  const sum = (box) => given(box).reduce((a, b) => a + b, 0);
  document.querySelectorAll(".shares").forEach((box) => {
    const output = box.parentElement.querySelector(".sum");
    const sliders = [...box.querySelectorAll("li")].map((row) => {
      const typed = row.querySelector("input");
      const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 100, step: 1 });
      slider.setAttribute("aria-label", row.querySelector("label").innerText);
      slider.addEventListener("input", () => {
        typed.value = "0";
        typed.value = slider.value = String(Math.min(Number(slider.value), Math.max(0, 100 - sum(box))));
        show();
      });
      typed.addEventListener("input", () => show());
      row.append(slider);
      return [typed, slider];
    });
    const show = () => {
      sliders.forEach(([typed, slider]) => { slider.value = typed.value.replace(",", ".") || "0"; });
      output.querySelector("output").textContent = String(Math.round(100 * sum(box)) / 100);
      output.classList.toggle("ok", Math.abs(sum(box) - 100) <= 1);
      output.classList.toggle("flag", sum(box) > 101);
    };
    show();
  });

  // A place that another option has is exchanged with it.
  document.querySelectorAll(".ranking").forEach((box) => {
    const places = [...box.querySelectorAll("select")];
    places.forEach((place) => {
      let before = place.value;
      place.addEventListener("focus", () => { before = place.value; });
      place.addEventListener("change", () => {
        const other = places.find((one) => one !== place && place.value && one.value === place.value);
        if (other) other.value = before;
        before = place.value;
      });
    });
  });

  // The arrows move through words that can be marked.
  document.querySelectorAll(".words").forEach((box) => box.addEventListener("keydown", (event) => {
    const ahead = { ArrowDown: 1, ArrowUp: -1, [getComputedStyle(box).direction === "rtl" ? "ArrowLeft" : "ArrowRight"]: 1 }[event.key] || (/^Arrow/.test(event.key) ? -1 : 0);
    const all = [...box.querySelectorAll("input")], to = all[all.indexOf(event.target) + ahead];
    if (!ahead || !to) return;
    event.preventDefault();
    to.focus();
  }));

  // Where several options may apply, "none of these" and the options exclude each other.
  document.querySelectorAll(".question").forEach((question) => {
    const boxes = [...question.querySelectorAll(".several input")];
    boxes.forEach((box) => box.addEventListener("change", () => {
      if (!box.checked) return;
      boxes.forEach((other) => { if (other !== box && ("alone" in box.dataset || "alone" in other.dataset)) other.checked = false; });
    }));
  });

  document.querySelectorAll("[data-confirm]").forEach((button) =>
    button.addEventListener("click", (event) => { if (!confirm(button.dataset.confirm)) event.preventDefault(); }));

  const form = document.querySelector("form[data-keys]");
  if (!form) return;
  const questions = [...form.querySelectorAll(".question")];
  const radios = (question) => [...question.querySelectorAll("input[type=radio]")];
  const text = (question) => question.querySelector("textarea");
  const answered = (question) => {
    const all = [...radios(question), ...question.querySelectorAll("input[type=checkbox]")];
    const places = [...question.querySelectorAll("select")];
    if (places.length && places.every((place) => place.value)) return true;
    if (places.length) return all.some((box) => box.checked);
    const typed = question.querySelector(".number input[type=text]");
    const reason = text(question);
    const shares = question.querySelector(".shares");
    const chosen = all.some((box) => box.checked) || (shares ? Math.abs(sum(shares) - 100) <= 1 : typed ? typed.value !== "" : !all.length || (reason && !question.querySelector(".reason") && reason.value.trim() !== ""));
    return chosen &&
      !(reason && reason.required && !reason.value.trim());
  };

  // The key of an answer is its number where that is one digit, otherwise its position in the list.
  const keys = new Map();
  questions.forEach((question) => {
    const all = radios(question);
    const plain = all.filter((r) => !r.closest(".out"));
    const shown = plain.map((r) => (r.closest("label").querySelector("i, .points span") || {}).textContent || "");
    const own = shown.every((s) => /^[0-9]\b/.test(s));
    all.forEach((r, i) => {
      const out = r.closest(".out");
      const key = !out && own ? shown[i][0] : own ? (i === plain.length && !shown.some((s) => s[0] === "0") ? "0" : "") : i < 9 ? String(i + 1) : "";
      keys.set(r, key);
      if (key && !r.closest(".points")) {
        const hint = document.createElement("kbd");
        hint.textContent = key;
        hint.setAttribute("aria-hidden", "true");
        r.closest("label").append(hint);
      }
    });
  });

  // Texts that are compared are cards: pressing one chooses it. With several questions, a card has a button for each.
  const cards = [...document.querySelectorAll(".item .panel")].map((card) => [card, (/^text_(\d+)$/.exec(card.dataset.field) || [])[1]]);
  const place = (question, code) => question.querySelector(`[type=radio][value="${code}"]`);
  const sought = cards.length > 1 ? questions.filter((question) => cards.every(([, code]) => code && place(question, code))) : [];
  cards.forEach(([card, code]) => sought.forEach((question) => {
    const radio = place(question, code);
    let button = card;
    if (sought.length > 1) {
      button = Object.assign(document.createElement("button"), { type: "button", className: "quiet small", textContent: question.dataset.title });
      button.setAttribute("aria-label", `${question.dataset.title}: ${card.firstElementChild.textContent}`);
      card.append(button);
    } else card.classList.add("pick");
    const show = () => {
      button.classList.toggle("chosen", radio.checked);
      if (button !== card) button.setAttribute("aria-pressed", String(radio.checked));
    };
    button.addEventListener("click", () => {
      if (button === card && String(getSelection())) return;
      question.dispatchEvent(new Event("reveal", { bubbles: true }));
      radio.click();
    });
    question.addEventListener("change", show);
    show();
  }));

  // Users must be able to turn single keys off: speech input would press them by accident.
  const toggle = document.getElementById("keys");
  const stored = () => { try { return localStorage.getItem("vantage-keys"); } catch { return null; } };
  let on = stored() !== "off";
  const show = () => {
    toggle.setAttribute("aria-pressed", String(on));
    toggle.textContent = on ? toggle.dataset.on : toggle.dataset.off;
    form.classList.toggle("keyed", on);
  };
  toggle.addEventListener("click", () => {
    on = !on;
    try { localStorage.setItem("vantage-keys", on ? "on" : "off"); } catch { /* private window: applies to this page only */ }
    show();
  });
  show();

  const go = (question) => {
    question.dispatchEvent(new Event("reveal", { bubbles: true }));
    const all = radios(question);
    const reason = text(question);
    const chosen = all.find((r) => r.checked);
    const to = chosen && reason && !reason.value.trim() ? reason : chosen || all[0] || question.querySelector("input, select");
    to.focus({ preventScroll: true });
    question.scrollIntoView({ block: "nearest" });
  };
  const onward = (question) => {
    const from = Math.max(questions.indexOf(question), 0);
    const next = [...questions.slice(from), ...questions.slice(0, from)].find((q) => !answered(q));
    if (next) go(next); else form.requestSubmit();
  };

  addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.isComposing) return;
    const target = event.target;
    const inside = target.closest ? target.closest(".question") : null;
    if (event.key === "Enter" && target.matches("textarea") && event.ctrlKey && inside) {
      event.preventDefault();
      onward(inside);
      return;
    }
    if (event.ctrlKey || target.matches("textarea, input[type=text], select, summary, a, button")) return;
    if (event.key === "Enter" && (target.matches("input[type=radio]") || target === document.body)) {
      event.preventDefault();
      onward(inside);
      return;
    }
    if (target.matches("[dir=rtl] input[type=radio]") && /^Arrow(Left|Right)$/.test(event.key) && inside) {
      // Browsers differ in whether the arrows follow a scale that runs from right to left.
      const all = radios(inside);
      const to = all[(all.indexOf(target) + (event.key === "ArrowLeft" ? 1 : all.length - 1)) % all.length];
      event.preventDefault();
      to.focus();
      to.click();
      return;
    }
    if (!on || event.shiftKey) return;
    if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && !inside) {
      event.preventDefault();
      go(questions.find((q) => !answered(q)) || questions[0]);
      return;
    }
    if (!/^[0-9]$/.test(event.key)) return;
    const question = inside || questions.find((q) => !answered(q)) || questions[0];
    question.dispatchEvent(new Event("reveal", { bubbles: true }));
    const choice = radios(question).find((r) => keys.get(r) === event.key);
    if (!choice) return;
    event.preventDefault();
    choice.checked = true;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
    choice.focus({ preventScroll: true });
    question.scrollIntoView({ block: "nearest" });
  });
})();

// Counts of pastes, keys and absences, where the consent says so.
(() => {
  const field = document.querySelector("[data-evidence]");
  if (!field) return;
  const counts = { pastes: 0, pasted: 0, keys: 0, away: 0 };
  addEventListener("paste", (event) => {
    counts.pastes += 1;
    counts.pasted += event.clipboardData.getData("text").length;
  });
  addEventListener("keydown", () => { counts.keys += 1; }, true);
  addEventListener("blur", () => { counts.away += 1; });
  addEventListener("submit", () => { field.value = JSON.stringify(counts); });
})();
