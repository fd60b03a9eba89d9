// How figures, times and names are shown: rounded to what matters, with their units.

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
export const NOTHING = "–"; // where there is no figure

/** Return an exact number, in groups of three digits, for titles and for small counts. */
export const exact = (value) => (isNumber(value) ? GROUPED.format(value) : NOTHING);

/** Return a number to three digits: 1,234,567 is 1.23 M. */
export function count(value) {
  if (!isNumber(value)) return NOTHING;
  const size = Math.abs(value);
  if (size < 1e4) return GROUPED.format(size < 10 ? round(value, 2) : Math.round(value));
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= unit) return `${digits(value / unit)} ${name}`;
}

export const rate = (value) => (isNumber(value) ? `${count(value)}/s` : NOTHING);

/** Return milliseconds as ms, s, min or h. */
export function duration(milliseconds) {
  if (!isNumber(milliseconds)) return NOTHING;
  const size = Math.abs(milliseconds);
  if (size < 1000) return `${digits(milliseconds)} ms`;
  if (size < 120e3) return `${digits(milliseconds / 1e3)} s`;
  if (size < 7200e3) return `${digits(milliseconds / 60e3)} min`;
  if (size < 172800e3) return `${digits(milliseconds / 3600e3)} h`;
  return `${digits(milliseconds / 86400e3)} days`;
}

export const seconds = (value) => (isNumber(value) ? duration(value * 1000) : NOTHING);

export function bytes(value) {
  if (!isNumber(value)) return NOTHING;
  for (const [unit, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (Math.abs(value) >= unit) return `${digits(value / unit)} ${name}`;
  return `${value} B`;
}

export function share(value) {
  if (!isNumber(value)) return NOTHING;
  const percent = value * 100;
  return `${percent && Math.abs(percent) < 10 ? round(percent, 1) : Math.round(percent)} %`;
}

/** Return how long ago a moment was (milliseconds since 1970), in whole seconds, minutes or hours. */
export function ago(moment, now = Date.now()) {
  const passed = now - moment;
  const unit = passed < 120e3 ? 1e3 : passed < 7200e3 ? 60e3 : 3600e3;
  return passed < 1500 ? "now" : `${duration(Math.round(passed / unit) * unit)} ago`;
}

export const clockTime = (moment) => new Date(moment).toLocaleTimeString([], { hour12: false });
export const wholeTime = (moment) => new Date(moment).toISOString().replace("T", " ").replace("Z", " UTC");

/** Return a value of a row as text; what it is made of as JSON. */
export function valueText(value) {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(12)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return "1 query", "2 queries". */
export const counted = (number, one, many = `${one}s`) => `${exact(number)} ${number === 1 ? one : many}`;

/** Return a name as SQL takes it, whatever is in it. */
export const quoted = (name) => `\`${String(name).replaceAll("`", "``")}\``;

/** Return a text as a literal of SQL. */
export const literal = (text) => `'${String(text).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const round = (value, places) => Math.round(value * 10 ** places) / 10 ** places;

function digits(value) {
  const size = Math.abs(value);
  return GROUPED.format(round(value, size < 10 ? 2 : size < 100 ? 1 : 0));
}
