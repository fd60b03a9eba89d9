// The small parts that every view is made of.
import { html, useEffect, useRef, useState } from "../vendor/view.js";
import { ServerError, rows as askRows, run } from "./api.js";
import { amend } from "./address.js";
import { mayWrite } from "./live.js";
import { ago, count, exact, valueText, wholeTime } from "./format.js";

// Shape and word, never colour alone.
const TONES = { good: "●", warn: "▲", bad: "■", calm: "○" };
const STATES = {
  RUNNING: ["good", "running"], OPEN: ["good", "open"], ENABLED: ["good", "enabled"],
  KEPT: ["good", "kept"], BROKEN: ["bad", "broken"], WARMING: ["calm", "warming"],
  FAILED: ["bad", "held"], HELD: ["bad", "held"], SUSPENDED: ["warn", "suspended"],
  WAITING: ["warn", "waiting"], STOPPED: ["calm", "stopped"], FINISHED: ["calm", "finished"],
  IDLE: ["calm", "idle"], ENDED: ["calm", "ended"], DISABLED: ["calm", "disabled"],
};

export function Mark({ tone, children }) {
  return html`<span class="mark ${tone}"><span aria-hidden="true">${TONES[tone]}</span> ${children}</span>`;
}

export function State({ of }) {
  const [tone, word] = STATES[String(of).toUpperCase()] ?? ["calm", String(of ?? "unknown").toLowerCase()];
  return html`<${Mark} tone=${tone}>${word}<//>`;
}

/** A number as it is read at a glance; the exact one on hover. */
export const Figure = ({ value, as = count, unit = "" }) =>
  html`<span class="figure" title=${typeof value === "number" ? `${exact(value)}${unit && ` ${unit}`}` : undefined}>${as(value)}</span>`;

export const Moment = ({ at }) => html`<time title=${wholeTime(at)} datetime=${new Date(at).toISOString()}>${ago(at)}</time>`;

/** How much of a whole is used, as a bar with its word. */
export function Meter({ value, most, label, tone }) {
  const part = Math.max(0, Math.min(1, most > 0 ? value / most : 0));
  const told = tone ?? (value > most ? "bad" : part > 0.8 ? "warn" : "good");
  return html`<span class="meter ${told}" title=${label}>
    <span class="meter-bar" aria-hidden="true"><span style=${{ width: `${part * 100}%` }}></span></span>
    <span>${label}</span></span>`;
}

export const Loading = ({ what = "" }) => html`<p class="state" role="status">Loading ${what} …</p>`;
export const Empty = ({ children }) => html`<p class="state">${children}</p>`;

/** An error of the server, with its code and what to do about it. */
export function Trouble({ error, again }) {
  const place = error.line ? ` (line ${error.line}, column ${error.column})` : "";
  return html`<div class="trouble" role="alert">
    <p><${Mark} tone="bad">${error instanceof ServerError ? error.code : "NO_ANSWER"}<//> ${told(error)}${place}</p>
    ${error.hint && html`<p class="hint">${error.hint}</p>`}
    ${again && html`<button onClick=${again}>Try again</button>`}</div>`;
}

export const told = (error) =>
  error instanceof ServerError ? error.message : "The server gave no answer. It may be restarting.";

/** Ask once, and again when `key` changes: [answer, error, again]. */
export function useAnswer(ask, key) {
  const [state, set] = useState([null, null]);
  const [times, more] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    set(([answer]) => [times ? answer : null, null]);
    ask(stop.signal).then(
      (answer) => set([answer, null]),
      (error) => stop.signal.aborted || set([null, error]),
    );
    return () => stop.abort();
  }, [key, times]);
  return [...state, () => more((n) => n + 1)];
}

export const useRows = (sql) => useAnswer((signal) => askRows(sql, signal), sql);

/**
 * A table that sorts and filters; both are in the address. A column is {key, title, show, value,
 * number, hint}: `show` draws a cell, `value` is what it sorts by.
 */
