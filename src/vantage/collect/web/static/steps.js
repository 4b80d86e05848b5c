// One question at a time on narrow screens; without this file, and by choice, all questions are on the page.
(() => {
  "use strict";
  const form = document.querySelector("form[data-keys]");
  const bar = document.getElementById("steps");
  if (!form || !bar) return;
  const questions = [...form.querySelectorAll(".question")];
  if (questions.length < 2) return;
  const [back, next] = bar.querySelectorAll("button");
  const text = bar.querySelector("span"), progress = bar.querySelector("progress");
  const mode = document.getElementById("mode");
  const narrow = matchMedia("(max-width: 40rem)");
  const stored = () => { try { return localStorage.getItem("vantage-steps"); } catch { return null; } };
  let wanted = stored() !== "off", current = 0;

  const done = (question) => question.querySelector("input:checked") ||
    (question.querySelector("select") && [...question.querySelectorAll("select")].every((place) => place.value)) ||
    [...question.querySelectorAll("input[type=text], input[type=number], textarea[required]")].some((input) => input.value.trim());
  const on = () => narrow.matches && wanted;

  const show = (index, focus) => {
    current = Math.max(0, Math.min(index, questions.length - 1));
    const one = on();
    form.classList.toggle("one", one);
    form.classList.toggle("first", current === 0);
    form.classList.toggle("last", current === questions.length - 1);
    questions.forEach((question, i) => question.classList.toggle("away", one && i !== current));
    form.querySelectorAll(".section").forEach((section) =>
      section.classList.toggle("away", one && !section.contains(questions[current])));
    bar.hidden = !one;
    mode.hidden = !narrow.matches;
    mode.textContent = one ? mode.dataset.all : mode.dataset.one;
    text.textContent = text.dataset.text.replace("{n}", current + 1).replace("{all}", questions.length);
    progress.value = (current + 1) / questions.length;
    if (one && focus) {
      const legend = questions[current].querySelector("legend, label");
      legend.tabIndex = -1;
      legend.focus({ preventScroll: true });
      questions[current].closest(".section").scrollIntoView({ block: "nearest" });
    }
  };

  back.addEventListener("click", () => show(current - 1, true));
  next.addEventListener("click", () => show(current + 1, true));
  mode.addEventListener("click", () => {
    wanted = !wanted;
    try { localStorage.setItem("vantage-steps", wanted ? "on" : "off"); } catch { /* private window: applies to this page only */ }
    show(current, true);
  });
  narrow.addEventListener("change", () => show(current));
  // A question that a shortcut or the error summary leads to must be visible first.
  form.addEventListener("reveal", (event) => show(questions.indexOf(event.target)));
  document.querySelectorAll(".errors a").forEach((link) => link.addEventListener("click", (event) => {
    const target = document.querySelector(link.getAttribute("href"));
    const question = target && target.closest(".question");
    if (!on() || !question) return;
    event.preventDefault();
    show(questions.indexOf(question), true);
  }));

  const wrong = questions.findIndex((question) => question.classList.contains("wrong"));
  const open = questions.findIndex((question) => !done(question));
  show(wrong >= 0 ? wrong : Math.max(open, 0));
})();
