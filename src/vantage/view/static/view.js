"use strict";
// The explorer. Every text of items, raters and replies reaches the page as a text node, never as markup.
// What is asked is answered by the server, or in an exported file by `inside`, with the same shapes.

const $ = (id) => document.getElementById(id);
let data = null; // what an exported file holds
let overview = null;
let drawn = 0; // the number of the last view that began to be drawn

// ---- elements

function h(name, attributes, ...children) {
  const svg = ["svg", "g", "rect", "circle", "line", "path", "text", "title"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const number = (value, digits = 2) =>
  value === null || value === undefined ? "–" : Number(value).toFixed(digits).replace("-", "−");
const percent = (value, digits = 0) => (value === null || value === undefined ? "–" : `${number(100 * value, digits)} %`);
const traitsOf = (traits) => Object.entries(traits).filter(([, value]) => value !== "").map(([name, value]) => `${name} ${value}`).join(", ") || "–";
const count = (value) => Number(value || 0).toLocaleString("en");
const counted = (value, one, several) => `${count(value)} ${value === 1 ? one : several || one + "s"}`;

const total = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

// Every choice is in the address: a list is the same name several times.
const query = (given) => new URLSearchParams(Object.entries(given || {})
  .flatMap(([name, value]) => [].concat(value).map((one) => [name, one]))
  .filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false)).toString();
const address = (view, given) => `#/${view}${query(given) ? "?" + query(given) : ""}`;
const link = (view, given, text, more) => h("a", { href: address(view, given), ...more }, text);

// ---- asking

async function ask(view, given) {
  if (data) return inside[view](given || {});
  const response = await fetch(`/api/${view}?${query(given)}`);
  if (!response.headers.get("content-type")?.includes("json")) throw new Error(await response.text());
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.problem);
  return answer;
}

const asked = (given) => given.question || overview.questions[0]?.id;
function column(name) {
  const stored = data.judgments[name];
  if (!stored) return () => null;
  return stored.words ? (row) => (stored.places[row] === null ? null : stored.words[stored.places[row]]) : (row) => stored[row];
}
function rowsWhere(name, value) {
  const stored = data.judgments[name], wanted = stored.words.indexOf(value), rows = [];
  for (let row = 0; row < stored.places.length; row++) if (stored.places[row] === wanted) rows.push(row);
  return rows;
}
function byNumber(rows, name, descending) {
  const value = (row) => (row[name] === null || row[name] === undefined ? null : row[name]);
  return rows.slice().sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return (typeof x === "string" ? x.localeCompare(y) : x - y) * (descending ? -1 : 1);
  });
}
function filtered(rows, given) {
  const words = (given.search || "").toLowerCase(), texts = (row) => data.texts[row.item];
  const wanted = Object.entries(given).filter(([name]) => name.startsWith("where."));
  return rows.filter((row) => (!words || Object.values(texts(row)).some((text) => text.toLowerCase().includes(words)))
    && wanted.every(([name, value]) => (texts(row)[name.slice(6)] || "") === value));
}
// The place of the answer that is nearest to a value.
const nearest = (codes, value) => codes.reduce((best, code, at) => (Math.abs(code - value) < Math.abs(codes[best] - value) ? at : best), 0);
// The answers to a question that belong to whoever is kept, by text.
function votesOf(id, rows, keep) {
  const votes = new Map(), [of, item, value] = ["question", "item", "value"].map(column);
  for (const row of rows) {
    if (of(row) !== id || value(row) === null || !keep(row)) continue;
    if (!votes.has(item(row))) votes.set(item(row), []);
    votes.get(item(row)).push(value(row));
  }
  return votes;
}
// The mean distance of two answers to a text, as a share of the scale; without an order, whether they differ.
function apartOf(given, { ordered, ends }) {
  const apart = (a, b) => (ordered ? Math.abs(a - b) / (ends[1] - ends[0]) : Number(a !== b));
  const pairs = given.flatMap((a, at) => given.slice(at + 1).map((b) => apart(a, b)));
  return pairs.length ? total(pairs) / pairs.length : null;
}
// The texts that a group judged, with its answers, from one end of the scale to the other.
function sortedBy(every, question, name, votes) {
  const rows = [...votes].map(([item, given]) => {
    const counts = question.codes.map((_, at) => given.filter((one) => nearest(question.codes, one) === at).length), mean = total(given) / given.length;
    return { ...every.get(item), by: question.ordered ? mean : -counts[0] / given.length, disagreement: apartOf(given, question), pictures: [{ group: name, counts, mean }] };
  });
  return byNumber(rows, "by");
}
function byChosen(every, answer, raters) {
  const votes = votesOf(answer.question.id, raters.flatMap((name) => rowsWhere("rater", name)), () => true);
  answer.groups = [answer.groups[0], "chosen raters", ...answer.groups.slice(1)];
  answer.by = "chosen raters";
  return sortedBy(every, answer.question, answer.by, votes).map((row) => {
    const { pictures: [first, ...rest], disagreement } = every.get(row.item);
    return { ...row, disagreement, pictures: [first, ...row.pictures, ...rest] };
  });
}
// The texts of one side, a group of raters or a condition, alone.
function sideOf(every, question, group) {
  const name = group.split("=")[0], wanted = group.slice(name.length + 1), rater = column("rater");
  const raters = new Map(data.raters[question.id].rows.map((row) => [row.rater, row]));
  const member = { everyone: () => true, people: (one) => ["person", "slot"].includes(one.kind), rater: (one) => one.rater === wanted, kind: (one) => one.kind === wanted }[name] || ((one) => one.traits[name] === wanted);
  const kept = (row) => { const one = raters.get(rater(row)); return one && one.traits.excluded?.toLowerCase() !== "true" && (name === "condition" ? column(name)(row) === wanted : member(one)); };
  return sortedBy(every, question, groupName(group), votesOf(question.id, data.judgments.item.places.keys(), kept));
}
const inside = {
  overview: () => data.overview,
  items(given) {
    const question = data.overview.questions.find((one) => one.id === asked(given));
    const { rows: every, compared } = data.items[question.id];
    let rows = filtered(every, given);
    if (given.only) rows = rows.filter((row) => [].concat(given.only).includes(row.item));
    const sort = given.sort || "disagreement";
    const value = { mean: (row) => row.pictures[0]?.mean, answers: (row) => row.pictures.reduce((sum, one) => sum + one.counts.reduce((a, b) => a + b, 0), 0) }[sort];
    if (value) rows = rows.map((row) => ({ ...row, [sort]: value(row) }));
    rows = byNumber(rows, sort, sort === "item" ? given.descending === "false" : given.descending !== "false");
    const page = Number(given.page || 0), size = 50;
    return { question, compared, total: rows.length, page, size, rows: rows.slice(page * size, (page + 1) * size) };
  },
  spectrum(given) {
    const { order, pins, ...rest } = data.spectra[asked(given)], every = new Map(data.items[asked(given)].rows.map((row) => [row.item, row]));
    const names = given.one || given.other ? [given.one || "everyone", given.other].filter(Boolean) : [];
    const [own, ...others] = names.map((name) => sideOf(every, rest.question, name));
    const both = (rows) => rows.filter((row) => others.every((other) => other.some((one) => one.item === row.item)));
    const sorted = own ? both(own) : [].concat(given.among || []).length ? byChosen(every, rest, [].concat(given.among)) : order.map((item) => every.get(item));
    const kept = filtered(sorted, given), start = Number(given.start || 0), end = Math.min(Number(given.end || kept.length), kept.length);
    const shown = kept.slice(start, end), placed = own ? [] : pins.map((item) => [shown.findIndex((row) => row.item === item), every.get(item)]);
    const beside = others.map((other, at) => { const rows = new Map(other.map((row) => [row.item, row])); return { groups: [groupName(names[at + 1])], pins: [], columns: [], rows: shown.map((row) => rows.get(row.item)) }; });
    const alone = own ? { groups: [groupName(names[0])], by: groupName(names[0]), said: null } : {};
    return { ...rest, ...alone, total: kept.length, start, end, beside, pins: placed.filter(([at]) => at >= 0).sort((one, other) => one[0] - other[0]), rows: shown, columns: [] };
  },
  item(given) {
    const text = data.texts[given.item];
    if (!text) throw new Error(`There is no item '${given.item}'.`);
    const names = Object.keys(data.judgments).filter((name) => name !== "item"), get = Object.fromEntries(names.map((name) => [name, column(name)]));
    const raters = new Map(Object.values(data.raters).flatMap((part) => part.rows).map((row) => [row.rater, row]));
    const judgments = rowsWhere("item", given.item).map((row) => {
      const one = Object.fromEntries(names.map((name) => [name, get[name](row)]).filter(([, value]) => value !== null));
      const rater = raters.get(one.rater);
      return { ...one, kind: rater?.kind, ...(rater?.traits || {}) };
    });
    const questions = data.overview.questions.filter((question) => judgments.some((one) => one.question === question.id));
    const pictures = Object.fromEntries(questions.map((question) => [question.id, data.items[question.id].rows.find((row) => row.item === given.item)?.pictures || []]));
    const ids = Object.keys(data.texts), place = ids.indexOf(given.item);
    return { item: text, questions, pictures, judgments, neighbours: { previous: ids[place - 1], next: ids[place + 1] } };
  },
  raters(given) {
    const all = data.raters[asked(given)], words = (given.search || "").toLowerCase();
    let rows = all.rows.filter((row) => (!given.kind || row.kind === given.kind) && row.rater.toLowerCase().includes(words));
    if (given.sort && given.sort !== "flags") rows = byNumber(rows, given.sort, given.descending !== "false");
    return { ...all, rows, total: rows.length };
  },
  rater(given) {
    const id = asked(given), question = data.overview.questions.find((one) => one.id === id);
    const row = data.raters[id].rows.find((one) => one.rater === given.rater);
    if (!row) throw new Error(`There is no rater '${given.rater}'.`);
    const [of, item, value, status, why] = ["question", "item", "value", "status", "rationale"].map(column);
    const [first] = data.items[id].groups, all = new Map(data.items[id].rows.map((one) => [one.item, one.pictures.find((part) => part.group === first)]));
    // Whoever is counted among the others is taken out of them.
    const among = (first === "all raters" || ["person", "slot"].includes(row.kind)) && row.traits.excluded?.toLowerCase() !== "true";
    const votes = votesOf(id, rowsWhere("rater", given.rater), () => true), votesOn = (name) => (among && votes.get(name)) || [];
    const meanOfOthers = (name) => {
      const every = all.get(name), n = every ? total(every.counts) : 0, left = n - votesOn(name).length;
      return left > 0 ? (every.mean * n - total(votesOn(name))) / left : null;
    };
    const mine = rowsWhere("rater", given.rater).filter((one) => of(one) === id).map((one) => {
      const others = meanOfOthers(item(one)), own = value(one);
      const apart = own === null || others === null ? null : own - others;
      return { item: item(one), text: data.texts[item(one)]?.text, value: own, status: status(one), others, apart, rationale: why(one), size: apart === null ? null : Math.abs(apart) };
    });
    const use = question.codes.map(() => 0), others = question.codes.map(() => 0);
    mine.forEach((one) => { if (one.value !== null) use[nearest(question.codes, one.value)]++; });
    all.forEach((one) => one?.counts.forEach((times, at) => { others[at] += times; }));
    if (among) use.forEach((times, at) => { others[at] -= times; });
    return { ...row, question: id, labels: question.labels, use, others_use: others, total: mine.length, ticks: question.ticks, listed: byNumber(mine, "size", true).slice(0, 200) };
  },
  map: (given) => data.maps[given.kind === "items" ? "items" : `${given.kind} ${asked(given)}`],
};

