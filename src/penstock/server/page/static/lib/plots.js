// Plots: the history of a stream or query, and rows by the types of their columns.
import uPlot from "../vendor/plot.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/view.js";
import { amend } from "./address.js";
import { rows as askRows } from "./api.js";
import { bytes, clockTime, count, duration, isNumber, literal, rate, valueText } from "./format.js";
import { Empty, Loading, Trouble, useAnswer } from "./ui.js";

const MOST_KEYS = 8; // lines that can still be told apart
const MOST_BARS = 40;
const POWERS = Array.from({ length: 42 }, (_, n) => 2 ** n); // steps of bytes
const HISTORY_SECONDS = 5; // how often a history that is looked at is asked for again

/** A plot by time; x in seconds, series are {label, values, as}. `zoomed(from, to)` tells a choice. */
function Lines({ x, series, height = 220, label, from, to, zoomed }) {
  const place = useRef();
  const plot = useRef();
  const shape = series.map((each) => each.label).join("\n");
  const data = [x, ...series.map((each) => each.values)];
  const newest = useRef();
  newest.current = { series, zoomed, data };
  useEffect(() => {
    const here = place.current;
    if (!here) return; // gone before it was drawn
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(here, newest.current, height), newest.current.data, here);
      fit(plot.current, from, to);
    };
    make();
    const resized = new ResizeObserver(() => here.clientWidth && plot.current?.setSize({ width: here.clientWidth, height }));
    resized.observe(here);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("penstock-theme", make);
    dark.addEventListener("change", make);
    return () => {
      resized.disconnect();
      removeEventListener("penstock-theme", make);
      dark.removeEventListener("change", make);
      plot.current.destroy();
      plot.current = null;
    };
  }, [shape, height]);
  useEffect(() => {
    plot.current?.setData(data, !(from && to));
    fit(plot.current, from, to);
  });
  return html`<div class="plot" ref=${place} role="img" aria-label=${label}></div>`;
}

function fit(plot, from, to) {
  if (plot && from && to) plot.setScale("x", { min: Number(from), max: Number(to) });
}

function options(place, newest, height) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const as = newest.series[0]?.as ?? count;
  return {
    width: place.clientWidth, height,
    cursor: { drag: { x: Boolean(newest.zoomed), y: false, setScale: Boolean(newest.zoomed) } },
    legend: { live: true },
    scales: { x: { time: true } },
    axes: [{ ...axis, space: 80, values: (_, ticks) => ticks.map((tick) => clockTime(tick * 1000)) }, { ...axis, size: 72, incrs: as === bytes ? POWERS : undefined, values: (_, ticks) => ticks.map((tick) => as(tick)) }],
    series: [{ label: "at", value: (_, at) => (at ? clockTime(at * 1000) : "–") }, ...newest.series.map((each, n) => ({
      label: each.label, stroke: colour(`--series-${(n % MOST_KEYS) + 1}`), width: 1.5,
      dash: n >= 4 ? [6, 3] : undefined, points: { show: each.values.length < 30, size: 5 }, spanGaps: true,
      value: (_, value) => (each.as ?? count)(value),
    }))],
    hooks: {
      setSelect: [(plot) => {
        if (!newest.zoomed || plot.select.width < 4) return;
        newest.zoomed(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
      }],
    },
  };
}