export function Table({ name, columns, rows, given = {}, first = "", most = 200, label, wide }) {
  const [all, showAll] = useState(false);
  const [by, down] = sorting(given.sort ?? first);
  const found = sorted(rows, columns.find((each) => each.key === by), down);
  const shown = all ? found : found.slice(0, most);
  const sort = (key) => amend({ sort: by === key && down ? key : by === key ? `-${key}` : columns.find((c) => c.key === key).number ? `-${key}` : key });
  const head = (column) => html`<th scope="col" key=${column.key} class=${column.number ? "number" : ""}
    aria-sort=${by === column.key ? (down ? "descending" : "ascending") : undefined} title=${column.hint}>
    <button class="plain" onClick=${() => sort(column.key)}>${column.title}<span aria-hidden="true">${by === column.key ? (down ? " ↓" : " ↑") : ""}</span></button></th>`;
  return html`<div class="scroll ${wide ? "wide" : ""}" tabindex="0" role="region" aria-label=${label}>
    <table class="rows"><thead><tr>${columns.map(head)}</tr></thead>
    <tbody>${shown.map((row) => html`<tr key=${row[name]}>${columns.map((column) => html`<td key=${column.key} data-title=${column.title} class=${column.number ? "number" : ""}>${(column.show ?? plain)(row, column)}</td>`)}</tr>`)}</tbody></table></div>
    ${found.length > shown.length && html`<p class="more">${exact(shown.length)} of ${exact(found.length)} shown. <button onClick=${() => showAll(true)}>Show all</button></p>`}`;
}

const plain = (row, column) => (column.number ? html`<${Figure} value=${row[column.key]} />` : String(row[column.key] ?? ""));

function sorting(text) {
  return text.startsWith("-") ? [text.slice(1), true] : [text, false];
}

function sorted(rows, column, down) {
  if (!column) return rows;
  const value = column.value ?? ((row) => row[column.key]);
  const order = (a, b) => {
    const [x, y] = [value(a) ?? null, value(b) ?? null];
    if (x === null || y === null) return (x === null) - (y === null); // what has no value comes last
    const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
    return down ? -less : less;
  };
  return [...rows].sort(order);
}

/** Rows of an answer, as they came; columns are the names. */
export function Rows({ rows, columns, label }) {
  if (!rows.length) return html`<${Empty}>No rows.<//>`;
  const names = columns ?? Object.keys(rows[0]);
  const numeric = new Set(names.filter((each) => rows.some((row) => typeof row[each] === "number")));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class="rows raw">
    <thead><tr>${names.map((each) => html`<th scope="col" key=${each} class=${numeric.has(each) ? "number" : ""}>${each}</th>`)}</tr></thead>
    <tbody>${rows.map((row, place) => html`<tr key=${place}>${names.map((each) => cell(each, row[each], numeric))}</tr>`)}</tbody></table></div>`;
}

function cell(name, value, numeric) {
  const nothing = value === null || value === undefined;
  const whole = valueText(value);
  return html`<td key=${name} title=${whole.length > 40 ? whole : undefined} class="${numeric.has(name) ? "number" : ""} ${nothing ? "null" : ""}">${whole}</td>`;
}

/** Ask before something is lost: ask({title, lost, verb}) gives whether to go on. */
let pending = null;
let tellDialog = () => {};
export function ask(question) {
  return new Promise((answer) => {
    pending = { ...question, answer };
    tellDialog(pending);
  });
}

export function Questions() {
  const [question, set] = useState(pending);
  const dialog = useRef();
  tellDialog = set;
  useEffect(() => {
    if (question) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;
  const answered = (value) => {
    dialog.current.close();
    set((pending = null));
    question.answer(value);
  };
  return html`<dialog ref=${dialog} aria-labelledby="question" onCancel=${(event) => { event.preventDefault(); answered(null); }}>
    <form method="dialog" onSubmit=${(event) => { event.preventDefault(); answered(new FormData(event.target)); }}>
    <h2 id="question">${question.title}</h2>
    ${question.lost && html`<p>${question.lost}</p>`}
    ${question.fields?.map((field) => html`<label key=${field.name}>${field.label}<input name=${field.name} type=${field.type ?? "text"} min="0" step="any" value=${field.value ?? ""} placeholder=${field.placeholder} /></label>`)}
    <p class="buttons"><button type="button" onClick=${() => answered(null)}>Cancel</button>
    <button type="submit" class=${question.lost ? "danger" : "main"}>${question.verb}</button></p></form></dialog>`;
}

let tellNotice = () => {};
/** Say what became of something, where all views show it. */
export const notice = (tone, text) => tellNotice({ tone, text });

export function Notices() {
  const [said, set] = useState(null);
  tellNotice = set;
  useEffect(() => {
    if (said?.tone !== "good") return;
    const timer = setTimeout(() => set(null), 6000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<div class="notices" role="status" aria-live="polite">${said && html`<div class="notice">
    <${Mark} tone=${said.tone}>${said.text}<//> <button class="plain" aria-label="Close this message" onClick=${() => set(null)}>✕</button></div>`}</div>`;
}