// ---- pictures

// One mark for every distribution: votes as filled bars, shares that were given or averaged as open ones.
function picture(one, question, place, wide) {
  const { labels, ticks } = question, tall = one.shares || one.counts, most = Math.max(...tall, one.shares ? 0 : 1);
  const n = one.n ?? (one.counts ? total(one.counts) : 0), often = (at) => (one.shares ? percent(one.shares[at]) : one.counts[at]);
  const [least, room] = wide ? [34, 320] : [16, 150], longest = Math.max(...ticks.map((text) => text.length * 7 + 4));
  const step = Math.min(Math.max(least, longest * ticks.length <= room ? longest : 0), room / labels.length), high = wide ? 90 : 34, width = step * labels.length;
  const said = labels.map((label, at) => (tall[at] ? `${label}: ${often(at)}` : "")).filter(Boolean).join(", ");
  const bar = (value, at) => h("rect", { class: one.shares ? "bar given" : "bar", x: at * step + 1, y: high - (value / most) * high, width: step - 2, height: (value / most) * high }, h("title", {}, `${labels[at]}: ${often(at)}`));
  const tick = (text, x, anchor) => h("text", { x, y: high + 12, "text-anchor": anchor, "font-size": 11 }, text);
  const fits = ticks.every((text) => text.length * 7 <= step), ends = question.ordered && !fits;
  const marks = fits ? ticks.map((text, at) => tick(text, (at + .5) * step, "middle")) : ends ? [tick(ticks[0], 0, "start"), tick(ticks[ticks.length - 1], width, "end")] : null;
  const svg = h("svg", { width, height: high + 15, viewBox: `0 0 ${width} ${high + 15}`, role: "img", "aria-label": `${one.group}, ${counted(n, "answer")}: ${said || "none"}` },
    tall.map(bar), h("line", { class: "rule", x1: 0, x2: width, y1: high + .5, y2: high + .5 }), marks);
  return h("div", { class: `picture c${Math.min(place, 7)}` }, svg, h("span", { title: one.group }, h("b", {}, one.group), ` ${n ? count(n) : ""}${middle(one, question, tall)}`));
}
// The mean answer or, without an order, the most frequent one.
function middle(one, question, tall) {
  if (question.ordered) return one.mean === null || one.mean === undefined ? "" : `, mean ${number(one.mean)}`;
  const sum = total(tall), top = tall.indexOf(Math.max(...tall));
  return !sum ? "" : tall[top] === sum && !one.shares ? `, ${question.labels[top]}` : `, ${percent(tall[top] / sum)} ${question.labels[top]}`;
}
const pictures = (list, question, wide) => h("div", { class: `pictures${wide ? " large" : ""}` }, list.map((one, place) => picture(one, question, place, wide)));

// A column in which no row has anything is left out.
function table(heads, rows, caption) {
  const known = heads.map((_, at) => at).filter((at) => !rows.length || rows.some((row) => !["–", "", null, undefined].includes(row[at])));
  const long = (at) => rows.some((row) => (row[at]?.textContent ?? String(row[at] ?? "")).length > 36);
  const kind = heads.map((head, at) => (head.number ? "number" : long(at) ? "long" : null));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption || "Table" },
    h("table", {},
      h("thead", {}, h("tr", {}, known.map((at) => h("th", { scope: "col", class: kind[at] }, heads[at].title ?? heads[at])))),
      h("tbody", {}, rows.map((row) => h("tr", {}, known.map((at) => h("td", { class: kind[at] }, row[at] ?? "–")))))));
}

