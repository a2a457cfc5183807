import { h } from "../dom.js";

/** Lets the browser store a text as a file. */
export function download(text, name, type) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href, download: name.replace(/[^A-Za-z0-9._-]/g, "_") }).click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
