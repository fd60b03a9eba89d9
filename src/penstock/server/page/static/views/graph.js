// Where it goes and where it waits: the shared plan, left to right, as it runs.
import { Graph, layout } from "../vendor/graph.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/view.js";
import { amend, to } from "../lib/address.js";
import { text as askText } from "../lib/api.js";
import { queryRow, useLive } from "../lib/live.js";
import { bytes, count, counted, duration, exact, rate, seconds, share } from "../lib/format.js";
import { planGraph } from "../lib/plan_graph.js";
import { Empty, Figure, Loading, Mark, Sparkline, State, Trouble, useAnswer } from "../lib/ui.js";

const [WIDTH, HEIGHT] = [220, 48];
const LETTERS = 26; // of a title that a node has room for
const [BEFORE, MARGIN] = ["before", 24];
const NOTHING = { node: "", query: "", stream: "", event: "" }; // chosen
const LONG_WAIT = 1; // seconds that rows wait before a unit until its ring is drawn

export default function GraphView({ given }) {
  const live = useLive();
  const known = live.overview !== null;
  const [answer, wrong, again] = useAnswer((signal) => (known ? askText("EXPLAIN ALL AS JSON", signal) : new Promise(() => {})), known ? live.shape : "");
  const [plan, keep] = useState(null);
  useEffect(() => answer && keep(JSON.parse(answer)), [answer]);
  const names = [...Object.keys(live.tables.queries), ...Object.keys(live.tables.events)].join("\n");
  const drawn = useMemo(() => plan && arranged(plan, live.tables), [plan, names]);
  if (wrong && !drawn) return html`<h1>Graph</h1><${Trouble} error=${wrong} again=${again} />`;
  if (!drawn || !live.overview) return html`<h1>Graph</h1><${Loading} what="the plan" />`;
  if (!drawn.nodes.length) return html`<h1>Graph</h1><${Empty}>Nothing runs yet. <a href=${to(["sql"])}>Define a stream and a query</a><//>`;
  const chosen = chosenNode(drawn, given);
  const missing = !chosen && (given.node || given.query || given.stream || given.event);
  return html`<div class="title"><h1>Graph</h1><p class="note">${counted(plan.streams.length, "stream")}, ${counted(plan.units.length, "unit")}, ${counted(Object.keys(live.tables.queries).length, "query", "queries")}</p>
      <${Find} /></div>
    ${missing && html`<p class="note" role="status"><${Mark} tone="warn">“${given.query ?? given.stream ?? given.event ?? given.node}” does not run now, so it is not in the graph.<//></p>`}
    <div class="graph ${chosen ? "with-panel" : ""}"><${Drawing} drawn=${drawn} live=${live} chosen=${chosen} />
    ${chosen && html`<${Panel} key=${chosen.id} node=${chosen} live=${live} drawn=${drawn} given=${given} />`}</div>
    <p class="legend note"><span class="swatch busy"></span> share of the time at work <span class="swatch ring"></span> rows wait longer than ${LONG_WAIT} s <span class="swatch wide"></span> more rows <span class="swatch dashed"></span> gate</p>`;
}

/** Finds a stream, a query or an event in the graph. */
function Find() {
  const live = useLive();
  const names = [...Object.keys(live.tables.streams).map((name) => ["stream", name]), ...Object.values(live.tables.queries).map((row) => ["query", row.query]), ...Object.keys(live.tables.events).map((name) => ["event", name])];
  const [text, type] = useState("");
  const find = (event) => {
    event.preventDefault();
    const wanted = text.toLowerCase();
    const found = names.find(([, name]) => name.toLowerCase() === wanted) ?? names.find(([, name]) => name.toLowerCase().includes(wanted));
    if (wanted && found) amend({ ...NOTHING, [found[0]]: found[1] });
  };
  return html`<form class="filters" onSubmit=${find}><label>Find<input type="search" list="names" value=${text} onInput=${(event) => type(event.target.value)} /></label>
    <datalist id="names">${names.slice(0, 500).map(([kind, name]) => html`<option key=${kind + name} value=${name}>${kind}</option>`)}</datalist><button>Find</button></form>`;
}

function arranged(plan, { queries, events }) {
  const rows = Object.values(queries);
  const known = { events: Object.values(events), queries: new Map(rows.map((row) => [row.query.toLowerCase(), row.query])), sinks: rows.filter((row) => row.sink).map((row) => [row.query.toLowerCase(), row.sink]) };
  const made = planGraph(plan, known);
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 64, marginx: MARGIN, marginy: 32 });
  for (const node of made.nodes) graph.setNode(node.id, { width: WIDTH, height: HEIGHT });
  graph.setNode(BEFORE, { width: 0, height: 0 }); // streams stand side by side, at the left
  for (const node of made.nodes) if (node.kind === "stream") graph.setEdge(BEFORE, node.id, { weight: 100 }); // as short as can be
  for (const edge of made.edges) graph.setEdge(edge.from, edge.to, {});
  layout(graph);
  for (const node of made.nodes) Object.assign(node, { x: graph.node(node.id).x, y: graph.node(node.id).y });
  for (const edge of made.edges) edge.points = graph.edge(edge.from, edge.to).points;
  const left = Math.min(...made.nodes.map((node) => node.x)) - WIDTH / 2 - MARGIN;
  const { width, height } = graph.graph();
  return { ...made, byId: new Map(made.nodes.map((node) => [node.id, node])), left, width: width - left, height };
}

function chosenNode({ homeOf, byId }, { node, query, stream, event }) {
  const id = query ? homeOf.query.get(query.toLowerCase()) : event ? homeOf.event.get(event.toLowerCase()) : stream ? homeOf.stream.get(stream) : homeOf.unit.get(node) ?? node;
  return byId.get(id);
}

/** Return what a node does now, whatever kind it is. */
function figuresOf(node, { tables }) {
  const units = (node.units ?? []).map((unit) => tables.units[unit.unit]).filter(Boolean);
  const sum = (rows, key) => rows.reduce((all, row) => all + (row[key] ?? 0), 0);
  if (node.kind === "stream") {
    const row = tables.streams[node.title];
    return { out: row?.rows_per_s ?? 0, queued: row?.queued_rows ?? 0, state: row?.state, line: rate(row?.rows_per_s ?? 0) };
  }
  if (units.length) {
    const busy = sum(units, "busy");
    return { out: sum(units, "out_per_s"), busy, queued: sum(units, "queued_rows"), oldest: Math.max(...units.map((row) => row.oldest_s)), state: units.some((row) => row.cause) ? "HELD" : "RUNNING", line: `${share(busy)} busy · ${rate(sum(units, "in_per_s"))}` };
  }
  const queries = (node.queries ?? []).map((name) => queryRow(tables, name)).filter(Boolean);
  const bad = queries.find((row) => row.state === "FAILED" || row.verdict === "broken");
  const warn = queries.find((row) => ["SUSPENDED", "WAITING"].includes(row.state));
  return { out: sum(queries, "out_per_s"), state: bad ? (bad.state === "FAILED" ? "FAILED" : "BROKEN") : warn?.state, line: node.kind === "sink" || node.kind === "rule" ? node.kind : rate(sum(queries, "out_per_s")) };
}

function Drawing({ drawn, live, chosen }) {
  const svg = useRef();
  const [box, look] = useState(null);
  const whole = { x: drawn.left, y: 0, width: Math.max(drawn.width, 320), height: Math.max(drawn.height, 120) };
  const [, measure] = useState(false);
  useEffect(() => measure(true), []); // its place has a size only now, and tells how much can be read
  const seen = box ?? fitted(whole, chosen, svg.current);
  const figures = new Map(drawn.nodes.map((node) => [node.id, figuresOf(node, live)]));
  useEffect(() => { if (chosen && box && !inside(box, chosen)) look({ ...box, x: chosen.x - box.width / 2, y: chosen.y - box.height / 2 }); }, [chosen?.id]);
  const zoom = (by, at = { x: seen.x + seen.width / 2, y: seen.y + seen.height / 2 }) =>
    look({ x: at.x - (at.x - seen.x) * by, y: at.y - (at.y - seen.y) * by, width: seen.width * by, height: seen.height * by });
  const scale = () => Math.max(seen.width / svg.current.clientWidth, seen.height / svg.current.clientHeight);
  const wheel = useRef();
  wheel.current = (event) => { if (!event.ctrlKey && !event.metaKey) return; event.preventDefault(); zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15); };
  useEffect(() => {
    const turned = (event) => wheel.current(event);
    svg.current.addEventListener("wheel", turned, { passive: false });
    return () => svg.current?.removeEventListener("wheel", turned);
  }, []);
  const drag = useRef(null);
  const pull = {
    onPointerDown: (event) => { if (!event.target.closest(".node")) { drag.current = { x: event.clientX, y: event.clientY, box: seen }; svg.current.setPointerCapture(event.pointerId); } },
    onPointerMove: (event) => { const from = drag.current; if (from) look({ ...from.box, x: from.box.x - (event.clientX - from.x) * scale(), y: from.box.y - (event.clientY - from.y) * scale() }); },
    onPointerUp: () => { drag.current = null; },
  };
  return html`<div class="drawing"><div class="zoom buttons"><button aria-label="Closer" title="Closer (Ctrl and wheel)" onClick=${() => zoom(1 / 1.3)}>+</button><button aria-label="Farther" onClick=${() => zoom(1.3)}>−</button><button onClick=${() => look(null)}>Fit</button></div>
    <svg ref=${svg} viewBox="${seen.x} ${seen.y} ${seen.width} ${seen.height}" role="group" aria-label="The shared plan: streams at the left, queries at the right" ...${pull}>
    ${frame(drawn, live)}
    ${drawn.edges.map((edge) => html`<${Edge} key=${edge.key} edge=${edge} ends=${[drawn.byId.get(edge.from), drawn.byId.get(edge.to)]} out=${figures.get(edge.from).out} near=${chosen && (edge.from === chosen.id || edge.to === chosen.id)} />`)}
    ${drawn.nodes.map((node) => html`<${Node} key=${node.id} node=${node} of=${figures.get(node.id)} chosen=${chosen === node} />`)}</svg></div>`;
}

/** The processor that runs the units, as a frame around them. */
function frame(drawn, live) {
  const units = drawn.nodes.filter((node) => node.units);
  if (!units.length) return null;
  const [left, right] = [Math.min(...units.map((n) => n.x)) - WIDTH / 2 - 12, Math.max(...units.map((n) => n.x)) + WIDTH / 2 + 12];
  const [top, bottom] = [Math.min(...units.map((n) => n.y)) - HEIGHT / 2 - 24, Math.max(...units.map((n) => n.y)) + HEIGHT / 2 + 12];
  return html`<g class="processor"><rect x=${left} y=${top} width=${right - left} height=${bottom - top} rx="8" /><text x=${left + 8} y=${top + 14}>processor, ${counted(live.overview.slots, "slot")}</text></g>`;
}

/** Return the part of the drawing to begin with: all of it, or as much as can be read. */
function fitted(whole, chosen, svg) {
  const least = (svg?.clientWidth ?? 1000) * 1.6; // below this, letters are too small to read
  if (whole.width <= least && whole.height <= 3 * least) return whole;
  const form = svg?.clientWidth ? svg.clientHeight / svg.clientWidth : 0.6;
  const [width, height] = [Math.min(whole.width, least), Math.min(whole.height, least * form)];
  const within = (at, size, from, all) => Math.max(from, Math.min(at - size / 2, from + all - size)); // nothing lies beyond the drawing
  return chosen ? { x: within(chosen.x, width, whole.x, whole.width), y: within(chosen.y, height, 0, whole.height), width, height } : { x: whole.x, y: 0, width, height };
}

const inside = (box, node) => node.x > box.x && node.x < box.x + box.width && node.y > box.y && node.y < box.y + box.height;

/** A curve from the right of one node to the left of the other, through the gaps between others. */
function Edge({ edge, ends: [from, to], out, near }) {
  const points = [{ x: from.x + WIDTH / 2, y: from.y }, ...edge.points.slice(1, -1), { x: to.x - WIDTH / 2, y: to.y }];
  const line = points.slice(1).map((point, n) => { const middle = (points[n].x + point.x) / 2; return `C ${middle} ${points[n].y} ${middle} ${point.y} ${point.x} ${point.y}`; });
  return html`<path class="edge ${near ? "near" : ""}" d="M ${points[0].x} ${points[0].y} ${line.join(" ")}" style=${{ strokeWidth: 1 + Math.log10(1 + out) }}><title>${rate(out)}</title></path>`;
}

function Node({ node, of, chosen }) {
  const title = node.title.length > LETTERS ? `${node.title.slice(0, LETTERS - 1)}…` : node.title;
  const small = `${of.line}${of.queued ? ` · ${count(of.queued)} queued` : ""}`;
  const waits = of.oldest > LONG_WAIT;
  const tone = { FAILED: "bad", HELD: "bad", BROKEN: "bad", SUSPENDED: "warn", WAITING: "warn" }[of.state] ?? "";
  const choose = () => amend({ ...NOTHING, node: chosen ? "" : node.units?.length === 1 ? node.units[0].unit : node.id });
  const key = (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); choose(); } };
  const words = `${node.kind} ${node.title}, ${of.line}${of.queued ? `, ${exact(of.queued)} rows queued` : ""}${tone ? `, ${of.state.toLowerCase()}` : ""}`;
  return html`<g class="node ${node.kind} ${tone} ${chosen ? "chosen" : ""}" transform="translate(${node.x - WIDTH / 2} ${node.y - HEIGHT / 2})" tabindex="0" role="button" aria-pressed=${chosen} onClick=${choose} onKeyDown=${key}>
    <title>${words}</title>
    ${waits && html`<rect class="queue" x="-4" y="-4" width=${WIDTH + 8} height=${HEIGHT + 8} rx="10" style=${{ strokeWidth: Math.min(4, 1 + of.oldest / 5) }} />`}
    <rect class="body" width=${WIDTH} height=${HEIGHT} rx="6" />
    ${of.busy > 0.005 && html`<rect class="busy" width=${WIDTH * Math.min(1, of.busy)} height=${HEIGHT} rx="6" />`}
    <text x="10" y="20" class="name">${tone === "bad" ? "■ " : tone === "warn" ? "▲ " : ""}${title}</text><text x="10" y="38" class="small">${small}</text></g>`;
}

function Panel({ node, live, drawn, given }) {
  const close = () => amend(NOTHING);
  const units = (node.units ?? []).map((unit) => [unit, live.tables.units[unit.unit]]);
  const served = units.length ? drawn.edges.filter((edge) => edge.from === node.id).map((edge) => drawn.byId.get(edge.to)) : [];
  const queries = [...new Set([...(node.queries ?? []), ...units.flatMap(([unit]) => unit.queries), ...served.flatMap((each) => each.queries ?? [])])];
  return html`<aside aria-label=${node.title}><div class="title"><h2>${node.title}</h2><button class="plain" aria-label="Close" onClick=${close}>✕</button></div>
    <p class="note">${node.kind}</p>
    ${node.kind === "stream" && html`<${StreamFacts} row=${live.tables.streams[node.title]} />`}
    ${units.slice(0, 20).map(([unit, row]) => html`<${Unit} key=${unit.unit} unit=${unit} row=${row} curve=${live.curves.units[unit.unit]} at=${live.curves.at} open=${units.length === 1} />`)}
    ${units.length > 20 && html`<p class="note">and ${units.length - 20} more units</p>`}
    ${node.events?.length > 0 && html`<h3>Events</h3><ul class="members">${node.events.map((name) => html`<li key=${name}><a href=${to(["events"], { kind: "event" })}>${name}</a> <span class="note">${counted(live.tables.events[name]?.detections ?? 0, "detection")}</span></li>`)}</ul>`}
    ${queries.length > 0 && html`<h3>Queries</h3><${Members} names=${queries} live=${live} marked=${given.query} />`}
  </aside>`;
}

function StreamFacts({ row }) {
  if (!row) return null;
  return html`<dl class="facts"><div><dt>State</dt><dd><${State} of=${row.state} /></dd></div><div><dt>Rows in</dt><dd>${rate(row.rows_per_s)}</dd></div><div><dt>Lag</dt><dd>${seconds(row.lag_s)}</dd></div><div><dt>Queued</dt><dd><${Figure} value=${row.queued_rows} /></dd></div><div><dt>Buffer</dt><dd>${bytes(row.memory_bytes)}</dd></div></dl>
    <p><a class="button" href=${to(["streams", row.stream])}>Its page</a></p>`;
}

/** What a unit did in the last ten minutes. */
function UnitHistory({ at, curve }) {
  const points = (curve ?? []).map((pair, place) => [at[place], ...(pair ?? [null, null])]);
  return html`<h4>Last ten minutes</h4><dl class="facts"><div><dt>Rows in</dt><dd class="wide"><${Sparkline} points=${points} value=${1} label="Rows in a second" /></dd></div>
    <div><dt>Busy</dt><dd class="wide"><${Sparkline} points=${points} value=${2} label="Share of the time at work" /></dd></div></dl>`;
}

function Unit({ unit, row, curve, at, open }) {
  return html`<details open=${open}><summary>unit <code title=${unit.unit}>${unit.unit.slice(0, 6)}</code></summary>
    ${row ? html`<dl class="facts"><div><dt>Busy</dt><dd>${share(row.busy)}</dd></div><div><dt>In, out</dt><dd>${rate(row.in_per_s)}, ${rate(row.out_per_s)}</dd></div>
      <div><dt>Cost</dt><dd>${row.rows_in ? `${duration((row.busy_s / row.rows_in) * 1000)} a row` : "–"}</dd></div><div><dt>Runs</dt><dd><${Figure} value=${row.runs} />, ${row.runs ? `${duration((row.busy_s / row.runs) * 1000)} each` : ""}</dd></div>
      <div><dt>Queued</dt><dd><${Figure} value=${row.queued_rows} />${row.oldest_s ? `, for ${seconds(row.oldest_s)}` : ""}</dd></div><div><dt>State in memory</dt><dd>${bytes(row.memory_bytes)}</dd></div></dl>
      ${row.cause && html`<p><${Mark} tone="bad">${row.cause}<//></p>`}<${UnitHistory} at=${at} curve=${curve} />` : html`<p class="note">It has gone.</p>`}
    <h4>Operators</h4><ol class="operators">${unit.operators.map((each) => html`<li key=${each.node}><code>${each.text}</code></li>`)}</ol>
    ${unit.runs && html`<h4>What it runs</h4><pre class="code" tabindex="0">${unit.runs}</pre>`}</details>`;
}

/** The queries of a node; those of a large bundle are searched. */
function Members({ names, live, marked }) {
  const [text, type] = useState(marked ?? "");
  useEffect(() => type(marked ?? ""), [marked]);
  const rows = names.map((name) => queryRow(live.tables, name)).filter(Boolean);
  const found = rows.filter((row) => row.query.toLowerCase().includes(text.toLowerCase()));
  return html`${rows.length > 10 && html`<label class="find">Search<input type="search" value=${text} onInput=${(event) => type(event.target.value)} /></label>`}
    <ul class="members">${found.slice(0, 50).map((row) => html`<li key=${row.query}><a href=${to(["queries", row.query])}>${row.query}</a> <${State} of=${row.state} /> <span class="note">${rate(row.out_per_s)}</span></li>`)}</ul>
    ${found.length > 50 && html`<p class="note">and ${exact(found.length - 50)} more</p>`}`;
}
