// What happened, and what was done about it.
import { html } from "../vendor/view.js";
import { amend, to } from "../lib/address.js";
import { useLive } from "../lib/live.js";
import { clockTime, quoted } from "../lib/format.js";
import { Act, Empty, Loading, Mark, Rows, State, Table, Trouble, useRows } from "../lib/ui.js";

export default function Events({ given }) {
  const live = useLive();
  if (!live.overview) return html`<${Loading} what="events and rules" />`;
  const rules = Object.values(live.tables.rules);
  return html`<h1>Events and rules</h1>
    <section aria-labelledby="rules"><h2 id="rules">Rules</h2>${rules.length
      ? html`<${Table} name="rule" label="All rules" given=${given} first="rule" rows=${rules} columns=${columns} wide=${true} />`
      : html`<${Empty}>No rule is defined. A rule acts when an event happens: <a href=${to(["sql"], { text: EXAMPLE })}>see one</a><//>`}</section>
    ${given.rule && live.tables.rules[given.rule] && html`<${Letters} key=${given.rule} row=${live.tables.rules[given.rule]} />`}
    <${Timeline} happened=${live.happened} given=${given} />
    <${Detections} />`;
}

const EXAMPLE = "-- When a query gives a row, do something about it.\nCREATE RULE note ON my_query WHEN value > 10\n  DO INSERT INTO my_stream SELECT value;";

const columns = [
  { key: "rule", title: "Rule", show: (row) => html`<a href=${to(["events"], { rule: row.rule })} title=${row.rule}>${row.rule}</a>` },
  { key: "state", title: "State", show: (row) => html`<span title=${row.cause || undefined}><${State} of=${row.state} /></span>` },
  { key: "event", title: "On" },
  { key: "coupling", title: "Coupling" },
  { key: "fired", title: "Fired", number: true, hint: "rows that set it off" },
  { key: "done", title: "Done", number: true },
  { key: "waiting", title: "Waiting", number: true },
  { key: "held_back", title: "Held back", number: true, hint: "by its own limits" },
  { key: "failures", title: "Failures", number: true },
  { key: "dead", title: "Dead letters", number: true, show: (row) => (row.dead ? html`<a href=${to(["events"], { rule: row.rule })}><${Mark} tone="warn">${row.dead}<//></a>` : "0") },
  { key: "actions", title: "Actions", value: () => 0, show: (row) => html`<span class="buttons">
    ${row.state === "ENABLED" && html`<${Act} sql=${`ALTER RULE ${quoted(row.rule)} DISABLE`} label="Disable ${row.rule}">Disable<//>`}
    ${row.state === "DISABLED" && html`<${Act} sql=${`ALTER RULE ${quoted(row.rule)} ENABLE`} label="Enable ${row.rule}">Enable<//>`}
    ${row.dead > 0 && html`<${Act} sql=${`RETRY RULE ${quoted(row.rule)}`} label="Retry ${row.rule}">Retry<//>`}</span>` },
];

function Letters({ row }) {
  const [rows, wrong, again] = useRows(`SELECT * FROM ${quoted(row.rule)}.dead LIMIT 200`);
  const [parts] = useRows(`DESCRIBE ${quoted(row.rule)}`);
  return html`<section aria-labelledby="rule"><h2 id="rule">${row.rule} <button class="plain" aria-label="Close ${row.rule}" onClick=${() => amend({ rule: "" })}>✕</button></h2>
    ${row.cause && html`<div class="trouble"><p><${Mark} tone="bad">${row.cause}<//></p></div>`}
    ${parts && html`<dl class="facts">${parts.map((each) => html`<div key=${each.part}><dt>${each.part}</dt><dd>${each.value}</dd></div>`)}</dl>`}
    <h3>Dead letters <button onClick=${again}>Ask again</button> <${Act} sql=${`RETRY RULE ${quoted(row.rule)}`} then=${again} label="Retry ${row.rule}">Retry all<//></h3>
    ${wrong ? html`<${Trouble} error=${wrong} again=${again} />` : !rows ? html`<${Loading} what="dead letters" />` : rows.length ? html`<${Rows} rows=${rows} label="Dead letters of ${row.rule}" />` : html`<${Empty}>Everything that it had to do was done.<//>`}</section>`;
}

/** What the feed saw happen in the last minutes, the newest first. */
function Timeline({ happened, given }) {
  const kinds = [...new Set(happened.map((each) => each.kind))].sort();
  const shown = happened.filter((each) => (!given.kind || each.kind === given.kind) && (!given.rule || each.name === given.rule));
  return html`<section aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
    <div class="filters"><label>Kind<select value=${given.kind ?? ""} onChange=${(event) => amend({ kind: event.target.value })}><option value="">all</option>${kinds.map((each) => html`<option key=${each}>${each}</option>`)}</select></label></div>
    ${shown.length ? html`<ol class="timeline">${shown.slice(-100).reverse().map((each) => html`<li key=${`${each.at} ${each.kind} ${each.name}`}><time title=${new Date(each.at * 1000).toISOString()}>${clockTime(each.at * 1000)}</time> <${Mark} tone=${each.tone}>${each.kind}<//> <a href=${place(each)}>${each.name}</a> ${each.text}</li>`)}</ol>`
      : html`<${Empty}>Nothing has happened in the last ten minutes.<//>`}</section>`;
}

const place = ({ kind, name }) => (kind === "event" ? to(["events"], { kind }) : kind === "rule" || kind === "dead letter" ? to(["events"], { rule: name }) : kind === "stream" || kind === "reject" ? to(["streams", name]) : to(["queries", name]));

/** What events detected; asked when it is looked at, since everything rests for a moment then. */
function Detections() {
  const [rows, wrong, again] = useRows("SELECT * FROM system.events");
  return html`<section aria-labelledby="events"><h2 id="events">Events <button onClick=${again}>Ask again</button></h2>
    ${wrong ? html`<${Trouble} error=${wrong} again=${again} />` : !rows ? html`<${Loading} what="events" />`
      : rows.length ? html`<${Rows} rows=${rows} label="All events" />` : html`<${Empty}>No event is defined.<//>`}</section>`;
}
