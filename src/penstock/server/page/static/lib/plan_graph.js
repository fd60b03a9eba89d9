// The shared plan as nodes and edges to draw: queries fold into their units where they are many.

const MOST_QUERIES = 6; // of one unit that are drawn one by one
const MOST_ALIKE = 8; // units over the same input with nothing behind them that are drawn one by one

/** Return {nodes, edges, homeOf}: `homeOf` says which node shows a query, a stream, an event or a unit. */
export function planGraph(plan, known) {
  const nodes = new Map();
  const edges = [];
  const homeOf = { query: new Map(), stream: new Map(), event: new Map(), unit: new Map() };
  const writers = new Map(); // of each operator's output, the node that gives it
  const add = (node) => nodes.set(node.id, node).get(node.id);

  for (const { name, node } of plan.streams) {
    add({ id: `stream ${name}`, kind: "stream", title: name, streams: [name] });
    writers.set(node, `stream ${name}`);
    homeOf.stream.set(name, `stream ${name}`);
  }
  const folds = foldsOf(plan.units);
  for (const unit of plan.units) {
    const fold = folds.get(unit.unit);
    const id = fold ? fold.id : `unit ${unit.unit}`;
    const events = detectedBy(unit, known.events);
    if (!nodes.has(id)) add({ id, kind: events.length ? "events" : kindOf(unit), title: fold ? fold.title : events.join(", ") || titleOf(unit), units: [], queries: [], rules: [], events: [] });
    nodes.get(id).units.push(unit);
    nodes.get(id).events.push(...events);
    for (const name of events) homeOf.event.set(name.toLowerCase(), id);
    homeOf.unit.set(unit.unit, id);
    for (const given of unit.gives) writers.set(given, id);
  }
  for (const unit of plan.units)
    for (const read of unit.reads) join(edges, writers.get(read), homeOf.unit.get(unit.unit), read);
  const readers = new Map();
  for (const { name, node } of plan.queries) {
    const writer = writers.get(node);
    if (writer) readers.set(writer, [...(readers.get(writer) ?? []), name]);
  }
  for (const [writer, names] of readers) {
    const queries = [...new Set(names)].filter((name) => known.queries.has(name.toLowerCase()));
    const rules = [...new Set(names)].filter((name) => !known.queries.has(name.toLowerCase()));
    if (queries.length > MOST_QUERIES || nodes.get(writer).units?.length > 1) {
      const id = `queries ${writer}`;
      add({ id, kind: "queries", title: `${queries.length.toLocaleString("en")} queries`, queries });
      join(edges, writer, id, id);
      for (const name of queries) homeOf.query.set(name.toLowerCase(), id);
    } else for (const name of queries) {
      const id = `query ${name}`;
      add({ id, kind: "query", title: known.queries.get(name.toLowerCase()), queries: [name] });
      join(edges, writer, id, id);
      homeOf.query.set(name.toLowerCase(), id);
    }
    for (const name of rules) {
      add({ id: `rule ${name}`, kind: "rule", title: name, rules: [name] });
      join(edges, writer, `rule ${name}`, name);
    }
  }
  for (const [name, sink] of known.sinks) {
    const home = homeOf.query.get(name);
    if (!home || nodes.get(home).kind !== "query") continue;
    add({ id: `sink ${name}`, kind: "sink", title: sink });
    join(edges, home, `sink ${name}`, sink);
  }
  return { nodes: [...nodes.values()], edges, homeOf };
}

/** Return for units that are many over one input, with nothing behind them, the node they fold into. */
function foldsOf(units) {
  const read = new Set(units.flatMap((unit) => unit.reads));
  const alike = new Map();
  for (const unit of units.filter((each) => !each.gives.some((node) => read.has(node)))) {
    const key = unit.reads.join(" ");
    alike.set(key, [...(alike.get(key) ?? []), unit]);
  }
  const folds = new Map();
  for (const [key, members] of alike)
    if (members.length > MOST_ALIKE)
      for (const unit of members)
        folds.set(unit.unit, { id: `fold ${key}`, title: `${members.length.toLocaleString("en")} units` });
  return folds;
}

function join(edges, from, to, key) {
  if (!from || !to || from === to) return;
  const there = edges.find((edge) => edge.from === from && edge.to === to);
  if (!there) edges.push({ from, to, key: `${from} ${to} ${key}` });
}

/** Return the names of the events that a unit detects. */
function detectedBy(unit, events) {
  const own = new Set([...unit.gives, ...unit.operators.map((each) => each.node)]);
  return events.filter((each) => each.nodes.some((node) => own.has(node))).map((each) => each.event);
}

const kindOf = (unit) => (unit.kind === "bundle" ? "bundle" : unit.operators.length === 1 && /^gate/i.test(unit.operators[0].text) ? "gate" : "unit");

function titleOf(unit) {
  const telling = unit.operators.filter((each) => !/^project\b/.test(each.text)); // what is left out is what all have
  const text = (telling.at(-1) ?? unit.operators.at(-1))?.text.replaceAll("`", "") ?? unit.unit.slice(0, 6);
  return unit.kind === "bundle" && unit.queries.length > 1 ? `${unit.queries.length.toLocaleString("en")} × ${text.replace(/^bundle of /, "")}` : text.replace(/^bundle of /, "");
}
