// Ask: an editor that completes and underlines, EXPLAIN beside it, results below.
import { html, useEffect, useRef, useState } from "../vendor/view.js";
import * as code from "../vendor/editor.js";
import { amend, to } from "../lib/address.js";
import { ServerError, getJson, rows as askRows, run, text as askText } from "../lib/api.js";
import { mayWrite, snapshot, useLive } from "../lib/live.js";
import { counted, duration, quoted } from "../lib/format.js";
import { Empty, Rows, Trouble, told, useAnswer } from "../lib/ui.js";
import { placeOf, statementAt, withoutComments } from "../lib/sql_text.js";

const KEPT = "penstock.sql"; // what stands in the editor, for the next visit in this tab
const PAUSE = 600; // milliseconds without a key until the statement is explained
const MOST_ROWS = 500; // of a result that are drawn

export default function Sql({ given }) {
  const [examples] = useAnswer(() => getJson("page/examples.json"), "examples");
  const [results, tell] = useState([]);
  const [busy, work] = useState(false);
  const [explained, explain] = useState({ text: "" });
  const editor = useRef();
  const running = useRef(null);
  const first = given.text ?? sessionStorage.getItem(KEPT) ?? "";

  const execute = async (part) => {
    if (!part.text || running.current) return;
    running.current = new AbortController();
    work(true);
    tell([]);
    mark(editor.current, []);
    const began = performance.now();
    try {
      const answers = await run(part.text, running.current.signal);
      tell(gathered(answers).map((answer) => ({ ...answer, took: performance.now() - began })));
    } catch (error) {
      if (error.name !== "AbortError") tell([{ error }]);
      else tell([{ message: "Given up: the page waits no more." }]);
      underline(editor.current, part, part.text, error);
    }
    running.current = null;
    work(false);
  };
  const chosen = () => {
    const { state } = editor.current;
    const { from, to: end } = state.selection.main;
    if (from !== end) return { from, text: state.sliceDoc(from, end) };
    return statementAt(state.doc.toString(), from) ?? { from: 0, text: "" };
  };
  const whole = () => ({ from: 0, text: editor.current.state.doc.toString() });
  const press = useRef();
  press.current = { one: () => execute(chosen()), all: () => execute(whole()) };
  const put = (text) => {
    editor.current.dispatch({ changes: { from: 0, to: editor.current.state.doc.length, insert: text } });
    editor.current.focus();
  };
  useEffect(() => {
    if (examples && given.example !== undefined) { put(examples[Number(given.example)]?.sql ?? ""); amend({ example: "" }); }
  }, [examples, given.example]);
  const stand = () => {
    const part = chosen();
    if (/^\s*SELECT\b/i.test(withoutComments(part.text))) {
      const name = free();
      editor.current.dispatch({ changes: { from: part.from, insert: `CREATE QUERY ${name} AS\n` }, selection: { anchor: part.from + 13, head: part.from + 13 + name.length } });
      editor.current.focus();
    }
  };
  return html`<div class="title"><h1>SQL</h1>
      <label class="filters">Examples<select value="" onChange=${(event) => { put(examples[Number(event.target.value)].sql); event.target.value = ""; }}><option value="" disabled>choose …</option>${(examples ?? []).map((each, n) => html`<option key=${n} value=${n}>${each.title}</option>`)}</select></label>
      ${mayWrite() && html`<${DemoScene} examples=${examples} play=${(sql) => { put(sql); press.current.all(); }} />`}</div>
    <div class="desk"><div class="writing"><${Editor} hold=${editor} first=${first} linked=${given.text !== undefined} press=${press} explain=${explain} />
      <p class="buttons"><button class="main" disabled=${busy} onClick=${press.current.one} title="Ctrl Enter">Run statement</button>
        <button disabled=${busy} onClick=${press.current.all} title="Ctrl Shift Enter">Run all</button>
        ${mayWrite() && html`<button onClick=${stand} title="Makes a standing query of the SELECT at the cursor">Let it stand …</button>`}
        ${busy && html`<button onClick=${() => running.current?.abort()}>Give up</button>`}
        <button onClick=${() => amend({ text: editor.current.state.doc.toString() })} title="Puts the text into the address, so that a link to it can be sent">Link</button></p></div>
      <section class="explained" aria-labelledby="explained"><h2 id="explained">EXPLAIN</h2><${Explained} of=${explained} /></section></div>
    <section aria-labelledby="results" aria-busy=${busy}><h2 id="results">Results</h2>
      ${busy && html`<p class="state" role="status">Running …</p>`}
      ${!busy && !results.length && html`<${Empty}>Results appear here. Ctrl Enter runs the statement at the cursor.<//>`}
      ${results.map((each, n) => html`<${Outcome} key=${n} of=${each} />`)}</section>`;
}

function DemoScene({ examples, play }) {
  const live = useLive();
  const demo = examples?.find((each) => each.demo);
  if (!demo || Object.keys(live.tables.streams).includes("cars")) return null;
  return html`<button title=${demo.about} onClick=${() => play(demo.sql)}>Play the demo's scene</button>`;
}

