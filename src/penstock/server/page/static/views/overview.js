// Is everything all right; if not, what, since when, and what can be done.
import { html, useState } from "../vendor/view.js";
import { to } from "../lib/address.js";
import { mayAdmin, snapshot, useLive } from "../lib/live.js";
import { bytes, count, counted, duration, quoted, rate, seconds, share } from "../lib/format.js";
import { Act, Figure, Loading, Mark, Moment, Sparkline, carryOut } from "../lib/ui.js";

const AT = { rows: 1, delay: 2, load: 3, broken: 4, lag: 5 }; // places in a point of the feed

export default function Overview() {
  const live = useLive();
  if (!live.overview) return html`<${Loading} what="figures" />`;
  const of = live.overview;
  const nothing = !of.streams && !of.queries;
  return html`<h1 class="hidden">Overview</h1>
    <section class="figures" aria-label="Figures">
      <${Card} title="Rows in" value=${rate(of.rows_per_s)} exactly=${of.rows_per_s} note="${counted(of.streams, "stream")}" points=${live.points} at=${AT.rows} />
      <${Card} title="Delay p99" value=${duration(of.delay_p99_ms)} exactly=${of.delay_p99_ms} note=${of.delay_query ? html`slowest: <a href=${to(["queries", of.delay_query])}>${of.delay_query}</a>` : "nothing delivered in the last minute"} points=${live.points} at=${AT.delay} />
      <${Card} title="Load" value=${share(of.load)} exactly=${of.load} note="soon needed: ${share(of.needed_soon)} of the slots" points=${live.points} at=${AT.load} most=${1} tone=${of.needed_soon > 1 ? "bad" : of.needed_soon > 0.9 ? "warn" : ""} />
      <${Card} title="Contracts kept" value=${of.promised ? `${of.kept} of ${of.promised}` : "none made"} note=${of.warming ? `${of.warming} warming` : counted(of.queries, "query", "queries")} points=${live.points} at=${AT.broken} label="Contracts broken" tone=${of.broken ? "bad" : ""} />
      <${Card} title="Watermark lag" value=${seconds(of.lag_s)} exactly=${of.lag_s} note=${of.lag_stream ? html`slowest: <a href=${to(["streams", of.lag_stream])}>${of.lag_stream}</a>` : "no open stream has a watermark"} points=${live.points} at=${AT.lag} />
    </section>
    ${nothing ? html`<${Begin} />` : html`<${Attention} items=${live.attention} />`}
    <${Facts} of=${of} />`;
}

function Card({ title, value, exactly, note, points, at, most, tone = "", label = title }) {
  return html`<article class="card ${tone}"><h2>${title}</h2>
    <p class="value" title=${exactly ?? undefined}>${tone ? html`<${Mark} tone=${tone}>${value}<//>` : value}</p>
    <${Sparkline} points=${points} value=${at} label=${label} most=${most} /><p class="note">${note}</p></article>`;
}

function Begin() {
  return html`<section class="well"><h2>Nothing is defined yet</h2>
    <p>Streams bring rows in, queries stand over them. <a class="button main" href=${to(["sql"], { example: 0 })}>Begin with an example</a></p></section>`;
}

function Attention({ items }) {
  const bad = items.filter((each) => each.tone === "bad").length;
  if (!items.length)
    return html`<section class="well" aria-live="polite"><h2><${Mark} tone="good">All is well<//></h2><p>No broken contract, no held query, nothing left aside.</p></section>`;
  return html`<section aria-labelledby="attention"><h2 id="attention" aria-live="polite">${counted(items.length, "thing needs", "things need")} attention${bad && bad < items.length ? `, ${bad} of them broken` : ""}</h2>
    <ul class="attention">${items.map((item) => html`<${Item} key=${item.key} item=${item} />`)}</ul></section>`;
}

const WORDS = { bad: "broken", warn: "in danger" };

function Item({ item }) {
  return html`<li class=${item.tone}><div><h3><${Mark} tone=${item.tone}><span class="hidden">${WORDS[item.tone]}: </span>${item.title}<//></h3>
    ${item.cause && html`<p>${item.cause}</p>`}<p class="note">began <${Moment} at=${item.since * 1000} /></p></div>
    <p class="buttons">${actions(item)}<a class="button" href=${place(item)}>Show</a></p></li>`;
}

function actions({ kind, name }) {
  if (["held", "suspended", "waiting"].includes(kind))
    return html`<${Act} sql=${`RESUME QUERY ${quoted(name)}`} label="Resume ${name}">Resume<//>`;
  if (kind === "dead") return html`<${Act} sql=${`RETRY RULE ${quoted(name)}`} label="Retry ${name}">Retry<//>`;
  return null;
}

function place({ kind, name }) {
  if (["rejects", "lag", "stream"].includes(kind)) return to(["streams", name], { part: kind === "rejects" ? "rejects" : undefined });
  if (["dead", "rule"].includes(kind)) return to(["events"], { rule: name });
  if (kind === "unit") return to(["graph"], { node: name });
  if (["load", "checkpoint"].includes(kind)) return to(["graph"]);
  return to(["queries", name]);
}

function Facts({ of }) {
  return html`<section aria-labelledby="system"><h2 id="system">System</h2><dl class="facts">
    <${Fact} name="Strategy"><${Strategy} now=${of.strategy} /><//>
    <${Fact} name="Batching">${of.batching}<//>
    <${Fact} name="Slots">${of.slots}<//>
    <${Fact} name="Queries"><a href=${to(["queries"])}>${counted(of.queries, "query", "queries")}</a> in <a href=${to(["graph"])}>${counted(of.units, "unit")}</a><//>
    <${Fact} name="Rows queued"><${Figure} value=${of.queued_rows} /><//>
    <${Fact} name="Buffers"><${Figure} value=${of.memory_bytes} as=${bytes} unit="bytes" /> in memory${of.disk_bytes ? html`, <${Figure} value=${of.disk_bytes} as=${bytes} unit="bytes" /> on disk` : ""}<//>
    <${Fact} name="Driver memory"><${Figure} value=${of.driver_bytes} as=${bytes} unit="bytes" /><//>
    <${Fact} name="Gates">${of.gates ? `${of.gates_shut} of ${of.gates} drop rows` : "none"}<//>
    <${Fact} name="Archive">${of.archived_rows ? html`<${Figure} value=${of.archived_rows} /> rows, ${bytes(of.archived_bytes)}` : "nothing archived"}<//>
    <${Fact} name="Last checkpoint">${of.checkpoint_at ? html`<${Moment} at=${of.checkpoint_at * 1000} />` : "none yet"}<//>
    <${Fact} name="Rules"><a href=${to(["events"])}>${counted(of.rules, "rule")}</a>, ${count(of.fired)} fired, ${count(of.dead)} dead letters<//>
  </dl></section>`;
}

const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

/** Shows the strategy; administrators may choose another, which takes effect between two runs. */
function Strategy({ now }) {
  const [busy, set] = useState(false);
  const known = now.split(/[ (:]/)[0];
  if (!mayAdmin()) return now;
  const choose = async (event) => {
    set(true);
    await carryOut(`SET STRATEGY ${event.target.value}`);
    set(false);
  };
  const { strategies } = snapshot();
  const names = strategies.includes(known) ? strategies : [known, ...strategies];
  return html`<select aria-label="Strategy" title=${now} disabled=${busy} value=${known} onChange=${choose}>${names.map((name) => html`<option key=${name} value=${name}>${name.replaceAll("_", " ")}</option>`)}</select>`;
}
