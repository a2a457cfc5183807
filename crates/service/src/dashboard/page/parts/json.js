import { h } from "../dom.js";

// These would show what comes after them in another order than it has.
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Writes JSON to be read by people; marks of direction become escapes. */
export function written(value) {
  return JSON.stringify(value, null, 2).replace(
    DIRECTIONS,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A block of JSON, from left to right whatever is in it. */
export function block(text, attributes = {}) {
  return h("pre", { dir: "ltr", ...attributes }, text);
}
