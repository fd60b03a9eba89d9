// The shell: what stands around every view, which view an address means, and the keys.
import { html, render, useEffect, useErrorBoundary, useRef, useState } from "./vendor/view.js";
import { go, to, useAddress } from "./lib/address.js";
import { keepToken, token } from "./lib/api.js";
import { connect, snapshot, useLive } from "./lib/live.js";
import { ago, clockTime } from "./lib/format.js";
import { Empty, Loading, Mark, Notices, Questions, useReveal } from "./lib/ui.js";

const VIEWS = [
  ["overview", "Overview", "./views/overview.js"],
  ["graph", "Graph", "./views/graph.js"],
  ["queries", "Queries", "./views/queries.js"],
  ["streams", "Streams", "./views/streams.js"],
  ["events", "Events and rules", "./views/events.js"],
  ["sql", "SQL", "./views/sql.js"],
];
const KEYS = [
  ["/", "search streams, queries, rules and units"],
  ["1 … 6", "go to Overview, Graph, Queries, Streams, Events and rules, SQL"],
  ["t", "switch between light, dark and the system's wish"],
  ["?", "show these keys"],
  ["Esc", "close what is open"],
  ["Ctrl Enter", "in the editor: run the statement at the cursor, or what is selected"],
  ["Ctrl Space", "in the editor: complete"],
];
const THEME = "penstock.theme";
const THEMES = ["system", "light", "dark"];

