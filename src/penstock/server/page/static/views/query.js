// One query: is it all right, what it gives now, how it did, what it is, what came too late.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/view.js";
import { amend, go, to } from "../lib/address.js";
import { ServerError, listen, readJson, rows as askRows, text as askText } from "../lib/api.js";
import { mayWrite, queryRow, useLive } from "../lib/live.js";
import { duration, literal, quoted, rate, share } from "../lib/format.js";
import { Empty, Figure, LatencyCurve, Loading, Mark, Rows, State, Tabs, Trouble, ask, carryOut, useAnswer, useRows } from "../lib/ui.js";
import { History, RowPlot } from "../lib/plots.js";
import { Actions, latencies, promised } from "./queries.js";

const KEPT = 1000; // rows of a query that the page holds
const SHOWN = 100;
const DRAWN = 250; // milliseconds between two drawings of rows

export function Query({ name, part, given }) {
  const live = useLive();
  if (!live.overview) return html`<${Loading} what=${name} />`;
  const row = queryRow(live.tables, name);
  if (!row) return html`<h1>${name}</h1><${Empty}>There is no query of this name. It may have been dropped. <a href=${to(["queries"])}>All queries</a><//>`;
  const tabs = [["rows", "Rows"], ["history", "History"], ["plan", "Definition and plan"], ["late", "Late rows", row.late_rows]];
  return html`<nav class="crumbs" aria-label="Path"><a href=${to(["queries"])}>Queries</a></nav>
    <div class="title"><h1>${row.query}</h1> <${State} of=${row.state} />
      <span class="buttons"><${Alter} row=${row} /><${Actions} row=${row} dropped=${() => go(["queries"])} /><a class="button" href=${to(["graph"], { query: row.query })}>In the graph</a></span></div>
    ${row.cause && html`<div class="trouble"><p><${Mark} tone=${row.state === "FAILED" ? "bad" : "warn"}>${row.cause}<//></p></div>`}
    <dl class="facts strip">
      <div><dt>Rows out</dt><dd><${Figure} value=${row.out_per_s} as=${rate} unit="rows/s" />, <${Figure} value=${row.rows_out} /> in all</dd></div>
      <div><dt>Delay p50, p99</dt><dd>${duration(row.delay_p50_ms)}, ${duration(row.delay_p99_ms)}</dd></div>
      <div><dt>Latency p50, p99</dt><dd><span class="latency"><span>${latencies(row)}</span><${LatencyCurve} name=${row.query} curves=${live.curves} /></span></dd></div>
      <div><dt>Promise</dt><dd>${promised(row)}</dd></div>
      <div><dt>Error p95</dt><dd>${row.max_error ? `${share(row.error_p95)} of ${share(row.max_error)} allowed` : "exact"}</dd></div>
      <div><dt>Shed</dt><dd title=${row.shed_at}>${row.shed_rows ? html`<${Figure} value=${row.shed_rows} /> rows` : "nothing"}</dd></div>
      <div><dt>Queued</dt><dd><${Figure} value=${row.queued_rows} /> rows</dd></div></dl>
    <${Tabs} label="Parts of ${row.query}" tabs=${tabs} chosen=${part} address=${(key) => to(["queries", row.query, key])} />
    ${part === "history" ? html`<${History} kind="query" name=${row.query} given=${given} />`
      : part === "plan" ? html`<${Plan} name=${row.query} />`
      : part === "late" ? html`<${Late} row=${row} />`
      : html`<${LiveRows} row=${row} given=${given} asleep=${live.link === "paused"} />`}`;
}

/** Changes what may change while it runs: its promise and what it weighs. */
function Alter({ row }) {
  if (!mayWrite() || !["RUNNING", "STOPPED", "SUSPENDED"].includes(row.state)) return null;
  const press = async () => {
    const answer = await ask({
      title: `Goals of ${row.query}`, verb: "Change",
      fields: [
        { name: "latency", label: "Latency at most, in seconds (empty: no promise)", type: "number", value: row.max_latency_ms ? row.max_latency_ms / 1000 : "" },
        { name: "weight", label: "Weight", type: "number", value: row.weight ?? 1 },
      ],
    });
    if (!answer) return;
    const [latency, weight] = [answer.get("latency"), answer.get("weight")].map(Number);
    const goal = answer.get("latency") === "" ? "NULL" : `INTERVAL ${latency} SECONDS`;
    await carryOut(`ALTER QUERY ${quoted(row.query)} SET (max_latency => ${goal}, weight => ${weight || 1})`);
  };
  return html`<button onClick=${press}>Goals …</button>`;
}

/**
 * Return the last rows of a query, as they come. Where its log has more than the page would show,
 * it begins with the newest by event time, and follows from now on.
 */
function useQueryRows(row, paused) {
  const name = row.query;
  const kept = useRef({ rows: [], seen: 0, last: "", types: null });
  const [state, set] = useState({ rows: [], link: "connecting", seen: 0, types: null });
  useEffect(() => {
    if (paused) return;
    const stop = new AbortController();
    const { signal } = stop;
    const held = kept.current;
    let link = "connecting";
    let error = null;
    let dirty = false;
    const draw = setInterval(() => {
      if (!dirty || document.hidden) return;
      dirty = false;
      set({ rows: held.rows.slice(-KEPT), link, error, seen: held.seen, types: held.types });
    }, DRAWN);
    const take = (rows) => {
      held.rows.push(...rows);
      if (held.rows.length > 2 * KEPT) held.rows = held.rows.slice(-KEPT);
      held.seen += rows.length;
      dirty = true;
    };
    const woken = () => {
      if (link !== "ended" && link !== "refused") link = "live";
      dirty = true;
    };
    const heard = ({ event, id, data }) => {
      if (event === "error") { error = new ServerError(500, JSON.parse(data)); link = "refused"; }
      else link = event === "end" ? "ended" : "live";
      dirty = true;
      if (id) held.last = id;
      if (event === "message") take([readJson(data)]);
    };
    const begin = async () => {
      held.types = await askRows(`DESCRIBE ${quoted(name)}`, signal);
      if (row.rows_out <= KEPT) return "";
      const time = held.types.find((each) => each.note === "event time" || each.column === "window_end")?.column;
      if (time) take((await askRows(`SELECT * FROM ${quoted(name)} ORDER BY ${quoted(time)} DESC LIMIT ${KEPT / 2}`, signal)).reverse());
      return "?after=now";
    };
    (async () => {
      let after = held.types ? "" : null;
      while (!signal.aborted && !["ended", "refused"].includes(link)) {
        try {
          after ??= await begin();
          await listen(`v1/queries/${encodeURIComponent(name)}/rows${held.last ? "" : after}`, heard, { signal, lastId: held.last, woken });
          if (link === "live") link = "lost";
        } catch (found) {
          if (signal.aborted) return;
          link = found.status && found.status < 500 && found.status !== 429 ? "refused" : "lost";
          error = link === "refused" ? found : null;
        }
        dirty = true;
        await new Promise((go) => setTimeout(go, 1000));
      }
    })();
    return () => { stop.abort(); clearInterval(draw); };
  }, [name, paused]);
  return state;
}

const LINKS = { connecting: ["calm", "connecting"], live: ["good", "rows come as they are delivered"], lost: ["bad", "connection lost; trying again"], ended: ["calm", "the query has ended"], refused: ["bad", "refused"] };

function LiveRows({ row, given, asleep }) {
  const name = row.query;
  const [paused, pause] = useState(false);
  const { rows, link, error, seen, types } = useQueryRows(row, paused || asleep);
  const form = given.form ?? "both";
  const [tone, word] = paused ? ["calm", "paused"] : LINKS[link];
  const newest = useMemo(() => rows.slice(-SHOWN).reverse(), [rows]);
  return html`<div class="filters"><${Mark} tone=${tone}>${word}<//>
      <button onClick=${() => pause(!paused)}>${paused ? "Go on" : "Pause"}</button>
      <label>Show<select value=${form} onChange=${(event) => amend({ form: event.target.value })}><option value="both">table and plot</option><option value="table">table</option><option value="plot">plot</option></select></label>
      <span class="note">${seen > rows.length ? `the last ${rows.length} of ${seen} rows` : `${seen} rows`}</span></div>
    ${error && html`<${Trouble} error=${error} />`}
    ${!rows.length && !error && (link === "connecting" && !paused ? html`<${Loading} what="rows" />` : html`<${Empty}>No rows yet. They appear here as the query delivers them.<//>`)}
    ${rows.length > 0 && types && form !== "table" && html`<${RowPlot} rows=${rows} seen=${seen} types=${types} given=${given} name=${name} />`}
    ${rows.length > 0 && form !== "plot" && html`<${Rows} rows=${newest} label="The newest rows of ${name}" />`}`;
}

function Plan({ name }) {
  const [parts, wrong, again] = useAnswer(async (signal) => {
    const [definition, columns] = await Promise.all([
      askRows(`SELECT sql FROM system.definitions WHERE kind = 'query' AND name = ${literal(name)}`, signal),
      askRows(`DESCRIBE ${quoted(name)}`, signal)]);
    return { definition: definition[0]?.sql, columns };
  }, name);
  const [times, explain] = useState(0);
  if (wrong) return html`<${Trouble} error=${wrong} again=${again} />`;
  if (!parts) return html`<${Loading} what="its definition" />`;
  return html`${parts.definition && html`<h2>Definition <a class="button" href=${to(["sql"], { text: parts.definition })}>Open in the editor</a></h2><pre class="code" tabindex="0">${parts.definition}</pre>`}
    <h2>Columns</h2><${Rows} rows=${parts.columns} label="Columns of ${name}" />
    <h2>Plan <button onClick=${() => explain(times + 1)}>${times ? "Explain again" : "Explain"}</button></h2>
    ${times ? html`<${Explained} key=${times} name=${name} />` : html`<p class="note">If it shares its work, EXPLAIN measures what it would take alone; for some seconds everything else waits.</p>`}`;
}

function Explained({ name }) {
  const [plan, wrong, again] = useAnswer((signal) => askText(`EXPLAIN ${quoted(name)}`, signal), name);
  if (wrong) return html`<${Trouble} error=${wrong} again=${again} />`;
  return plan === null ? html`<${Loading} what="its plan" />` : html`<pre class="code" tabindex="0">${plan}</pre>`;
}

function Late({ row }) {
  const [rows, wrong, again] = useRows(`SELECT * FROM ${quoted(row.query)}.late LIMIT 200`);
  if (!row.late_rows) return html`<${Empty}>No row came too late for it.<//>`;
  if (wrong) return html`<${Trouble} error=${wrong} again=${again} />`;
  return rows ? html`<${Rows} rows=${rows} label="Late rows of ${row.query}" />` : html`<${Loading} what="late rows" />`;
}
