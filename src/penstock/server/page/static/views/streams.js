// What comes in: all streams, and one stream's own page.
import { html } from "../vendor/view.js";
import { to } from "../lib/address.js";
import { useLive } from "../lib/live.js";
import { bytes, count, literal, quoted, rate, seconds } from "../lib/format.js";
import { Empty, Figure, Loading, Mark, Moment, Rows, State, Table, Tabs, Trouble, useRows } from "../lib/ui.js";
import { History } from "../lib/plots.js";

export default function Streams({ parts, given }) {
  const live = useLive();
  if (!live.overview) return html`<${Loading} what="streams" />`;
  if (parts.length) return html`<${Stream} key=${parts[0]} row=${live.tables.streams[parts[0]]} name=${parts[0]} part=${given.part ?? "sample"} given=${given} />`;
  const rows = Object.values(live.tables.streams);
  return html`<h1>Streams</h1>${rows.length
    ? html`<${Table} name="stream" label="Streams" given=${given} first="stream" rows=${rows} columns=${columns} wide=${true} />`
    : html`<${Empty}>No stream is defined yet. <a href=${to(["sql"])}>Define one</a><//>`}`;
}

const lag = (row) => (row.lag_s === null ? html`<span class="note">${row.watermark ? "old data" : "no watermark"}</span>` : html`<${Figure} value=${row.lag_s} as=${seconds} unit="s" />`);

const columns = [
  { key: "stream", title: "Stream", show: (row) => html`<a href=${to(["streams", row.stream])} title=${row.stream}>${row.stream}</a>` },
  { key: "state", title: "State", show: (row) => html`<span title=${row.cause || undefined}><${State} of=${row.state} /></span>` },
  { key: "source", title: "Source" },
  { key: "rows_per_s", title: "Rows in", number: true, hint: "a second, of the last ten seconds", show: (row) => html`<${Figure} value=${row.rows_per_s} as=${rate} unit="rows/s" />` },
  { key: "rows", title: "In all", number: true },
  { key: "lag_s", title: "Watermark lag", number: true, hint: "how far its watermark is behind the clock", show: lag },
  { key: "rejected", title: "Rejects", number: true, hint: "rows that did not fit its columns", show: (row) => (row.rejected ? html`<a href=${to(["streams", row.stream], { part: "rejects" })}>${count(row.rejected)}</a>` : "0") },
  { key: "queued_rows", title: "Queued", number: true, hint: "rows that somebody must still read" },
  { key: "memory_bytes", title: "Buffer", number: true, show: (row) => html`<${Figure} value=${row.memory_bytes} as=${bytes} unit="bytes" />` },
  { key: "archived_rows", title: "Archived", number: true },
];

function Stream({ row, name, part, given }) {
  if (!row) return html`<h1>${name}</h1><${Empty}>There is no stream of this name. <a href=${to(["streams"])}>All streams</a><//>`;
  const tabs = [["sample", "Newest rows"], ["history", "History"], ["order", "Order and keys"], ["rejects", "Rejects", row.rejected]];
  return html`<nav class="crumbs" aria-label="Path"><a href=${to(["streams"])}>Streams</a></nav>
    <div class="title"><h1>${row.stream}</h1> <${State} of=${row.state} /> <span class="buttons"><a class="button" href=${to(["graph"], { stream: row.stream })}>In the graph</a></span></div>
    ${row.cause && html`<div class="trouble"><p><${Mark} tone="bad">${row.cause}<//></p></div>`}
    <dl class="facts strip">
      <div><dt>Rows in</dt><dd><${Figure} value=${row.rows_per_s} as=${rate} unit="rows/s" />, <${Figure} value=${row.rows} /> in all</dd></div>
      <div><dt>Watermark</dt><dd>${row.watermark ? html`<${Moment} at=${row.watermark * 1000} />` : "none"}</dd></div>
      <div><dt>Source</dt><dd>${row.source}</dd></div>
      <div><dt>Queued</dt><dd><${Figure} value=${row.queued_rows} /> rows</dd></div>
      <div><dt>Archive</dt><dd>${row.archived_rows ? html`<${Figure} value=${row.archived_rows} /> rows, ${bytes(row.archived_bytes)}` : "not archived"}</dd></div></dl>
    <${Tabs} label="Parts of ${row.stream}" tabs=${tabs} chosen=${part} address=${(key) => to(["streams", row.stream], { part: key })} />
    ${part === "history" ? html`<${History} kind="stream" name=${row.stream} given=${given} />`
      : part === "order" ? html`<${Order} name=${row.stream} />`
      : part === "rejects" ? html`<${Asked} sql=${`SELECT * FROM ${quoted(row.stream)}.rejects LIMIT 200`} label="Rejects of ${row.stream}" none="Every row fitted its columns." />`
      : html`<${Sample} row=${row} />`}`;
}

/** The newest rows that its buffer or archive still has, by its time column where it has one. */
function Sample({ row }) {
  const order = row.time ? ` ORDER BY ${quoted(row.time)} DESC` : "";
  return html`<${Asked} sql=${`SELECT * FROM ${quoted(row.stream)}${order} LIMIT 50`} label="Rows of ${row.stream}"
    none="No rows are held: all who read the stream have read them, and it has no archive." />
    ${row.source === "push" && html`<h2>Push a row</h2><pre class="code" tabindex="0">curl ${location.origin}/v1/streams/${encodeURIComponent(row.stream)}/rows -H 'Content-Type: application/json' -d '[{…}]'</pre>`}`;
}

function Order({ name }) {
  const [rows, wrong, again] = useRows(`SELECT * FROM system.properties WHERE stream = ${literal(name)}`);
  if (wrong) return html`<${Trouble} error=${wrong} again=${again} />`;
  if (!rows) return html`<${Loading} what="its order" />`;
  const words = { tuples: "Rows", looked_at: "Looked at", rate: "Rows a second", every_s: "Sampled every (s)", burstiness: "Burstiness", scrambling: "Out of order by at most (rows)", multiplicity: "Rows with one time, at most", slack_s: "Slack that keeps 99 in 100 in time (s)", clock_jumps: "Clock jumps", lag: "Ahead of the slowest stream (rows)", lag_to: "Slowest stream beside it", key: "Column that may be a key", keys: "Different keys, about", skew: "Skew", clustered: "Clustered", cost: "Cost of looking (share of a core)" };
  const [row] = rows;
  if (!row) return html`<${Empty}>Nothing is known of its order yet.<//>`;
  return html`<dl class="facts">${Object.entries(words).map(([key, word]) => html`<div key=${key}><dt>${word}</dt><dd>${typeof row[key] === "number" ? html`<${Figure} value=${row[key]} />` : row[key] ?? "–"}</dd></div>`)}</dl>`;
}

function Asked({ sql, label, none }) {
  const [rows, wrong, again] = useRows(sql);
  if (wrong) return html`<${Trouble} error=${wrong} again=${again} />`;
  if (!rows) return html`<${Loading} what="rows" />`;
  return html`<p><button onClick=${again}>Ask again</button></p>${rows.length ? html`<${Rows} rows=${rows} label=${label} />` : html`<${Empty}>${none}<//>`}`;
}