/** The last ten minutes of a stream or a query, as the server has sampled them. */
export function History({ kind, name, given }) {
  const [tick, next] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || next((n) => n + 1), HISTORY_SECONDS * 1000);
    return () => clearInterval(timer);
  }, []);
  const [kept, keep] = useState(null);
  const [answer, wrong, again] = useAnswer(
    (signal) => askRows(`SELECT at, in_per_s, out_per_s, latency_ms, delay_ms, queued_rows, memory_bytes FROM system.history WHERE kind = ${literal(kind)} AND name = ${literal(name)} ORDER BY at`, signal),
    `${kind} ${name} ${tick}`);
  useEffect(() => answer && keep(answer), [answer]);
  if (wrong && !kept) return html`<${Trouble} error=${wrong} again=${again} />`;
  if (!kept) return html`<${Loading} what="its history" />`;
  if (kept.length < 2) return html`<${Empty}>Its history begins in a few seconds.<//>`;
  const x = kept.map((row) => Date.parse(row.at) / 1000);
  const column = (key) => kept.map((row) => row[key]);
  const zoomed = (from, to) => amend({ from: from.toFixed(1), to: to.toFixed(1) });
  const plots = [
    ["Rows a second", [{ label: "in", values: column("in_per_s"), as: rate }, { label: "out", values: column("out_per_s"), as: rate }]],
    ...(kind === "query" ? [["Delay and latency, mean", [{ label: "delay", values: column("delay_ms"), as: duration }, { label: "latency", values: column("latency_ms"), as: duration }]]] : []),
    ["Rows queued", [{ label: "queued", values: column("queued_rows") }]],
    ["Memory of its buffers", [{ label: "memory", values: column("memory_bytes"), as: bytes }]],
  ];
  return html`<p class="note">Drag over a plot to look closer. ${given.from && html`<button onClick=${() => amend({ from: "", to: "" })}>All ten minutes</button>`}</p>
    <div class="plots">${plots.map(([title, series]) => html`<figure key=${title}><figcaption>${title}</figcaption><${Lines} x=${x} series=${series} height=${180} label="${title} of ${name}" from=${given.from} to=${given.to} zoomed=${zoomed} /></figure>`)}</div>`;
}

const NUMBERS = /^(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL)/i;
const TIMES = /^(TIMESTAMP|DATE)/i;
const LATITUDE = /^(lat|latitude)$/i;
const LONGITUDE = /^(lon|lng|long|longitude)$/i;
const HIDDEN = /^_/; // what contracts add: _error, _shed, _rows

/** Return which plots the columns allow, the most telling first: {form, x, y, by}. */
export function plotsFor(columns) {
  const named = columns.filter((each) => !HIDDEN.test(each.column));
  const times = named.filter((each) => TIMES.test(each.type)).map((each) => each.column);
  const numbers = named.filter((each) => NUMBERS.test(each.type)).map((each) => each.column);
  const keys = named.filter((each) => /^(STRING|BOOLEAN|VARCHAR|CHAR)/i.test(each.type)).map((each) => each.column);
  const latitude = numbers.find((each) => LATITUDE.test(each));
  const longitude = numbers.find((each) => LONGITUDE.test(each));
  const values = numbers.filter((each) => !/(^|_)id$/i.test(each));
  const found = [];
  if (latitude && longitude) found.push({ form: "dots", x: longitude, y: latitude, by: keys[0] ?? "" });
  const event = columns.find((each) => each.note === "event time")?.column;
  const time = times.includes("window_end") ? "window_end" : event ?? times[0];
  for (const y of values.length ? values : numbers) {
    if (time) found.push({ form: "line", x: time, y, by: keys[0] ?? "" });
    else if (keys.length) found.push({ form: "bars", x: keys[0], y, by: "" });
  }
  if (time && keys.length) for (const y of values) found.push({ form: "bars", x: keys[0], y, by: "" });
  return found;
}

/** Rows as a plot that the types of their columns choose; another can be chosen by hand. */
export function RowPlot({ rows, seen, types, given, name }) {
  const choices = useMemo(() => plotsFor(types ?? guessed(rows)), [types, rows.length > 0]);
  if (!choices.length) return html`<p class="note">No plot: that takes a number, and a time or a key beside it.</p>`;
  const chosen = choices[Number(given.plot)] ?? choices[0];
  const words = { line: (p) => `${p.y} by ${p.x}${p.by ? `, a line for each ${p.by}` : ""}`, bars: (p) => `${p.y} for each ${p.x}, the newest`, dots: (p) => `${p.y} and ${p.x} as dots` };
  const Form = { line: LinePlot, bars: BarPlot, dots: DotPlot }[chosen.form];
  return html`<figure><figcaption><label>Plot<select value=${choices.indexOf(chosen)} onChange=${(event) => amend({ plot: event.target.value })}>${choices.map((each, n) => html`<option key=${n} value=${n}>${words[each.form](each)}</option>`)}</select></label></figcaption>
    <${Form} rows=${rows} seen=${seen} plot=${chosen} label="${words[chosen.form](chosen)}, of ${name}" /></figure>`;
}

