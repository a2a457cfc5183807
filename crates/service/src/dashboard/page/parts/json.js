import { h } from "../dom.js";

// Direction marks: they would change the displayed order of the characters after them.
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Formats JSON for people; direction marks become escapes. */
export function formatJson(value) {
  return JSON.stringify(value, null, 2).replace(
    DIRECTIONS,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A block of JSON, always from left to right. */
export function block(text, attributes = {}) {
  return h("pre", { dir: "ltr", ...attributes }, text);
}