/** Carry out a statement and say what became of it; returns whether it was done. */
export async function carryOut(sql) {
  try {
    const results = await run(sql);
    notice("good", results.at(-1)?.message || "Done.");
    return true;
  } catch (error) {
    notice("bad", `${error.code ?? "NO_ANSWER"}: ${told(error)}${error.hint ? ` – ${error.hint}` : ""}`);
    return false;
  }
}

/** A button that carries out a statement; those who may only read see none. */
export function Act({ sql, question, children, then, label, kind = "" }) {
  const [busy, set] = useState(false);
  if (!mayWrite()) return null;
  const press = async () => {
    if (question && !(await ask(question))) return;
    set(true);
    if ((await carryOut(sql)) && then) then();
    set(false);
  };
  return html`<button class=${kind} disabled=${busy} aria-label=${label} onClick=${press}>${children}</button>`;
}

/** A curve of the last ten minutes: values by time, null where there is none. `beside` is another, fainter. */
export function Sparkline({ points, value, label, most, beside }) {
  const [width, height] = [200, 36];
  const known = points.filter((point) => typeof point[value] === "number");
  if (known.length < 2) return html`<svg class="spark" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}: no curve yet"></svg>`;
  const end = points.at(-1)[0];
  const high = Math.max(most ?? 0, ...known.map((point) => point[value])) || 1;
  const x = (at) => width - ((end - at) / 600) * width;
  const y = (amount) => height - 2 - (amount / high) * (height - 4);
  const step = Math.max(1, Math.floor(known.length / 200));
  const line = (which) => known.filter((_, place) => place % step === 0 || place === known.length - 1)
    .map((point) => `${x(point[0]).toFixed(1)},${y(point[which]).toFixed(1)}`).join(" ");
  return html`<svg class="spark" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label} over the last ten minutes">
    <line class="base" x1="0" x2=${width} y1=${height - 1} y2=${height - 1} />${beside !== undefined && html`<polyline class="beside" points=${line(beside)} />`}<polyline points=${line(value)} /></svg>`;
}

/** The curves of one query's latencies, p99 with p50 below it. */
export function LatencyCurve({ name, curves: { at, queries } }) {
  const points = (queries[name] ?? []).map((pair, place) => [at[place], ...(pair ?? [null, null])]);
  return html`<${Sparkline} points=${points} value=${2} beside=${1} label="Latency p50 and p99 of ${name}" />`;
}

/** Bring the chosen one of a row of links into sight, where the row is wider than its place. */
export function useReveal(chosen) {
  const row = useRef();
  useEffect(() => {
    const link = row.current?.querySelector("[aria-current]");
    if (link) row.current.scrollLeft = link.offsetLeft - row.current.offsetLeft - (row.current.clientWidth - link.offsetWidth) / 2;
  }, [chosen]);
  return row;
}

export function Tabs({ tabs, chosen, address, label }) {
  const row = useReveal(chosen);
  return html`<nav ref=${row} class="tabs" aria-label=${label}>${tabs.map(([key, title, number]) => html`<a key=${key} href=${address(key)} aria-current=${key === chosen ? "page" : undefined}>${title}${number ? html` <span class="pill">${count(number)}</span>` : ""}</a>`)}</nav>`;
}