function App() {
  const { parts, given } = useAddress();
  const [open, show] = useState(null);
  const [theme, setTheme] = useTheme();
  const name = parts[0] ?? "overview";
  const view = VIEWS.find(([each]) => each === name);
  const live = useLive();
  const views = useReveal(name);
  useEffect(() => keys(show, setTheme), []);
  useEffect(() => {
    document.title = [parts[1], view?.[1], "Penstock"].filter(Boolean).join(" · ");
  }, [name, parts[1]]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <header><a class="brand" href="#/"><img src="page/icon.svg" alt="" width="20" height="20" />Penstock</a>
      <nav ref=${views} class="views" aria-label="Views">${VIEWS.map(([key, title]) => html`<a key=${key} href=${to([key])} aria-current=${key === name ? "page" : undefined}>${title}${key === "overview" && live.attention.length ? html` <span class="pill">${live.attention.length}<span class="hidden"> need attention</span></span>` : ""}</a>`)}</nav>
      <div class="tools">
        <${Link} live=${live} />
        <button onClick=${() => show("search")} aria-label="Search" title="Search ( / )">⌕</button>
        <button onClick=${() => setTheme()} aria-label="Theme: ${theme}" title="Theme: ${theme} ( t )">${{ system: "◐", light: "☀", dark: "☾" }[theme]}</button>
        <button onClick=${() => show("keys")} aria-label="Keys" title="Keys ( ? )">?</button>
      </div></header>
    <${Old} live=${live} />
    <main id="main" tabindex="-1">${view ? html`<${View} key=${name} from=${view[2]} parts=${parts.slice(1)} given=${given} />` : html`<${Empty}>There is no view “${name}”. <a href="#/">Overview</a><//>`}</main>
    <${Notices} /><${Questions} />
    ${live.link === "refused" && html`<${TokenEntry} refusal=${live.refusal} />`}
    ${open === "search" && html`<${Search} close=${() => show(null)} />`}
    ${open === "keys" && html`<${Keys} close=${() => show(null)} />`}`;
}

/** Whether the figures are live, in two words. */
function Link({ live }) {
  const [tone, word] = { live: ["good", "live"], connecting: ["calm", "connecting"], lost: ["bad", "lost"], refused: ["warn", "no access"], paused: ["calm", "paused"] }[live.link];
  return html`<span class="link" role="status"><${Mark} tone=${tone}>${word}<//></span>`;
}

/** Says since when the figures are old, and that it tries again. */
function Old({ live }) {
  const [, draw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => draw((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  if (live.link !== "lost") return null;
  return html`<div class="old"><span class="hidden" role="alert">Connection lost</span>
    <${Mark} tone="bad">Connection lost <span aria-hidden="true">${ago(live.since)}</span>.<//>
    ${live.at ? ` Figures are those of ${clockTime(live.at * 1000)}.` : ""} Trying again by itself.
    <button onClick=${connect}>Try now</button></div>`;
}

const loaded = new Map();

function View({ from, parts, given }) {
  const [module, set] = useState(() => loaded.get(from)); // a state that is a function would be called
  const [failed, reset] = useErrorBoundary();
  useEffect(() => {
    if (!module)
      import(from).then((found) => { loaded.set(from, found.default); set(() => found.default); }, (error) => set(() => () => html`<p class="trouble" role="alert">This view could not be loaded: ${error.message}</p>`));
  }, [from]);
  if (failed) return html`<div class="trouble" role="alert"><p>This view failed: ${failed.message}</p><button onClick=${reset}>Draw it again</button></div>`;
  return module ? html`<${module} parts=${parts} given=${given} />` : html`<${Loading} />`;
}

function TokenEntry({ refusal }) {
  const dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  const enter = (event) => { // it goes with the first figures, and stays with the next refusal
    event.preventDefault();
    keepToken(new FormData(event.target).get("token").trim());
    connect();
  };
  return html`<dialog ref=${dialog} aria-labelledby="entry" onCancel=${(event) => event.preventDefault()}><form onSubmit=${enter}>
    <h2 id="entry">This server asks for a token</h2>
    ${token() && html`<p><${Mark} tone="bad">${refusal.code}<//> ${refusal.message}</p>`}
    <label>Token<input name="token" type="password" autocomplete="off" required autofocus /></label>
    <p class="hint">It stays in this tab until that is closed. <code>penstock token</code> makes one.</p>
    <p class="buttons"><button class="main" type="submit">Enter</button></p></form></dialog>`;
}

function Search({ close }) {
  const dialog = useRef();
  const [text, type] = useState("");
  const [place, move] = useState(0);
  useEffect(() => dialog.current.showModal(), []);
  const found = matches(text.trim().toLowerCase());
  const chosen = Math.min(place, found.length - 1);
  const open = (where) => { close(); go(...where); };
  const key = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); move(Math.max(0, Math.min(found.length - 1, chosen + step))); }
    if (event.key === "Enter" && found[chosen]) { event.preventDefault(); open(found[chosen].where); }
  };
  return html`<dialog ref=${dialog} class="search" aria-label="Search" onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
    <input type="search" role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${found.length ? `found-${chosen}` : undefined}
      aria-label="Search streams, queries, rules and units" placeholder="Streams, queries, rules, units …" autofocus value=${text} onInput=${(event) => { type(event.target.value); move(0); }} onKeyDown=${key} />
    <ul id="found" role="listbox" aria-label="Found">${found.map((each, n) => html`<li key=${each.kind + each.name} id="found-${n}" role="option" aria-selected=${n === chosen} onClick=${() => open(each.where)}><span class="kind">${each.kind}</span> ${each.name}</li>`)}</ul>
    ${!found.length && html`<${Empty}>Nothing has “${text}” in its name.<//>`}</dialog>`;
}

function matches(text) {
  const { tables } = snapshot();
  const all = [
    ...VIEWS.map(([key, title]) => ({ kind: "view", name: title, where: [[key]] })),
    ...Object.keys(tables.queries).map((name) => ({ kind: "query", name, where: [["queries", name]] })),
    ...Object.keys(tables.streams).map((name) => ({ kind: "stream", name, where: [["streams", name]] })),
    ...Object.keys(tables.rules).map((name) => ({ kind: "rule", name, where: [["events"], { rule: name }] })),
    ...Object.keys(tables.units).map((name) => ({ kind: "unit", name: name.slice(0, 6), where: [["graph"], { node: name }] })),
  ];
  const rank = (each) => each.name.toLowerCase().indexOf(text);
  return all.filter((each) => rank(each) >= 0).sort((a, b) => rank(a) - rank(b)).slice(0, 12);
}

function Keys({ close }) {
  const dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} aria-labelledby="keys" onClose=${close}><h2 id="keys">Keys</h2>
    <dl class="keys">${KEYS.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <p class="buttons"><button autofocus onClick=${() => dialog.current.close()}>Close</button></p></dialog>`;
}

function keys(show, setTheme) {
  const pressed = (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const view = VIEWS[Number(event.key) - 1];
    const act = { "/": () => show("search"), "?": () => show("keys"), t: () => setTheme() }[event.key] ?? (view && (() => go([view[0]])));
    if (act) { event.preventDefault(); act(); }
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

/** The theme, and a function that switches to the next. A page never shows another than it names. */
function useTheme() {
  const [theme, set] = useState(() => document.documentElement.dataset.theme); // by theme.js
  return [theme, () => set((now) => wear(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]))];
}

function wear(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(THEME, theme);
  dispatchEvent(new Event("penstock-theme")); // canvases are drawn with its colours
  return theme;
}

connect();
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${App} />`, app);
