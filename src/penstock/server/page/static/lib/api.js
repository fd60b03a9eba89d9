// The server's HTTP interface, as every other client uses it. The token stays in this tab: in
// sessionStorage and in a header, never in an address.

const TOKEN = "penstock.token";

/** What the server refused: its code, sentence, hint and place. */
export class ServerError extends Error {
  constructor(status, { code, message, hint, line, column } = {}) {
    super(message || `the server answered ${status}`);
    Object.assign(this, { status, code: code || `HTTP_${status}`, hint, line, column });
  }
}

export const token = () => sessionStorage.getItem(TOKEN);
export const keepToken = (text) =>
  text ? sessionStorage.setItem(TOKEN, text) : sessionStorage.removeItem(TOKEN);

/** Carry out a script and return what each statement gave. */
export async function run(sql, signal) {
  const response = await ask("v1/sql", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sql }),
    signal,
  });
  return readJson(await response.text()).results;
}

/** Read JSON of rows: whole numbers that JavaScript would round stay as they are written. */
export const readJson = (text) =>
  JSON.parse(text, (_, value, context) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? context?.source ?? value : value,
  );

/** Return the rows of one statement. */
export const rows = async (sql, signal) => (await run(sql, signal)).at(-1).rows ?? [];

/** Return the text of one statement, such as an EXPLAIN. */
export const text = async (sql, signal) => (await run(sql, signal)).at(-1).message ?? "";

export const getJson = async (path) => (await ask(path)).json();

/**
 * Read an event stream: `heard({event, id, data})` for each, `woken()` when the server answers and
 * for whatever comes. Ends when the server ends it.
 * EventSource cannot send a token in a header, so the stream is read by fetch.
 */
export async function listen(path, heard, { signal, lastId, woken } = {}) {
  const headers = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const response = await ask(path, { headers, signal });
  woken?.();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    woken?.();
    const parts = (kept + value).split(/\r?\n\r?\n/);
    kept = parts.pop();
    for (const part of parts) {
      const found = parsed(part);
      if (found) heard(found);
    }
  }
}

function parsed(block) {
  const found = { event: "message", id: undefined, data: [] };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^([a-z]+):? ?(.*)$/s.exec(line) ?? [];
    if (field === "data") found.data.push(value);
    else if (field) found[field] = value;
  }
  return found.data.length ? { ...found, data: found.data.join("\n") } : null;
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const response = await fetch(path, { ...options, headers, credentials: "omit" });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new ServerError(response.status, told.error);
}
