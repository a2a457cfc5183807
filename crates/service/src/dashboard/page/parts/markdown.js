// Markdown becomes elements in three steps: markdown-it, for which markup in the text is text; DOMPurify, which
// keeps only the elements and attributes below; and a last look at every link.

import { DOMPurify, MarkdownIt } from "../vendor/markdown.js";
import { h } from "../dom.js";

/** Longer text is shown as it is: parsing it would make the page wait. */
const MAX_LENGTH = 20_000;
/** The parser leaves out what is nested deeper. */
const MAX_NESTING = 40;

const TAGS = [
  "p",
  "br",
  "hr",
  "em",
  "strong",
  "s",
  "code",
  "pre",
  "blockquote",
  "ul",
  "ol",
  "li",
  "a",
];
const TABLE = ["table", "thead", "tbody", "tr", "th", "td"];
const SAFE = {
  ALLOWED_TAGS: [...TAGS, ...TABLE],
  ALLOWED_ATTR: ["href", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const parser = new MarkdownIt({
  html: false,
  breaks: true,
  linkify: true,
  maxNesting: MAX_NESTING,
});
// Only complete addresses become links: `main.rs` is no domain.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.validateLink = isWeb;
// The outline of the page has no place for the headings of a message.
parser.renderer.rules.heading_open = () => "<p><strong>";
parser.renderer.rules.heading_close = () => "</strong></p>\n";
// The alignment of a column would be an inline style, which the content security policy forbids.
parser.renderer.rules.th_open = () => "<th>";
parser.renderer.rules.td_open = () => "<td>";
// A picture by address is a link: the page itself loads nothing from elsewhere.
parser.renderer.rules.image = (tokens, index) => {
  const { content, attrs } = tokens[index];
  const source = attrs.find(([name]) => name === "src")[1];
  const { escapeHtml } = parser.utils;
  return `<a href="${escapeHtml(source)}">${escapeHtml(pictureLabel(source, content))}</a>`;
};

/** Whether a link may have this address. */
export function isWeb(address) {
  return /^(https?:\/\/|mailto:)/i.test(address.trim());
}

/** The text of a link to a picture. */
export function pictureLabel(address, description = "") {
  const host = URL.canParse(address) ? new URL(address).host : "elsewhere";
  return `Picture${description && `: ${description}`} (at ${host})`;
}

/** A link to another site, which learns nothing of this page. */
export function linkAway(link) {
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  link.title = link.href;
  return link;
}

/** Text of a message, as Markdown if it can be. */
export function markdown(text) {
  const tokens = text.length <= MAX_LENGTH ? parser.parse(text, {}) : [];
  const isTooDeep = tokens.some(({ level }) => level >= MAX_NESTING - 2);
  if (tokens.length === 0 || isTooDeep) return plain(text);
  const fragment = DOMPurify.sanitize(parser.renderer.render(tokens, parser.options, {}), SAFE);
  for (const link of fragment.querySelectorAll("a")) {
    if (isWeb(link.getAttribute("href") ?? "")) linkAway(link);
    else link.removeAttribute("href");
  }
  // The marks of a list are at the side where its text begins.
  for (const list of fragment.querySelectorAll("ul, ol, blockquote")) list.dir = "auto";
  return h("div", { class: "words markdown" }, fragment);
}

/** Text as it is. */
export function plain(text) {
  return h("p", { class: "words", dir: "auto" }, text);
}