function save(name, text, type) {
  const blob = text instanceof Blob ? text : new Blob([text], { type });
  const anchor = h("a", { href: URL.createObjectURL(blob), download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}
function csv(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  // A cell that a spreadsheet would run as a formula is made text.
  const cell = (value) => {
    const plain = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names.join(","), ...rows.map((row) => names.map((name) => cell(row[name])).join(","))].join("\r\n");
}
const button = (text, act, more) => h("button", { type: "button", onclick: act, ...more }, text);
const csvButton = (name, rows) => button("CSV", () => save(`${name}.csv`, csv(rows), "text/csv"));

function scatter(map, chosen) {
  const narrow = window.innerWidth < 700, W = narrow ? 480 : 1000, H = narrow ? 460 : 620, left = 70, bottom = 50, top = 20, right = 20;
  const points = map.points, font = narrow ? 16 : 13;
  if (!points.length) return h("p", {}, "There is nothing to draw.");
  const groups = [...new Set(points.map((one) => one.group))];
  const ends = (axis) => {
    const values = points.flatMap((one) => [one[axis], one[`${axis}_low`], one[`${axis}_high`]]).filter((value) => Number.isFinite(value));
    const low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * .06;
    return [low - room, high + room];
  };
  const whole = { x: ends("x"), y: ends("y") };
  let shown = structuredClone(whole);
  const X = (value) => left + ((value - shown.x[0]) / (shown.x[1] - shown.x[0])) * (W - left - right);
  const Y = (value) => H - bottom - ((value - shown.y[0]) / (shown.y[1] - shown.y[0])) * (H - top - bottom);
  const svg = h("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${map.title}: ${counted(points.length, "point")}. The table below has the same values.` });
  const status = h("p", { class: "note", role: "status" }, "Hover a point to see it, press it to open it, or drag a box to list what is inside.");
  const listed = h("div", {});
  let current = points, boxed = false;
  const step = ([low, high]) => { const power = 10 ** Math.floor(Math.log10((high - low) / 4)); return [1, 2, 5, 10].map((one) => one * power).find((one) => (high - low) / one <= 6); };
  const ticks = ([low, high]) => Array.from({ length: 40 }, (_, at) => (Math.ceil(low / step([low, high])) + at) * step([low, high])).filter((value) => value <= high);
  const tick = (value, range) => number(value, Math.max(0, Math.ceil(-Math.log10(step(range)) - 1e-9)));
  const within = (low, high) => ({ x1: X(low), y1: Y(low), x2: X(high), y2: Y(high) });
  function draw() {
    svg.replaceChildren();
    ticks(shown.y).forEach((value) => svg.append(h("line", { class: "rule", x1: left, x2: W - right, y1: Y(value), y2: Y(value) }), h("text", { x: left - 8, y: Y(value) + 4, "text-anchor": "end", "font-size": font }, tick(value, shown.y))));
    ticks(shown.x).forEach((value) => svg.append(h("line", { class: "rule", y1: top, y2: H - bottom, x1: X(value), x2: X(value) }), h("text", { x: X(value), y: H - bottom + 18, "text-anchor": "middle", "font-size": font }, tick(value, shown.x))));
    svg.append(h("text", { x: (W + left) / 2, y: H - 8, "text-anchor": "middle", "font-size": font }, map.x), h("text", { x: 16, y: H / 2, "text-anchor": "middle", "font-size": font, transform: `rotate(-90 16 ${H / 2})` }, map.y));
    if (map.diagonal) svg.append(h("line", { class: "diagonal", ...within(Math.max(shown.x[0], shown.y[0]), Math.min(shown.x[1], shown.y[1])) }));
    const written = []; // a label that would cover another one is left to the pointer
    const free = (x, y, wide) => written.every(([left, up, much]) => x + wide < left || left + much < x || Math.abs(up - y) > font) && written.push([x, y, wide]);
    points.forEach((one) => {
      const x = X(one.x), y = Y(one.y);
      if (x < left || x > W - right || y < top || y > H - bottom) return;
      const colour = `c${groups.indexOf(one.group) % 8}`;
      if (points.length <= 400) {
        if (Number.isFinite(one.y_low)) svg.append(h("line", { class: `error ${colour}`, x1: x, x2: x, y1: Y(one.y_low), y2: Y(one.y_high) }));
        if (Number.isFinite(one.x_low)) svg.append(h("line", { class: `error ${colour}`, y1: y, y2: y, x1: X(one.x_low), x2: X(one.x_high) }));
      }
      if (points.length <= 100 && one.label.length <= 24 && free(x, y, .6 * font * one.label.length)) svg.append(h("text", { class: colour, x: x + 8, y: y - 7, "font-size": font - 1 }, one.label));
      const said = `${one.label}: ${number(one.x)}, ${number(one.y)}${one.note ? "; " + one.note : ""}`;
      svg.append(h("circle", { class: colour, cx: x, cy: y, r: points.length > 400 ? 3.5 : 6, "data-id": one.id, onmouseenter: () => { status.textContent = said; }, onclick: (event) => { event.stopPropagation(); chosen(one); } }, h("title", {}, said)));
    });
  }
  function list() {
    listed.replaceChildren(h("details", { open: boxed },
      h("summary", {}, boxed ? `${counted(current.length, "point")} in the box` : `All ${counted(points.length, "point")} as a table`),
      table(["", "group", { title: "x", number: true }, { title: "y", number: true }, "remarks"],
        current.slice(0, 200).map((one) => [link(map.of, { [map.of]: one.id }, one.label), one.group, number(one.x), number(one.y), one.note || "–"])),
      current.length > 200 ? h("p", { class: "note" }, `The first 200 of ${count(current.length)}.`) : null,
      boxed && map.of === "item" && current.length <= 200 ? h("p", {}, link("items", { question: map.question, only: current.map((one) => one.id) }, "Open these in Items")) : null,
      boxed && map.of === "rater" && current.length ? h("p", {}, link("spectrum", { question: map.question, among: current.map((one) => one.id) }, "Sort the Spectrum by their answers")) : null));
  }
  const where = (event) => { const box = svg.getBoundingClientRect(); return [((event.clientX - box.left) / box.width) * W, ((event.clientY - box.top) / box.height) * H]; };
  let start = null, box = null;
  svg.addEventListener("pointerdown", (event) => { if (event.target.tagName !== "circle") { start = where(event); box = h("rect", { class: "box" }); svg.append(box); svg.setPointerCapture(event.pointerId); } });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    const end = where(event);
    Object.entries({ x: Math.min(start[0], end[0]), y: Math.min(start[1], end[1]), width: Math.abs(start[0] - end[0]), height: Math.abs(start[1] - end[1]) }).forEach(([name, value]) => box.setAttribute(name, value));
  });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const end = where(event), [x0, x1] = [start[0], end[0]].sort((a, b) => a - b), [y0, y1] = [start[1], end[1]].sort((a, b) => a - b);
    box.remove();
    start = null;
    boxed = x1 - x0 >= 6;
    current = !boxed ? points : points.filter((one) => X(one.x) >= x0 && X(one.x) <= x1 && Y(one.y) >= y0 && Y(one.y) <= y1);
    list();
  });
  const zoom = (factor, at) => {
    for (const axis of ["x", "y"]) {
      const [low, high] = shown[axis], middle = at ? at[axis] : (low + high) / 2;
      shown[axis] = [middle - (middle - low) * factor, middle + (high - middle) * factor];
    }
    draw();
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = where(event);
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, { x: shown.x[0] + ((x - left) / (W - left - right)) * (shown.x[1] - shown.x[0]), y: shown.y[0] + ((H - bottom - y) / (H - top - bottom)) * (shown.y[1] - shown.y[0]) });
  }, { passive: false });
  function asSvg() {
    const copy = svg.cloneNode(true), mine = getComputedStyle(svg);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("font-family", "sans-serif");
    copy.querySelectorAll("circle, line, text").forEach((one, at) => {
      const style = getComputedStyle(svg.querySelectorAll("circle, line, text")[at]);
      one.setAttribute("fill", one.tagName === "line" ? "none" : style.fill);
      one.setAttribute("stroke", one.tagName === "text" ? "none" : style.stroke);
    });
    copy.insertBefore(h("rect", { width: W, height: H, fill: mine.backgroundColor }), copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
  }
  function png() {
    const image = new Image();
    image.onload = () => {
      const canvas = h("canvas", { width: W * 2, height: H * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, W * 2, H * 2);
      canvas.toBlob((blob) => save("map.png", blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asSvg())}`;
  }
  draw();
  list();
  return h("div", { class: "map" },
    groups.length > 1 ? h("p", { class: "legend" }, groups.map((name, at) => h("span", { class: `c${at % 8}` }, `● ${name}`))) : null,
    svg, status,
    map.left_out ? h("p", { class: "note" }, `${counted(map.left_out, "point")} not shown (too few answers, or no room).`) : null,
    h("div", { class: "tools" }, button("Zoom in", () => zoom(1 / 1.5)), button("Zoom out", () => zoom(1.5)), button("Show all", () => { shown = structuredClone(whole); current = points; boxed = false; draw(); list(); }),
      button("SVG", () => save("map.svg", asSvg(), "image/svg+xml")), button("PNG", png), csvButton("map", points)),
    listed);
}

// ---- the Spectrum

const COLUMNS = 400; // more texts than this share columns with their neighbours
const meanOf = (lists) => (lists.length ? lists[0].map((_, at) => total(lists.map((one) => one[at])) / lists.length) : null);

function sharesOf(one) {
  if (!one) return null;
  const n = total(one.counts);
  return one.shares || (n ? one.counts.map((times) => times / n) : null);
}

// One column for each text; of many texts, the mean of neighbours.
function columnsOf(rows, groups) {
  const width = Math.min(rows.length, COLUMNS), parts = Array.from({ length: width }, () => []);
  rows.forEach((row, at) => parts[Math.floor((at * width) / rows.length)].push(row));
  return parts.map((part) => {
    const known = part.map((row) => row.disagreement).filter((value) => value !== null);
    const of = (name) => part.map((row) => sharesOf(row.pictures.find((one) => one.group === name))).filter(Boolean);
    return { texts: part.length, disagreement: known.length ? total(known) / known.length : null, shares: groups.map((name) => meanOf(of(name))) };
  });
}

const areas = (width, paths, kind, name) =>
  h("svg", { class: kind, viewBox: `0 0 ${width} 1`, preserveAspectRatio: "none", role: "img", "aria-label": name }, paths);

// The shares of one group as areas, the first answer at the bottom.
function strip(columns, group, colours, name) {
  const paths = colours.map(() => "");
  columns.forEach((one, at) => {
    let below = 1;
    (one.shares[group] || []).forEach((share, answer) => {
      if (!(share > 0)) return;
      paths[answer] += `M${at} ${below.toFixed(4)}h1v${(-share).toFixed(4)}h-1z`;
      below -= share;
    });
  });
  return areas(columns.length, paths.map((d, at) => h("path", { d, fill: colours[at] })), group ? "strip" : "strip first", `Shares of the answers of ${name}`);
}

function apartStrip(columns) {
  const highest = Math.max(.5, ...columns.map((one) => one.disagreement || 0));
  const d = columns.map((one, at) => (one.disagreement ? `M${at} 1h1v${(-one.disagreement / highest).toFixed(4)}h-1z` : "")).join("");
  return areas(columns.length, [h("path", { d, class: "apart" })], "strip", "Disagreement");
}

function key(question) {
  const mark = (at) => h("svg", { width: 12, height: 12, "aria-hidden": "true" }, h("rect", { width: 12, height: 12, fill: question.colours[at] }));
  return h("p", { class: "legend" }, question.labels.map((label, at) => h("span", {}, mark(at), ` ${label}`)));
}

// One Spectrum, or several beside each other: their columns are the same texts in the same order.
function spectrum(answer, given) {
  const { question, start, end } = answer, many = end - start;
  const sides = [answer, ...(answer.beside || [])].map((side) => ({ ...side, columns: side.columns.length ? side.columns : columnsOf(side.rows, side.groups) }));
  const width = sides[0].columns.length, single = width === many, first = (at) => Math.ceil((at * many) / width);
  const target = (at) => (single ? address("item", { item: answer.rows[at].item, question: question.id }) : address("spectrum", { ...given, start: start + first(at), end: start + first(at + 1) }));
  const readout = h("div", { class: "readout" }, h("p", { class: "note" }, `Point at a column to see ${single ? "a text and its votes" : "the votes on its texts"}; press it to open ${single ? "it" : "them"}. The arrow keys move, Enter opens.`));
  const plots = [], cursors = [];
  let current = 0;
  const votes = (side) => (single ? side.rows[current].pictures : side.groups.map((group, at) => ({ group, shares: side.columns[current].shares[at] })).filter((part) => part.shares));
  function point(at) {
    current = Math.max(0, Math.min(width - 1, at));
    const row = single ? answer.rows[current] : null;
    const title = row ? row.text || row.item : `Texts ${count(start + first(current) + 1)} to ${count(start + first(current + 1))} of ${count(answer.total)}, on average`;
    plots.forEach((plot) => { plot.setAttribute("aria-valuenow", current + 1); plot.setAttribute("aria-valuetext", title.slice(0, 200)); });
    cursors.forEach((cursor) => { cursor.hidden = false; cursor.style.left = `${(100 * (current + .5)) / width}%`; });
    const apart = sides.map((side) => `${sides.length > 1 ? `${side.groups[0]} ` : ""}${number(side.columns[current].disagreement)}`).join(", ");
    readout.replaceChildren(h("p", {}, h("a", { href: target(current), dir: "auto" }, title)), pictures(sides.flatMap(votes), question), h("p", { class: "facts" }, "disagreement ", h("b", {}, apart)));
  }
  function plotOf(side) {
    const cursor = h("div", { class: "cursor", hidden: true }), by = sides.length > 1 ? side.groups[0] : answer.by;
    const plot = h("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": `Texts sorted by the answers of ${answer.by}${by === answer.by ? "" : `: ${by}`}`, "aria-valuemin": 1, "aria-valuemax": width, "aria-valuenow": 1 });
    const under = (event) => { const box = plot.getBoundingClientRect(); return Math.floor(((event.clientX - box.left) / box.width) * width); };
    plot.addEventListener("pointermove", (event) => point(under(event)));
    plot.addEventListener("click", (event) => {
      point(under(event));
      if (event.pointerType !== "touch") location.hash = target(current).slice(1); // a finger reads first, and opens below
    });
    plot.addEventListener("focus", () => { if (cursor.hidden && plot.matches(":focus-visible")) point(0); });
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -width, End: width }[event.key];
      if (step) { event.preventDefault(); point(current + step); }
      if (event.key === "Enter") location.hash = target(current).slice(1);
    });
    const strips = side.groups.map((name, at) => [name, at]).filter(([, at]) => side.columns.some((one) => one.shares[at]));
    const parts = strips.map(([name, at]) => [h("span", { class: "who" }, name), strip(side.columns, at, question.colours, name)]);
    if (side.columns.some((one) => one.disagreement !== null)) parts.splice(1, 0, [h("span", { class: "who" }, "disagreement"), apartStrip(side.columns)]);
    const pins = side.pins.map(([at], place) => { const mark = h("span", { class: "pin" }, String(place + 1)); mark.style.left = `${(100 * (at + .5)) / many}%`; return mark; });
    plot.append(...parts.flat(), ...pins, cursor);
    plots.push(plot);
    cursors.push(cursor);
    return sides.length > 1 ? h("section", {}, plot, side.said ? h("p", { class: "note" }, side.said) : null) : plot;
  }
  return h("div", { class: "spectrum" }, key(question), h("div", { class: sides.length > 1 ? "two" : null }, sides.map(plotOf)), readout);
}

// ---- raters by agreement

const LEVELS = 12; // shades of agreement

// Every two raters as a cell. Choosing raters, by a click, a drag or the keys, calls `changed` with their names.
function heat(map, trait, chosen, changed) {
  const points = map.points, n = points.length, groups = [...new Set(points.map((one) => one.group))], named = n <= 40;
  const side = Math.max(5, Math.min(n <= 24 ? 26 : named ? 18 : 14, Math.floor((window.innerWidth < 700 ? 300 : 640) / n)), named ? 13 : 0), room = named ? 130 : 4, left = room + 16, size = n * side;
  const off = map.cells.flatMap((row, at) => row.filter((one, other) => other !== at && one !== null)), low = Math.min(...off), high = Math.max(...off, low + 1);
  const level = (one) => Math.round(((Math.min(one, high) - low) / (high - low)) * LEVELS), paths = Array(LEVELS + 1).fill("");
  map.cells.forEach((row, at) => row.forEach((one, other) => { if (one !== null) paths[level(one)] += `M${left + other * side} ${16 + at * side}h${side}v${side}h-${side}z`; }));
  const picked = new Set(points.flatMap((one, at) => (chosen.includes(one.id) ? [at] : []))), colour = (one) => `c${groups.indexOf(one.group) % 8}`;
  const marks = h("g", {}), cursor = h("rect", { class: "box", x: 0, width: left + size, height: side, visibility: "hidden" });
  const svg = h("svg", { width: left + size + 2, height: size + 18, class: "heat", role: "slider", tabindex: 0, "aria-label": map.title, "aria-valuemin": 1, "aria-valuemax": n, "aria-valuenow": 1 },
    paths.map((d, at) => h("path", { d, "fill-opacity": (.04 + (.96 * at) / LEVELS).toFixed(2) })),
    points.map((one, at) => [h("rect", { class: colour(one), x: room, y: 16 + at * side, width: 12, height: side }, h("title", {}, `${one.id}: ${one.group}`)), h("rect", { class: colour(one), x: left + at * side, y: 0, width: side, height: 12 }),
      named ? h("text", { x: room - 5, y: 16 + (at + .5) * side + 4, "text-anchor": "end", "font-size": 12 }, one.id.length > 18 ? `${one.id.slice(0, 17)}…` : one.id) : null]), marks, cursor);
  const status = h("p", { class: "note", role: "status" }, "Click raters, drag over several, or move with the arrow keys and choose with the space bar: the Spectrum below is sorted by their answers.");
  const cell = (event) => { const box = svg.getBoundingClientRect(), at = (value) => Math.max(0, Math.min(n - 1, Math.floor(value / side))); return [at(event.clientY - box.top - 16), at(event.clientX - box.left - left)]; };
  let current = 0, from = null;
  function mark() {
    marks.replaceChildren(...[...picked].map((at) => h("rect", { class: "picked", x: room - 1, y: 16 + at * side, width: 15 + size, height: side })));
  }
  function point(at, other = at) {
    current = Math.max(0, Math.min(n - 1, at));
    const [one, two, agreed] = [points[current], points[other], map.cells[current][other]];
    status.textContent = current === other || !two ? `${one.id} (${one.group})` : `${one.id} (${one.group}) and ${two.id} (${two.group}): ${agreed === null ? "no text in common" : `agreement ${number(agreed / 100)}`}`;
    svg.setAttribute("aria-valuenow", current + 1);
    svg.setAttribute("aria-valuetext", `${one.id}, ${one.group}${picked.has(current) ? ", chosen" : ""}`);
    cursor.setAttribute("y", 16 + current * side);
    cursor.setAttribute("visibility", "visible");
  }
  function choose(first, last) {
    const range = points.map((_, at) => at).filter((at) => at >= Math.min(first, last) && at <= Math.max(first, last));
    if (range.length === 1 && picked.has(first)) picked.delete(first); else range.forEach((at) => picked.add(at));
    mark();
    point(last);
    changed([...picked].map((at) => points[at].id));
  }
  svg.addEventListener("pointermove", (event) => point(...cell(event)));
  svg.addEventListener("pointerdown", (event) => { [from] = cell(event); });
  svg.addEventListener("pointerup", (event) => { if (from !== null) choose(from, cell(event)[0]); from = null; });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -n, End: n }[event.key];
    if (step) { event.preventDefault(); point(current + step); }
    if (event.key === " " || event.key === "Enter") { event.preventDefault(); choose(current, current); }
  });
  const likest = (at, sign) => map.cells[at].reduce((best, one, other) => (other === at || one === null || (best !== null && sign * (map.cells[at][best] - one) >= 0) ? best : other), null);
  const pair = (at, sign) => { const other = likest(at, sign); return other === null ? "–" : `${points[other].id} (${number(map.cells[at][other] / 100)})`; };
  mark();
  return h("div", {}, h("p", { class: "legend" }, groups.map((name, at) => h("span", { class: `c${at % 8}` }, `■ ${name}`)), h("span", {}, `agreement ${number(low / 100)} `, h("svg", { width: 90, height: 12, "aria-hidden": "true", class: "heat" }, paths.map((_, at) => h("path", { d: `M${at * 7} 0h7v12h-7z`, "fill-opacity": .04 + (.96 * at) / LEVELS }))), ` ${number(high / 100)}`)),
    h("div", { class: "wide" }, svg), status, h("div", { class: "tools" }, button("Choose nobody", () => { picked.clear(); mark(); changed([]); })),
    h("details", {}, h("summary", {}, "The raters as a table"), table(["rater", trait || "kind", "most alike", "least alike"], points.map((one, at) => [link("rater", { rater: one.id }, one.id), one.group, pair(at, 1), pair(at, -1)]))));
}

// ---- controls

function select(name, title, options, value) {
  return h("label", {}, title, h("select", { name }, options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value ?? "") }, text))));
}
const field = (name, title, value, more) => h("label", {}, title, h("input", { name, value: value ?? "", autocomplete: "off", ...more }));

// A form whose values are the address: every change is a new entry of the history.
function controls(view, given, parts, kept) {
  if (!parts.flat(2).some(Boolean)) return null;
  const apply = (form) => {
    const values = Object.fromEntries([...new FormData(form)].filter(([name]) => !name.startsWith("_")));
    const [name, value] = [form.elements._column?.value, form.elements._value?.value];
    if (name) values[`where.${name}`] = value;
    location.hash = address(view, { ...kept, ...values }).slice(1);
  };
  const form = h("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); apply(form); }, onchange: (event) => {
    if (event.target.name === "_column" && event.target.value) {
      form.elements._value.value = "";
      $("values").replaceChildren(...(overview.columns[event.target.value] || []).map((value) => h("option", { value })));
      form.elements._value.focus();
    } else if (event.target.type !== "search") apply(form);
  } }, parts);
  let waiting = 0;
  form.addEventListener("input", (event) => {
    if (event.target.type !== "search") return;
    clearTimeout(waiting);
    waiting = setTimeout(() => apply(form), 300);
  });
  return form;
}
const questionSelect = (given) => overview.questions.length > 1 ? select("question", "Question", overview.questions.map((one) => [one.id, one.title || one.id]), asked(given)) : null;

// What narrows the texts of the Spectrum and of the list.
function itemFilters(given) {
  const columns = Object.keys(overview.columns || {}), [filter] = Object.keys(given).filter((name) => name.startsWith("where."));
  const traits = Object.keys(overview.traits || {}), conditions = (overview.conditions || []).filter(Boolean);
  const choice = (names, none) => [["", none], ...names.map((name) => [name, name])];
  return [
    field("search", "Search", given.search, { type: "search" }),
    !data && traits.length ? select("trait", "People by", choice(traits, "all together"), given.trait) : null,
    !data && conditions.length ? select("condition", "Condition", choice(conditions, "all"), given.condition) : null,
    columns.length ? select("_column", "Filter by column", choice(columns, "none"), filter?.slice(6)) : null,
    columns.length ? field("_value", "equal to", filter ? given[filter] : "", { list: "values" }) : null,
    h("datalist", { id: "values" }, (overview.columns?.[filter?.slice(6)] || []).map((value) => h("option", { value }))),
  ];
}

function pages(view, given, total, page, size) {
  if (total <= size) return null;
  const to = Math.min((page + 1) * size, total);
  return h("p", { class: "pages" }, page > 0 ? link(view, { ...given, page: page - 1 }, "← Previous", { rel: "prev" }) : null,
    `${count(page * size + 1)}–${count(to)} of ${count(total)}`, to < total ? link(view, { ...given, page: page + 1 }, "Next →", { rel: "next" }) : null);
}

// ---- views

const SORTS = [["disagreement", "Disagreement"], ["distance", "Distance people – model"], ["declined", "Refusals and other gaps"], ["answers", "Number of answers"], ["mean", "Mean answer"], ["item", "Order of the corpus"]];

const views = {
  async spectrum(given) {
    const groups = groupsOf(), sides = [given.one, given.other].some(Boolean), names = groups.map((name) => [name, groupName(name)]);
    let answer = null, problem = "";
    try { answer = await ask("spectrum", given); } catch (error) { if (!sides) throw error; problem = error.message; }
    const form = controls("spectrum", given, [questionSelect(given), ...itemFilters(given),
      groups.length > 1 ? [select("one", "Show", [["", "everyone"], ...names], given.one), select("other", "Beside", [["", "nobody"], ...names], given.other)] : null,
      answer?.groups.length > 1 && !data ? select("rater", "Sort by the answers of", answer.groups.map((name) => [name, name]), answer.by) : null], given.among ? { among: given.among } : {});
    if (!answer) return [h("h1", {}, "The Spectrum"), form, h("p", { class: "problem" }, problem)];
    const question = answer.question, part = answer.end - answer.start < answer.total, beside = answer.beside?.length;
    const title = sides ? [answer, ...answer.beside].map((side) => side.groups[0]).join(" beside ") : answer.said || "The answers to every text";
    const head = [h("h1", {}, title), form, h("p", { class: "note" }, wording(question), ` · ${question.scale}`)];
    if (!answer.total) return [...head, h("p", {}, "No text matches. Change the search or the filter.")];
    const { start: _, end: __, ...whole } = given, { among, ...everyone } = given;
    const many = answer.end - answer.start, inside = (at) => Math.max(0, Math.min(answer.total, at));
    const beyond = (from, to, text, rel) => (inside(from) < inside(to) ? link("spectrum", { ...given, start: inside(from), end: inside(to) }, text, { rel }) : null);
    const divisive = beside ? [] : answer.pins.map(([, row]) => h("li", {}, link("item", { item: row.item, question: question.id }, h("span", { class: "text", dir: "auto" }, row.text || row.item)), pictures(row.pictures, question)));
    return [...head,
      among ? h("p", {}, `Sorted by the answers of ${some([].concat(among))}. `, link("spectrum", everyone, "Sort by everyone's")) : null,
      part ? h("p", { class: "pages" }, beyond(answer.start - many, answer.start, "← Texts before", "prev"), `Texts ${count(answer.start + 1)} to ${count(answer.end)} of ${count(answer.total)}`,
        beyond(answer.end, answer.end + many, "Texts after →", "next"), link("spectrum", whole, "Show all")) : null,
      spectrum(answer, given),
      divisive.length ? [h("h2", {}, "The most divisive"), h("ol", { class: "pinned" }, divisive)] : null,
      h("p", { class: "note" }, `Every text is a column: the answers as shares, sorted by ${question.ordered ? "their mean" : "the share of " + question.labels[0]}${beside ? ` among ${answer.by}` : ""}. `,
        `Disagreement is the ${question.ordered ? "mean distance between two answers as a share of the scale" : "share of pairs of answers that differ"}. `, link("items", { ...whole, sort: "mean", descending: "false" }, "The same texts as a list"))];
  },

  async items(given) {
    const answer = await ask("items", given), question = answer.question;
    const form = controls("items", given, [
      questionSelect(given), ...itemFilters(given), select("sort", "Sort by", SORTS.filter(([name]) => name !== "distance" || answer.compared), given.sort || "disagreement"),
      overview.models?.length > 1 && !data ? select("rater", "Model", [["", "the first"], ...overview.models.map((name) => [name, name])], given.rater) : null,
      select("descending", "Order", [["true", "highest first"], ["false", "lowest first"]], given.descending || "true"),
    ], given.only ? { only: given.only } : {});
    return [h("h1", {}, "Items"), form, h("p", { class: "note" }, wording(question), ` · ${question.scale}`),
      answer.total ? null : h("p", {}, "No item matches. Change the search or the filter."),
      h("ol", { class: "rows" }, answer.rows.map((row) => h("li", {},
        h("div", {}, link("item", { item: row.item, question: question.id }, h("span", { class: "text", dir: "auto" }, row.text || row.item)), h("span", { class: "facts" }, row.item)),
        pictures(row.pictures, question),
        h("div", { class: "facts" }, facts(row, answer.compared))))),
      pages("items", given, answer.total, answer.page, answer.size),
      h("div", { class: "tools" }, csvButton("items", answer.rows))];
  },

  async item(given) {
    const answer = await ask("item", { item: given.item, trait: given.trait }), item = answer.item, rest = Object.entries(item).filter(([name]) => !["item", "text", "conversation"].includes(name));
    const step = (name, text) => answer.neighbours[name] ? link("item", { item: answer.neighbours[name], question: given.question }, text, { rel: name === "previous" ? "prev" : "next" }) : null;
    return [h("h1", {}, `Item ${item.item}`), ...said(item),
      rest.length ? h("dl", {}, rest.map(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, String(value))])) : null,
      h("p", { class: "pages" }, step("previous", "← Previous item"), step("next", "Next item →")),
      !data && Object.keys(overview.traits || {}).length ? controls("item", given, [select("trait", "People by", [["", "all together"], ...Object.keys(overview.traits).map((name) => [name, name])], given.trait)], { item: given.item, question: given.question }) : null,
      answer.judgments.length ? null : h("p", {}, "Nobody has judged this item yet."),
      ...answer.questions.map((question) => h("section", {}, h("h2", {}, question.title || question.id), h("p", { class: "note" }, wording(question, item), ` · ${question.scale}`),
        pictures(answer.pictures[question.id], question, true), judged(answer.judgments.filter((one) => one.question === question.id), question, item)))];
  },

  async raters(given) {
    const answer = await ask("raters", given), kinds = Object.keys(overview.kinds || {}), question = overview.questions.find((one) => one.id === asked(given));
    const sorts = [["flags", "What stands out"], ...(question.distances ? [["estimate", "Correlation with the others"], ["bias", "Mean minus the others'"]] : []), ["agreement", "Same answer as others"], ["answers", "Number of answers"], ["rater", "Name"]];
    const form = controls("raters", given, [questionSelect(given), field("search", "Search", given.search, { type: "search" }),
      kinds.length > 1 ? select("kind", "Kind", [["", "all"], ...kinds.map((kind) => [kind, kind])], given.kind) : null,
      select("sort", "Sort by", sorts, given.sort || "flags"),
      select("descending", "Order", [["true", "highest first"], ["false", "lowest first"]], given.descending || "true")]);
    const about = question.distances ? "Raters are compared with other people on the same items; spread is the standard deviation of their answers as a share of that of others. 95 % intervals hold for one rater alone, those of a report for all raters at once." : "Same answer: how often other people give the same answer to the same text.";
    const heads = ["rater", "kind", ...["answers", "correlation with the others", "mean minus the others'", "spread", "same answer as others", "most frequent answer"].map((title) => ({ title, number: true })), "traits", "what stands out"];
    const rows = answer.rows.map((row) => [link("rater", { rater: row.rater, question: asked(given) }, row.rater), row.kind, count(row.answers), interval(row), number(row.bias), number(row.spread), percent(row.agreement), percent(row.top_share),
      traitsOf(row.traits), row.flags.length ? h("span", { class: "flag" }, row.flags.join("; ")) : "–"]);
    return [h("h1", {}, "Raters"), h("p", { class: "note" }, about), form, h("p", {}, link("map", { question: given.question }, "Show them on a map")),
      table(heads, rows, "Raters"), pages("raters", given, answer.total, answer.page, answer.size), h("div", { class: "tools" }, csvButton("raters", answer.rows))];
  },

  async rater(given) {
    const answer = await ask("rater", given), question = overview.questions.find((one) => one.id === answer.question);
    const known = [["kind", answer.kind], ...Object.entries(answer.traits), ["answers", `${count(answer.answers)} of ${counted(answer.judgments, "judgment")}`], ["correlation with the others", interval(answer)], ["mean minus the others'", number(answer.bias)], ["spread", number(answer.spread)], ["same answer as others", percent(answer.agreement)], ["most frequent answer", percent(answer.top_share)], ["seconds per judgment (median)", number(answer.seconds, 1)]].filter(([, value]) => value !== "–");
    const said = (one) => (one.value === null ? one.status : question.ordered ? number(one.value, 0) : question.labels[question.codes.indexOf(one.value)]);
    const heads = ["item", { title: "answer", number: question.ordered }, ...(question.ordered ? ["others' mean", "difference"].map((title) => ({ title, number: true })) : []), "reason"];
    const rows = answer.listed.map((one) => [link("item", { item: one.item, question: answer.question }, h("span", { dir: "auto" }, (one.text || one.item).slice(0, 160))), said(one), ...(question.ordered ? [number(one.others), number(one.apart)] : []), one.rationale ? h("span", { dir: "auto" }, one.rationale) : "–"]);
    return [h("h1", {}, answer.rater), controls("rater", given, [questionSelect(given)], { rater: given.rater }),
      answer.flags.length ? h("p", { class: "problem" }, `Stands out: ${answer.flags.join("; ")}.`) : h("p", {}, answer.traits.excluded?.toLowerCase() === "true" ? "This rater is excluded: measures and pictures leave them out." : "Nothing stands out about this rater."),
      h("dl", {}, known.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      h("h2", {}, "Use of the scale"), pictures([{ group: answer.rater, counts: answer.use }, { group: "others", counts: answer.others_use }].filter((one) => total(one.counts)), question, true),
      h("h2", {}, question.distances ? "Answers, those farthest from the others first" : "Answers"), table(heads, rows, "Answers"),
      answer.total > answer.listed.length ? h("p", { class: "note" }, `The first ${answer.listed.length} of ${counted(answer.total, "judgment")}.`) : null,
      h("div", { class: "tools" }, csvButton("rater", answer.listed))];
  },

  async compare(given) {
    const groups = groupsOf();
    const [trait, values] = Object.entries(overview.traits || {}).find(([, several]) => several.length > 1) || [];
    const begin = overview.models?.length ? [`rater=${overview.models[0]}`, "people"] : trait ? [`${trait}=${values[0]}`, `${trait}=${values[1]}`] : [groups[groups.length - 1], "people"];
    const one = given.one || begin[0], other = given.other || begin[1];
    const question = overview.questions.find((each) => each.id === asked(given)), names = groups.map((name) => [name, groupName(name)]);
    let answer = null, problem = "";
    try { answer = await ask("compare", { one, other, question: question.id, option: given.option }); } catch (error) { problem = error.message; }
    const form = controls("compare", given, [select("one", "Group", names, one), select("other", "against", names, other), questionSelect(given),
      answer?.options.length > 2 ? select("option", "Share of", answer.options.map((name) => [name, name]), answer.option) : null]);
    if (!answer) return [h("h1", {}, "Compare"), form, h("p", { class: "problem" }, problem)];
    const shown = answer.option ? (value) => percent(value) : (value) => number(value), more = answer.option ? `more often “${answer.option}”` : "higher", less = answer.option ? `less often “${answer.option}”` : "lower";
    const side = (rows, title) => h("section", {}, h("h2", {}, title), rows.length ? h("ol", { class: "rows" }, rows.map((row) => h("li", {},
      h("div", {}, link("item", { item: row.item, question: answer.question }, h("span", { class: "text", dir: "auto" }, row.text || row.item))),
      h("div", { class: "facts" }, h("b", {}, shown(row.difference)), h("div", {}, `${shown(row.mean)} against ${shown(row.mean_other)}`))))) : h("p", {}, "None."));
    const map = () => ({ title: `${groupName(one)} against ${groupName(other)}`, x: groupName(other), y: groupName(one), of: "item", diagonal: true, points: answer.points.map((point) => ({ id: point.item, label: point.item, group: "items", x: point.x, y: point.y })) });
    return [h("h1", {}, "Compare"), form, h("p", {}, answer.sentence),
      pictures([one, other].map((group, at) => ({ group: groupName(group), shares: answer.shares[at], n: answer.answers[at] })), question, true),
      answer.points.length ? scatter(map(), (point) => { location.hash = address("item", { item: point.id, question: answer.question }).slice(1); }) : null,
      h("div", { class: "two" }, side(answer.higher, `${groupName(one)} ${more}`), side(answer.lower, `${groupName(one)} ${less}`)),
      h("div", { class: "tools" }, csvButton("comparison", [...answer.higher, ...answer.lower]))];
  },

  async map(given) {
    const traits = Object.keys(overview.traits || {}), question = asked(given);
    const kinds = [["heat", "Pairs of raters"], ["agreement", "Raters by agreement"], overview.axes > 1 && ["items", "Items on two axes"]].filter(Boolean);
    const kind = kinds.some(([name]) => name === given.kind) ? given.kind : "heat", items = kind === "items";
    let map = null, problem = "";
    try { map = await ask("map", items ? { kind, x: given.x, y: given.y } : { kind, question }); } catch (error) { problem = error.message; }
    const axes = Object.entries(map?.axes || {});
    const form = controls("map", given, [select("kind", "Map", kinds, kind), items ? null : questionSelect(given),
      items && !data && axes.length ? [select("x", "Across", axes, given.x || axes[0][0]), select("y", "Up", axes, given.y || axes[1][0])] : null,
      !items && traits.length ? select("trait", "Colour by", [["", "kind"], ...traits.map((name) => [name, name])], given.trait) : null], kind === "heat" && given.among ? { among: given.among } : {});
    if (!map) return [h("h1", {}, "Maps"), form, h("p", { class: "problem" }, problem || "The file has no such map.")];
    const coloured = { ...map, question, points: map.points.map((one) => ({ ...one, group: one.traits?.[given.trait] ?? one.group })) };
    const head = [h("h1", {}, "Maps"), form, h("h2", {}, map.title)];
    if (kind !== "heat") return [...head, scatter(coloured, (point) => { location.hash = address(map.of, { [map.of]: point.id, question }).slice(1); })];
    const below = h("section", {}), among = given.among ? [].concat(given.among) : [];
    const sorted = async (chosen) => {
      const answer = await ask("spectrum", { question, among: chosen });
      below.replaceChildren(h("h2", {}, chosen.length ? `The Spectrum, sorted by the answers of ${some(chosen)}` : "The Spectrum"), spectrum(answer, { question, among: chosen }),
        h("p", {}, link("spectrum", { question, among: chosen }, "Open this Spectrum")));
    };
    await sorted(among);
    const changed = (chosen) => { history.replaceState(null, "", address("map", { ...given, kind, among: chosen })); sorted(chosen); };
    return [...head, heat(coloured, given.trait, among, changed), map.left_out ? h("p", { class: "note" }, `${counted(map.left_out, "rater")} not shown (those with fewest answers).`) : null, below];
  },

  async calls(given) {
    const answer = await ask("calls", given);
    if (!answer.calls.length) return [h("h1", {}, "Calls"), h("p", {}, "No calls are stored beside what you opened.")];
    return [h("h1", {}, "Calls"), h("p", { class: "note" }, "What models were asked and what they said, failures last. `vantage runs` says what each run cost."), ...answer.calls.map(call),
      h("p", { class: "pages" }, answer.page > 0 ? link("calls", { ...given, page: answer.page - 1 }, "← Previous", { rel: "prev" }) : null, answer.more ? link("calls", { ...given, page: answer.page + 1 }, "Next →", { rel: "next" }) : null)];
  },
};

// The groups of raters that can be compared.
function groupsOf() {
  const kinds = Object.keys(overview.kinds || {}), traits = Object.entries(overview.traits || {});
  return ["people", ...(kinds.length > 1 ? kinds.map((kind) => `kind=${kind}`) : []), ...(overview.models || []).map((name) => `rater=${name}`),
    ...traits.flatMap(([name, values]) => values.map((value) => `${name}=${value}`)), ...(overview.conditions || []).filter(Boolean).map((name) => `condition=${name}`)];
}
const some = (names) => `${names.slice(0, 6).join(", ")}${names.length > 6 ? " and others" : ""}`;
const groupName = (group) => group.startsWith("rater=") ? group.slice(6) : group.startsWith("kind=") ? `every ${group.slice(5)}` : group.replace("=", ": ");
// The question as it is asked about an item; without one, its fields are left open.
const wording = (question, item) => (question.ask || question.title).replaceAll(/\{(\w+)\}/g, (_, name) => item?.[name] ?? `[${name}]`);
const interval = (row) => row.estimate === null || row.estimate === undefined ? "–" : h("span", {}, number(row.estimate), row.low === null ? "" : h("span", { class: "interval" }, ` ${number(row.low)} to ${number(row.high)}`));
const facts = (row, compared) => [["disagreement", row.disagreement], [compared ? `distance of ${compared[0]} from ${compared[1]}` : "distance", row.distance]].filter(([, value]) => value !== null).map(([name, value]) => h("div", {}, `${name} `, h("b", {}, number(value)))).concat(row.declined ? [h("div", {}, `${counted(row.declined, "judgment")} without an answer`)] : []);

// The text of an item: turns of a conversation as such, anything else as it is.
function said(item) {
  const turns = (text) => { const lines = String(text).split("\n").filter(Boolean).map((line) => /^([^:\n]{1,30}): (.+)$/.exec(line)); return lines.length > 1 && lines.every(Boolean) ? lines.map((line) => [line[1], line[2]]) : null; };
  const parts = [];
  for (const name of ["conversation", "text"]) {
    if (item[name] === undefined) continue;
    const spoken = turns(item[name]);
    parts.push(spoken ? h("ol", { class: "dialogue" }, spoken.map(([who, words]) => h("li", { dir: "auto" }, h("b", {}, who), " ", words))) : h("blockquote", { class: "said", dir: "auto" }, String(item[name])));
  }
  return parts.length ? parts : [h("p", { class: "note" }, "The item has no text.")];
}

const KNOWN = ["question", "rater", "kind", "condition", "sample", "value", "status", "rationale", "reply", "rule", "presentation", "thinking", "finish", "excluded"];
function judged(rows, question, item) {
  const label = (row) => row.value === undefined ? row.status : question.labels[question.codes.indexOf(row.value)] ?? number(row.value);
  const extra = [["condition", (row) => row.condition], ["sample", (row) => row.sample], ["presentation", (row) => row.presentation]].filter(([name]) => new Set(rows.map((row) => row[name] ?? "")).size > 1);
  return table(["rater", "kind", "answer", ...extra.map(([name]) => name), "traits", "reason", "reply"], rows.map((row) => [
    link("rater", { rater: row.rater, question: question.id }, row.rater), row.kind, h("b", {}, label(row)), ...extra.map(([, get]) => String(get(row) ?? "–")),
    Object.entries(row).filter(([name, value]) => !KNOWN.includes(name) && (typeof value === "string" || typeof value === "number") && String(value).length < 40 && value !== "" && name in (overview.traits || {})).map(([name, value]) => `${name} ${value}`).join(", ") || "–",
    row.rationale ? h("span", { dir: "auto" }, row.rationale) : "–", row.reply ? reply(row, item) : "–"]), `Judgments about ${question.title || question.id}`);
}

function reply(row, item) {
  const details = h("details", {}, h("summary", {}, row.rule || "show"));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.childElementCount > 1) return;
    if (row.thinking) details.append(h("h3", {}, "Thinking"), h("pre", { dir: "auto" }, row.thinking));
    details.append(h("pre", { dir: "auto" }, row.reply));
    if (data) return;
    try {
      const calls = await ask("calls", { item: item.item, rater: row.rater });
      details.append(...calls.calls.filter((one) => !one.question || one.question === row.question).slice(0, 4).map(call));
    } catch (error) { details.append(h("p", { class: "problem" }, error.message)); }
  });
  return details;
}

function call(one) {
  return h("details", {}, h("summary", {}, `${one.item || ""} ${one.question || ""} ${one.step || ""}, sample ${one.sample}: ${one.finish}`),
    ...(one.messages || []).flatMap((message) => [h("h3", {}, message.role), h("pre", { dir: "auto" }, message.content)]),
    one.thinking ? [h("h3", {}, "thinking"), h("pre", { dir: "auto" }, one.thinking)] : null,
    h("h3", {}, one.error ? "error" : "reply"), h("pre", { dir: "auto" }, one.error || one.reply || JSON.stringify(one.scores)));
}

// ---- the page

const NAMES = [["spectrum", "Spectrum"], ["items", "Items"], ["raters", "Raters"], ["compare", "Compare"], ["map", "Maps"], ["calls", "Calls"]];

const PART_OF = { item: "items", rater: "raters" };

// The views that have something to show; a file holds no tests and no calls.
function tabs() {
  const there = { compare: !data && groupsOf().length > 1, calls: overview.calls && !data };
  const judged = overview.questions.length > 0;
  return NAMES.filter(([name]) => (name === "calls" ? there.calls || !judged : judged && (there[name] ?? true)));
}

function parsed() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?"), names = tabs().map(([name]) => name);
  const given = {};
  for (const [name, value] of new URLSearchParams(query)) given[name] = name in given ? [].concat(given[name], value) : value;
  return [names.includes(PART_OF[view] || view) ? view : names[0], given];
}

function notice() {
  const sizes = overview.judgments ? `${counted(overview.items, "item")}, ${counted(overview.raters, "rater")}, ${counted(overview.judgments, "judgment")}` : "Stored calls, no judgments";
  const part = data?.sampled ? ` A random sample: ${count(data.sampled.items)} of ${counted(data.sampled.of_items, "item")} with ${count(data.sampled.judgments)} of ${counted(data.sampled.of, "judgment")}.` : "";
  const reports = data ? [] : overview.paths.flatMap((path, at) => (path.report ? [" ", h("a", { href: `/report/${at}` }, `Report of ${path.name}`)] : []));
  const out = overview.excluded ? ` ${counted(overview.excluded, "excluded rater")} left out of pictures, comparisons and maps; the judgments are still listed.` : "";
  $("notice").replaceChildren(`${sizes}.${part}${out}`, ...reports);
}

async function show(again) {
  const mine = ++drawn, [view, given] = parsed(), focused = document.activeElement?.name, at = document.activeElement?.selectionStart;
  $("nav").replaceChildren(...tabs().map(([name, title]) => link(name, given.question ? { question: given.question } : {}, title, name === (PART_OF[view] || view) ? { "aria-current": "page" } : {})));
  $("main").setAttribute("aria-busy", "true");
  let parts;
  try { parts = await views[view](given); } catch (error) { parts = [h("h1", {}, "This cannot be shown"), h("p", { class: "problem" }, error.message)]; }
  if (mine !== drawn) return; // somebody has gone on meanwhile
  $("main").replaceChildren(...parts.flat(3).filter((part) => part !== null && part !== undefined && part !== false));
  $("main").removeAttribute("aria-busy");
  document.title = `${$("main").querySelector("h1")?.textContent || "Vantage"} · ${overview.name || "Vantage"}`;
  const field = focused && $("main").querySelector(`[name="${CSS.escape(focused)}"]`);
  if (field) { field.focus(); if (at !== null && at !== undefined && field.setSelectionRange) try { field.setSelectionRange(at, at); } catch { /* a select has no selection */ } }
  else if (!again) { window.scrollTo(0, 0); $("main").focus({ preventScroll: true }); }
}

// What changed on disk is drawn again, or said to whoever is typing or reading what they unfolded.
async function follow(wanted) {
  const busy = !wanted && (["INPUT", "SELECT"].includes(document.activeElement?.tagName) || $("main").querySelector("details[open]"));
  if (document.visibilityState !== "visible" || (busy && $("stale"))) return;
  try {
    const now = await ask("overview");
    if (now.stamp === overview.stamp) return;
    if (busy) return $("notice").append(h("span", { id: "stale" }, " The files have changed since this was drawn. "), button("Draw it again", () => follow(true)));
    overview = now;
    notice();
    await show(true);
  } catch (error) { $("notice").textContent = `The server does not answer (${error.message}). Run vantage view again.`; }
}

// Inside a frame of a notebook an address such as #/items would be taken for one of the notebook itself.
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href^='#/']");
  if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = anchor.getAttribute("href");
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  const wanted = { j: "next", n: "next", k: "prev", p: "prev" }[event.key];
  const target = wanted && $("main").querySelector(`a[rel="${wanted}"]`);
  if (target) target.click();
  if (event.key === "/") { const search = $("main").querySelector("input[type=search]"); if (search) { event.preventDefault(); search.focus(); } }
});

async function begin() {
  const holder = $("data");
  if (holder) data = JSON.parse(holder.textContent);
  if (data?.at && !location.hash) location.hash = data.at;
  try { overview = await ask("overview"); } catch (error) { $("main").replaceChildren(h("h1", {}, "This cannot be shown"), h("p", { class: "problem" }, error.message)); return; }
  $("name").textContent = overview.name || (overview.paths || []).map((path) => path.name).join(", ") || "Vantage";
  notice();
  window.addEventListener("hashchange", () => show());
  await show();
  if (!data) setInterval(follow, 3000);
}
document.addEventListener("DOMContentLoaded", begin);
