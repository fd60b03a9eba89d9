// Where statements begin and end in a script, as the server cuts it: at semicolons outside of
// strings, quoted names and comments.

/** Return {from, to, text} of each statement; blanks around it are outside. */
export function statements(script) {
  const found = [];
  let from = 0;
  for (const token of script.matchAll(/'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`(?:``|[^`])*`?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g)) {
    if (token[0] !== ";") continue;
    found.push(part(script, from, token.index));
    from = token.index + 1;
  }
  found.push(part(script, from, script.length));
  return found.filter((each) => withoutComments(each.text).trim());
}

/** Return the statement at a place, or the one before it. */
export function statementAt(script, place) {
  const all = statements(script);
  return all.find((each) => place <= each.to + 1) ?? all.at(-1);
}

/** Return the place of a line and column (from one) in a text. */
export function placeOf(text, line, column) {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(before + column - 1, text.length);
}

export const withoutComments = (text) => text.replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, " ");

function part(script, from, to) {
  const text = script.slice(from, to);
  const begin = from + (text.length - text.trimStart().length);
  return { from: begin, to: Math.max(begin, to - (text.length - text.trimEnd().length)), text: text.trim() };
}