function Explained({ of }) {
  if (of.error) return html`<${Trouble} error=${of.error} />`;
  if (of.busy) return html`<p class="note" role="status">Explaining …</p>`;
  return of.text ? html`<pre class="code" tabindex="0">${of.text}</pre>` : html`<p class="note">The plan of the SELECT or CREATE QUERY at the cursor.</p>`;
}

function Outcome({ of }) {
  if (of.error) return html`<${Trouble} error=${of.error} />`;
  if (of.message) return html`<pre class="code" tabindex="0">${of.message}</pre>`;
  const rows = of.rows ?? [];
  return html`<p class="note">${counted(rows.length, "row")} in ${duration(of.took)}${rows.length > MOST_ROWS ? `, ${MOST_ROWS} shown` : ""}</p>
    ${rows.length ? html`<${Rows} rows=${rows.slice(0, MOST_ROWS)} columns=${names(of.columns)} label="Result" />` : html`<${Empty}>No rows.<//>`}`;
}

/** Return answers in which lines that only say what was done stand together. */
function gathered(answers) {
  const found = [];
  for (const each of answers) {
    const last = found.at(-1);
    const isLine = each.message && !each.message.includes("\n");
    if (isLine && last?.lines) Object.assign(last, { message: `${last.message}\n${each.message}` });
    else found.push({ ...each, lines: isLine });
  }
  return found;
}

const names = (columns) => columns?.map((each) => (typeof each === "string" ? each : each.name));

function free() {
  const { queries } = snapshot().tables;
  for (let n = 1; ; n++) if (!(`query_${n}` in queries)) return `query_${n}`;
}

function Editor({ hold, first, linked, press, explain }) {
  const place = useRef();
  useEffect(() => {
    const later = { timer: 0, asked: 0 };
    const look = () => {
      clearTimeout(later.timer);
      later.timer = setTimeout(() => explainAt(hold.current, explain, later), PAUSE);
    };
    const nonce = document.querySelector('meta[name="style-nonce"]').content;
    hold.current = new code.EditorView({
      parent: place.current,
      state: code.EditorState.create({
        doc: first,
        extensions: [
          code.EditorView.cspNonce.of(nonce),
          code.keymap.of([
            { key: "Mod-Enter", run: () => (press.current.one(), true) },
            { key: "Mod-Shift-Enter", run: () => (press.current.all(), true) },
            ...code.closeBracketsKeymap, ...code.completionKeymap, ...code.historyKeymap, ...code.defaultKeymap]),
          code.lineNumbers(), code.history(), code.drawSelection(), code.highlightActiveLine(),
          code.bracketMatching(), code.closeBrackets(),
          code.EditorView.lineWrapping, code.EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          code.sql({ dialect: DIALECT, upperCaseKeywords: true }),
          code.autocompletion({ override: [complete], icons: false }),
          code.syntaxHighlighting(COLOURS),
          code.EditorView.updateListener.of((update) => {
            if (update.docChanged) { sessionStorage.setItem(KEPT, update.state.doc.toString()); mark(update.view, []); }
            if (update.docChanged || update.selectionSet) look();
          }),
        ],
      }),
    });
    if (first && !linked) look(); // what a link brought is explained when somebody has touched it
    return () => { clearTimeout(later.timer); hold.current.destroy(); };
  }, []);
  return html`<div class="editor" ref=${place}></div>`;
}

/** Explain the statement at the cursor, and underline what is wrong with it. */
async function explainAt(view, explain, later) {
  const part = statementAt(view.state.doc.toString(), view.state.selection.main.head);
  const bare = withoutComments(part?.text ?? "").trim();
  if (!/^(SELECT|WITH|CREATE\s+(OR\s+REPLACE\s+)?QUERY)\b/i.test(bare)) return explain({ text: "" });
  const mine = ++later.asked;
  const before = "EXPLAIN ";
  try {
    const plan = await askText(before + part.text);
    if (mine === later.asked) { explain({ text: plan }); mark(view, []); }
  } catch (error) {
    if (mine !== later.asked) return;
    if (error.code === "NAME_TAKEN") return explain({ text: told(error) });
    explain({ error });
    underline(view, part, before + part.text, error, before.length);
  }
}

