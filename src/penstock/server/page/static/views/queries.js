// All queries as a table that sorts and filters, and one query's own page.
import { html } from "../vendor/view.js";
import { amend, to } from "../lib/address.js";
import { useLive } from "../lib/live.js";
import { duration, quoted, rate, share } from "../lib/format.js";
import { Act, Empty, Figure, LatencyCurve, Loading, Meter, State, Table } from "../lib/ui.js";
import { Query } from "./query.js";

const STATES = ["running", "held", "suspended", "waiting", "stopped", "finished"];
const word = (state) => (state === "FAILED" ? "held" : state.toLowerCase());

export default function Queries({ parts, given }) {
  return parts.length ? html`<${Query} key=${parts[0]} name=${parts[0]} part=${parts[1] ?? "rows"} given=${given} />` : html`<${All} given=${given} />`;
}

function All({ given }) {
  const live = useLive();
  if (!live.overview) return html`<${Loading} what="queries" />`;
  const all = Object.values(live.tables.queries);
  if (!all.length) return html`<h1>Queries</h1><${Empty}>No query stands yet. <a href=${to(["sql"])}>Write one</a><//>`;
  const wanted = (given.q ?? "").toLowerCase();
  const rows = all.filter((row) => row.query.toLowerCase().includes(wanted) && (!given.state || word(row.state) === given.state) && (!given.contract || (row.verdict ?? "") === given.contract));
  return html`<h1>Queries</h1>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label>Name<input type="search" value=${given.q ?? ""} onInput=${(event) => amend({ q: event.target.value })} /></label>
      <label>State<select value=${given.state ?? ""} onChange=${(event) => amend({ state: event.target.value })}><option value="">any</option>${STATES.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label>Contract<select value=${given.contract ?? ""} onChange=${(event) => amend({ contract: event.target.value })}><option value="">any</option><option>kept</option><option>broken</option><option>warming</option></select></label>
      <span class="note" role="status">${rows.length} of ${all.length}</span></form>
    ${rows.length ? html`<${Table} name="query" label="Queries" given=${given} first="query" rows=${rows} columns=${columns(live.curves)} wide=${true} />` : html`<${Empty}>No query is like that. <button onClick=${() => amend({ q: "", state: "", contract: "" })}>Show all</button><//>`}`;
}

const columns = (curves) => [
  { key: "query", title: "Query", show: (row) => html`<a href=${to(["queries", row.query])} title=${row.query}>${row.query}</a>` },
  { key: "state", title: "State", show: (row) => html`<span title=${row.cause || undefined}><${State} of=${row.state} /></span>` },
  { key: "out_per_s", title: "Rows out", number: true, hint: "a second, of the last ten seconds", show: (row) => html`<${Figure} value=${row.out_per_s} as=${rate} unit="rows/s" />` },
  { key: "rows_out", title: "In all", number: true, hint: "rows delivered since it was made" },
  { key: "delay_p99_ms", title: "Delay p99", number: true, hint: "from when an answer could be given to its delivery, of the last minute", show: (row) => html`<${Figure} value=${row.delay_p99_ms} as=${duration} unit="ms" />` },
  { key: "p99_ms", title: "Latency p50, p99", hint: "from arrival to delivery, of the last minute; the curve is of ten minutes", show: (row) => html`<span class="latency"><span>${latencies(row)}</span><${LatencyCurve} name=${row.query} curves=${curves} /></span>` },
  { key: "promise", title: "Promise", hint: "latency p99 against what was promised, and whether the contract is kept", value: (row) => (row.max_latency_ms ? (row.contract_p99_ms ?? 0) / row.max_latency_ms : null), show: (row) => promised(row) },
  { key: "error_p95", title: "Error", number: true, hint: "of recent answers, p95, and what was allowed", show: (row) => (row.max_error ? html`<span title="allowed: ${share(row.max_error)}">${share(row.error_p95)}</span>` : "exact") },
  { key: "shed_rows", title: "Shed", number: true, hint: "rows that gates before it dropped" },
  { key: "late_rows", title: "Late", number: true, hint: "rows that came too late for its windows" },
  { key: "queued_rows", title: "Queued", number: true, hint: "rows on the way to it" },
  { key: "actions", title: "Actions", value: () => 0, show: (row) => html`<${Actions} row=${row} />` },
];

export const latencies = (row) => `${duration(row.p50_ms)}, ${duration(row.p99_ms)}`;

export function promised(row) {
  if (!row.max_latency_ms) return row.verdict ? html`<${State} of=${row.verdict} />` : html`<span class="note">none</span>`;
  return html`<${Meter} value=${row.contract_p99_ms ?? 0} most=${row.max_latency_ms} tone=${row.verdict === "broken" ? "bad" : row.verdict === "warming" ? "calm" : undefined} label="${duration(row.contract_p99_ms)} of ${duration(row.max_latency_ms)}${row.verdict ? `, ${row.verdict}` : ""}" />`;
}

/** What can be done with a query as it stands. */
export function Actions({ row, dropped }) {
  const name = quoted(row.query);
  const lost = `Its state and its results are gone for good${row.rows_out ? `: ${row.rows_out.toLocaleString("en")} rows were delivered` : ""}. Queries that read it keep it from being dropped.`;
  return html`<span class="buttons">
    ${row.state === "RUNNING" && html`<${Act} sql=${`STOP QUERY ${name}`} label="Stop ${row.query}">Stop<//>`}
    ${["STOPPED", "FAILED", "SUSPENDED", "WAITING"].includes(row.state) && html`<${Act} sql=${`RESUME QUERY ${name}`} label="Resume ${row.query}">Resume<//>`}
    <${Act} sql=${`DROP QUERY ${name}`} label="Drop ${row.query}" then=${dropped} question=${{ title: `Drop the query ${row.query}?`, lost, verb: "Drop" }}>Drop<//></span>`;
}
