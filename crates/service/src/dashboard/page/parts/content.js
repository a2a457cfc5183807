// What a message says: text, reasoning, pictures, and anything else as JSON.

import { h } from "../dom.js";
import { count, many } from "../format.js";
import { block, formatJson } from "./json.js";
import { isWeb, linkAway, markdown, pictureLabel, plain } from "./markdown.js";

/** Text longer than this is folded. */
const MAX_UNFOLDED = 1_200;
/** Text longer than this is put into the page in pieces of this size, on demand. */
const MAX_PIECE = 50_000;

const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif);base64,[a-z0-9+/=\s]+$/i;

/** The content of a message. `isPlain`: the text is no Markdown, for example the result of a tool. */
export function content(value, isPlain = false) {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "string") return text(value, isPlain);
  if (
    Array.isArray(value) &&
    value.every((it) => typeof it === "string" || typeof it?.type === "string")
  ) {
    return value.map((it) => part(it, isPlain));
  }
  return json(value);
}

function part(it, isPlain) {
  if (typeof it === "string") return text(it, isPlain);
  if (typeof it.text === "string" && /text$/.test(it.type)) return text(it.text, isPlain);
  if (/thinking$|^reasoning/.test(it.type)) return reasoning([it]);
  return picture(it) ?? json(it);
}

/** A picture of a message: shown if the message holds it, and a link if it is elsewhere. */
function picture({ type, image_url: url, source, mediaType, data, url: file }) {
  if (!/image|file/.test(type)) return null;
  const given = typeof url === "string" ? url : (url?.url ?? source?.url ?? file);
  const held = source?.type === "base64" ? source : data && { media_type: mediaType, data };
  const address = given ?? (held && `data:${held.media_type};base64,${held.data}`);
  if (typeof address !== "string") return null;
  if (PICTURE.test(address)) {
    return h("img", {
      class: "picture",
      src: address,
      alt: "Picture in the message",
      loading: "lazy",
    });
  }
  if (!isWeb(address)) return null;
  const label = type.includes("image") ? pictureLabel(address) : address;
  return h("p", { class: "away" }, linkAway(h("a", { href: address }, label)));
}

function text(value, isPlain) {
  if (value.length > MAX_PIECE) return pieces(value);
  const words = isPlain ? plain(value) : markdown(value);
  return value.length > MAX_UNFOLDED || value.split("\n").length > 16 ? foldedText(words) : words;
}

/** A very long text: its beginning, and the next piece on demand. */
function pieces(value) {
  let shown = MAX_PIECE;
  const words = plain(value.slice(0, shown));
  const next = h("button", { type: "button", class: "quiet" });
  const label = () => (next.textContent = `Show more of ${count(value.length)} characters`);
  next.onclick = () => {
    words.append(value.slice(shown, shown + MAX_PIECE));
    shown += MAX_PIECE;
    label();
    if (shown >= value.length) next.remove();
  };
  label();
  return [...foldedText(words), next];
}

/** What a model thought, folded: a text, or blocks with a text. */
export function reasoning(value) {
  const blocks = Array.isArray(value) ? value : [value];
  const texts = blocks.map((it) =>
    typeof it === "string" ? it : (it?.thinking ?? it?.text ?? it?.reasoning),
  );
  const all = texts.filter((it) => typeof it === "string" && it !== "").join("\n\n");
  if (all === "") return null;
  return h(
    "details",
    { class: "reasoning" },
    h("summary", {}, "Reasoning ", h("small", {}, many(all.length, "character"))),
    plain(all.slice(0, MAX_PIECE)),
  );
}

/** JSON, or a text that is meant to be JSON. */
export function json(value) {
  if (value === null || value === undefined) return null;
  const whole = typeof value === "string" ? tidy(value) : formatJson(value);
  const rest = whole.length - MAX_PIECE;
  const shown = block(whole.slice(0, MAX_PIECE), { class: "wrapped" });
  return [
    whole.length > MAX_UNFOLDED ? foldedText(shown) : shown,
    rest > 0 && h("p", { class: "dim" }, `${many(rest, "more character")} not shown.`),
  ];
}

function tidy(value) {
  if (value.length > MAX_PIECE || !/^\s*[[{]/.test(value)) return value;
  try {
    return formatJson(JSON.parse(value));
  } catch {
    return value;
  }
}

function foldedText(element) {
  element.classList.add("folded");
  const unfold = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-expanded": "false",
      onclick: () => {
        const isFolded = element.classList.toggle("folded");
        unfold.textContent = isFolded ? "Show all" : "Show less";
        unfold.setAttribute("aria-expanded", String(!isFolded));
      },
    },
    "Show all",
  );
  return [element, unfold];
}