/** Underline an error at its place: `sent` is the text that its line and column count in. */
function underline(view, part, sent, error, added = 0) {
  if (!(error instanceof ServerError) || !error.line || !view) return;
  const found = Math.max(0, placeOf(sent, error.line, error.column) - added);
  const from = Math.min(part.from + found, Math.max(0, view.state.doc.length - 1));
  const word = /^[\w`.]+|^\S/.exec(view.state.sliceDoc(from, from + 80));
  mark(view, [{ from, to: Math.min(view.state.doc.length, from + (word?.[0].length ?? 1)), severity: "error", message: `${error.code}: ${error.message}` }]);
}

const mark = (view, diagnostics) => view && view.dispatch(code.setDiagnostics(view.state, diagnostics));

const KEYWORDS = "add adaptive after all alter and any archive as asc batching begin between by call case cast context coupling create cross dead_letters desc describe disable distinct do drop else emit enable end estimate event every exists explain flow for force from full function group having hop idle if in inner interval into is join landmark left like limit mask milliseconds minutes hours days not null of on or order outer output over partition plus priority punctuate query raise range replace resume retry returns right rows rule schedule seconds select semi seq session set shed show slack slide start stop stream strategy table then timestamp tuples type under union until using valid wait weight when where with within";
const TYPES = "bigint boolean binary complex date decimal double float int integer smallint string struct tinyint vector array map";
const DIALECT = code.SQLDialect.define({ keywords: KEYWORDS, types: TYPES, identifierQuotes: "`", backslashEscapes: true, hashComments: false, doubleQuotedStrings: true });
const FUNCTIONS = ["avg", "coalesce", "count", "max", "min", "round", "stddev", "sum"];

const columnsOf = new Map(); // of streams, queries and tables that were asked for already

async function columns(name) {
  if (!columnsOf.has(name)) {
    const found = await askRows(`DESCRIBE ${quoted(name)}`).catch(() => []);
    columnsOf.set(name, found.filter((row) => row.column).map((row) => ({ label: row.column, detail: row.type, type: "property" })));
    setTimeout(() => columnsOf.delete(name), 30_000); // it may be replaced meanwhile
  }
  return columnsOf.get(name);
}

/** Complete keywords, names, and the columns of what the statement reads. */
async function complete(context) {
  const word = context.matchBefore(/[\w.]*/);
  if (!word.text && !context.explicit) return null;
  const { tables } = snapshot();
  const known = [...Object.keys(tables.streams), ...Object.values(tables.queries).map((row) => row.query)];
  const script = context.state.doc.toString();
  const statement = statementAt(script, context.pos)?.text ?? "";
  const read = known.filter((name) => new RegExp(`(^|[^\\w])${name.replace(/[^\w]/g, "\\$&")}($|[^\\w])`, "i").test(statement));
  const dot = word.text.lastIndexOf(".");
  if (dot >= 0) {
    const owner = word.text.slice(0, dot);
    if (owner.toLowerCase() === "system") return { from: word.from + dot + 1, options: (await systemViews()).map((label) => ({ label, type: "view" })) };
    const alias = new RegExp(`([\\w\`]+)\\s*(?:\\[[^\\]]*\\])?\\s+(?:AS\\s+)?${owner.replace(/\W/g, "")}\\b`, "i").exec(statement);
    const meant = known.find((name) => name.toLowerCase() === owner.toLowerCase()) ?? known.find((name) => name.toLowerCase() === alias?.[1].toLowerCase());
    return meant ? { from: word.from + dot + 1, options: await columns(meant) } : null;
  }
  const cased = (text) => (word.text && word.text === word.text.toLowerCase() ? text : text.toUpperCase());
  const own = (await Promise.all(read.slice(0, 4).map(columns))).flat();
  return {
    from: word.from, validFor: /^\w*$/,
    options: [
      ...own.map((each) => ({ ...each, boost: 3 })),
      ...known.map((label) => ({ label, apply: /^\w+$/.test(label) ? label : quoted(label), type: "class", detail: label in tables.streams ? "stream" : "query", boost: 2 })),
      ...FUNCTIONS.map((label) => ({ label, type: "function", boost: 1 })),
      ...`${KEYWORDS} ${TYPES} system`.split(" ").map((each) => ({ label: cased(each), type: "keyword" })),
    ],
  };
}

let views = null;
const systemViews = () => (views ??= askRows("SELECT view FROM system.views").then((found) => found.map((row) => row.view), () => []));

const { tags } = code;
const COLOURS = code.HighlightStyle.define([
  { tag: tags.keyword, class: "tok-keyword" }, { tag: tags.typeName, class: "tok-type" },
  { tag: [tags.string, tags.special(tags.string)], class: "tok-string" }, { tag: [tags.number, tags.bool, tags.null], class: "tok-number" },
  { tag: [tags.lineComment, tags.blockComment], class: "tok-comment" },
]);
