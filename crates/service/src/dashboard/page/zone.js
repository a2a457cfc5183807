// The time zone in which times are shown: that of the browser, or UTC. The browser remembers the choice.

const KEY = "reprise.zone";

let isUtc = localStorage.getItem(KEY) === "utc";

export const zone = {
  isUtc: () => isUtc,
  /** The IANA name of the zone. */
  name: () => (isUtc ? "UTC" : local()),
  /** Shows times in the other zone from now on. */
  change() {
    isUtc = !isUtc;
    localStorage.setItem(KEY, isUtc ? "utc" : "local");
  },
};

const local = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns a function that formats a time in the zone that is shown. */
export function inZone(options) {
  const here = new Intl.DateTimeFormat("en-GB", options);
  const utc = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
  return (at) => (isUtc ? utc : here).format(new Date(at));
}

/** The last midnight before a time, in the zone that is shown. */
export function midnight(now) {
  if (isUtc) return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()));
  return new Date(now.getFullYear(), now.getMonth(), now.getDate());
}

/** A time as the value of an input of the type `datetime-local`, and back; empty and null for what is no time. */
export function toInput(at) {
  if (!at) return "";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  const shown = isUtc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shown.toISOString().slice(0, 16);
}

export function fromInput(text) {
  const date = new Date(isUtc ? `${text}Z` : text);
  return text && !Number.isNaN(date.getTime()) ? date.toISOString() : null;
}