function guessed(rows) {
  const row = rows[0] ?? {};
  return Object.keys(row).map((column) => ({ column, type: isNumber(row[column]) ? "DOUBLE" : /^\d{4}-\d\d-\d\d[T ]\d\d/.test(row[column]) ? "TIMESTAMP" : "STRING" }));
}

function LinePlot({ rows, plot, label }) {
  const { x, series, left } = lines(rows, plot);
  if (!x.length) return html`<${Empty}>No values to draw yet.<//>`;
  return html`<${Lines} x=${x} series=${series} label=${label} />${left > 0 && html`<p class="note">${left} more ${plot.by} are not drawn.</p>`}`;
}

/** Return rows as times and a series for each key, the most frequent keys where they are many. */
export function lines(rows, { x, y, by }) {
  const often = new Map();
  for (const row of rows) often.set(row[by], (often.get(row[by]) ?? 0) + 1);
  const keys = by ? [...often].sort((a, b) => b[1] - a[1]).slice(0, MOST_KEYS).map(([key]) => key).sort() : [undefined];
  const at = new Map();
  for (const row of rows) {
    const time = Date.parse(row[x]) / 1000;
    const place = by ? keys.indexOf(row[by]) : 0;
    if (place < 0 || !Number.isFinite(time) || row[y] === null) continue;
    if (!at.has(time)) at.set(time, Array(keys.length).fill(null));
    at.get(time)[place] = Number(row[y]);
  }
  const times = [...at.keys()].sort((a, b) => a - b);
  const series = keys.map((key, n) => ({ label: by ? valueText(key) : y, values: times.map((time) => at.get(time)[n]) }));
  return { x: times, series, left: by ? often.size - keys.length : 0 };
}

function BarPlot({ rows, plot, label }) {
  const newest = new Map();
  for (const row of rows) newest.set(valueText(row[plot.x]), Number(row[plot.y]));
  const bars = [...newest].filter(([, value]) => Number.isFinite(value)).sort((a, b) => (a[0] < b[0] ? -1 : 1)).slice(0, MOST_BARS);
  const most = Math.max(...bars.map(([, value]) => Math.abs(value)), 1e-12);
  return html`<div class="bars" role="img" aria-label=${label}>${bars.map(([key, value]) => html`<div key=${key}><span class="key" title=${key}>${key}</span><span class="bar"><span style=${{ width: `${(Math.abs(value) / most) * 100}%` }}></span></span><span class="number" title=${value}>${count(value)}</span></div>`)}</div>`;
}

function DotPlot({ rows, plot, label }) {
  const dots = rows.map((row) => [Number(row[plot.x]), Number(row[plot.y]), plot.by ? valueText(row[plot.by]) : ""]).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  if (!dots.length) return html`<${Empty}>No places to draw yet.<//>`;
  const [left, right] = spread(dots.map((dot) => dot[0]));
  const [low, high] = spread(dots.map((dot) => dot[1]));
  const names = [...new Set(dots.map((dot) => dot[2]))].sort();
  const tone = (name) => `var(--series-${(names.indexOf(name) % MOST_KEYS) + 1})`;
  return html`<svg class="dots" viewBox="0 0 600 300" role="img" aria-label=${label}>
    <rect x="0.500" y="0.500" width="599" height="299" class="frame" />
    ${dots.map(([x, y, name], n) => html`<circle key=${n} r="3" cx=${((x - left) / (right - left)) * 580 + 10} cy=${290 - ((y - low) / (high - low)) * 280} style=${{ fill: tone(name) }}><title>${name} ${y}, ${x}</title></circle>`)}
    <text x="8" y="16">${plot.y} ${high.toFixed(3)}</text><text x="8" y="292">${low.toFixed(3)}; ${plot.x} ${left.toFixed(3)}</text><text x="592" y="292" text-anchor="end">${right.toFixed(3)}</text></svg>`;
}

function spread(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const edge = (high - low) * 0.02 || 0.01;
  return [low - edge, high + edge];
}
