// The address of what is shown: #/queries/fuel/plan?sort=rows. Every state of the page has one.
import { useEffect, useState } from "../vendor/view.js";

/** Return the parts of the path and the parameters that an address has. */
export function read(hash = location.hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, given: Object.fromEntries(new URLSearchParams(search)) };
}

/** Return the address of some parts and parameters; what is empty is left out. */
export function to(parts, given = {}) {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(kept).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** Change some parameters of the present address, without a new step in the browser's history. */
export function amend(changes) {
  const { parts, given } = read();
  history.replaceState(null, "", to(parts, { ...given, ...changes }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export const go = (...where) => (location.hash = to(...where));

export function useAddress() {
  const [address, tell] = useState(read());
  useEffect(() => {
    const told = () => tell(read());
    addEventListener("hashchange", told);
    return () => removeEventListener("hashchange", told);
  }, []);
  return address;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // half an escape that somebody typed
  }
}
