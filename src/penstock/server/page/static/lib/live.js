// The feed: figures that the server samples once a second for all pages. It connects again by
// itself; until then the last figures stay, with the time that they are of.
import { useEffect, useState } from "../vendor/view.js";
import { ServerError, listen } from "./api.js";

const MOST_POINTS = 600; // ten minutes of seconds
const MOST_HAPPENINGS = 500;
const MOST_CURVE_POINTS = 31; // as the server keeps
const SILENCE = 15_000; // milliseconds without a word after which a connection counts as lost
const UNSEEN = 10_000; // milliseconds in the background until the connection is given back
const PAUSES = [500, 1000, 2000, 5000]; // milliseconds before the next try

let now = {
  link: "connecting", // connecting, live, lost, refused, paused
  since: Date.now(), // of that
  at: 0, // the moment that the figures are of
  caller: null, // who we are for the server: {name, role}
  strategies: [],
  overview: null,
  attention: [],
  happened: [],
  points: [],
  curves: { at: [], queries: {}, units: {} }, // pairs of single queries and units, coarser than points
  shape: 0,
  tables: { streams: {}, queries: {}, units: {}, rules: {}, events: {} },
};
const listeners = new Set();
let stop = new AbortController();

export const snapshot = () => now;
export const mayWrite = () => now.caller !== null && now.caller.role !== "read";
export const mayAdmin = () => now.caller !== null && now.caller.role === "admin";

/** Return a query's row by its name, however that is written. */
export const queryRow = ({ queries }, name) => queries[name] ?? Object.values(queries).find((row) => row.query.toLowerCase() === name.toLowerCase());

/** Return what is known now; whoever calls it is drawn again with each change. */
export function useLive() {
  const [, draw] = useState(0);
  useEffect(() => {
    const told = () => draw((drawn) => drawn + 1);
    listeners.add(told);
    return () => listeners.delete(told);
  }, []);
  return now;
}

// A browser has few connections for one server: a page that nobody sees gives its own back.
let hiding;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(pause, UNSEEN);
  else if (now.link === "paused") connect();
});

function pause() {
  stop.abort();
  change({ link: "paused", since: Date.now() });
}

/** Connect, and again whenever the connection is lost. Calling it again begins anew. */
export async function connect() {
  stop.abort();
  const mine = (stop = new AbortController());
  for (let tries = 0; !mine.signal.aborted; tries++) {
    const began = Date.now();
    const why = await once(mine.signal);
    if (mine.signal.aborted) return;
    if (why instanceof ServerError && [401, 403].includes(why.status)) {
      change({ link: "refused", since: Date.now(), refusal: why });
      return;
    }
    if (now.link !== "lost") change({ link: "lost", since: Date.now() });
    if (Date.now() - began > 10_000) tries = 0;
    await new Promise((go) => setTimeout(go, PAUSES[Math.min(tries, PAUSES.length - 1)]));
  }
}

async function once(outer) {
  const inner = new AbortController();
  const end = () => inner.abort();
  outer.addEventListener("abort", end);
  let watchdog = setTimeout(end, SILENCE);
  try {
    const woken = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(end, SILENCE);
    };
    await listen("v1/live", ({ event, data }) => heard(event, JSON.parse(data)), { signal: inner.signal, woken });
  } catch (error) {
    return error;
  } finally {
    clearTimeout(watchdog);
    outer.removeEventListener("abort", end);
  }
}

function heard(event, told) {
  const link = now.link === "live" ? {} : { link: "live", since: Date.now(), refusal: null };
  if (event === "hello") {
    now = { ...now, ...told }; // drawn with the figures, which follow
  } else if (event === "all") {
    change({ ...told, ...link });
  } else if (event === "change") {
    const tables = Object.fromEntries(
      Object.entries(now.tables).map(([name, rows]) => [name, changed(rows, told.tables?.[name])]));
    const points = [...now.points, told.point].slice(-MOST_POINTS);
    const happened = [...now.happened, ...(told.happened ?? [])].slice(-MOST_HAPPENINGS);
    change({ ...told, ...link, points, happened, tables, curves: longer(now.curves, told.curve) });
  }
}

function changed(rows, by) {
  if (!by) return rows;
  const next = { ...rows };
  for (const name of by.gone ?? []) delete next[name];
  for (const [name, row] of Object.entries(by.set ?? {})) next[name] = { ...next[name], ...row };
  return next;
}

/** Return curves with one point more; what the point does not name is there no more. */
function longer(curves, point) {
  if (!point) return curves;
  const nothing = curves.at.map(() => null);
  const each = (kind) => Object.fromEntries(Object.entries(point[kind]).map(([name, pair]) => [name, [...(curves[kind][name] ?? nothing), pair].slice(-MOST_CURVE_POINTS)]));
  return { at: [...curves.at, point.at].slice(-MOST_CURVE_POINTS), queries: each("queries"), units: each("units") };
}

function change(told) {
  now = { ...now, ...told };
  for (const tell of listeners) tell();
}
