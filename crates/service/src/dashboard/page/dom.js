// Builds elements, and updates the displayed tree to match a new one.
//
// Text always becomes a text node. Nothing here parses markup, so no text of a caller can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element; children that are null, undefined or false are omitted. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const given = children.flat(Infinity);
  element.append(
    ...given.filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

const ENTERED = ["value", "checked", "selected"];
const HANDLERS = ["onclick", "onsubmit", "onchange", "onkeydown", "onpointermove", "onpointerleave"];

/**
 * Changes `old` into `next`. Elements that are in both are kept, and with them focus, selection and scroll
 * position. Siblings with `data-key` are matched by the key, all others by position. The children of an
 * element with `data-kept` are not touched.
 */
export function morph(old, next) {
  if (old.nodeName !== next.nodeName || keyOf(old) !== keyOf(next)) return old.replaceWith(next);
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  morphAttributes(old, next);
  if (!old.hasAttribute("data-kept")) morphChildren(old, next);
}

/**
 * Returns an element that is made once and has `data-key` and `data-kept`: itself the first time, and an empty
 * copy while it is in the page, for which `morph` keeps it.
 */
export function once(element) {
  return element.isConnected ? element.cloneNode(false) : element;
}

function morphAttributes(old, next) {
  for (const { name, value } of next.attributes) {
    if (name === "style" || old.getAttribute(name) === value) continue;
    old.setAttribute(name, value);
    // What the user has entered hides the attribute, until a new value is set.
    if (ENTERED.includes(name)) old[name] = name === "value" ? value : true;
  }
  for (const { name } of [...old.attributes]) {
    // The user decides whether details are open.
    if (next.hasAttribute(name) || name === "open" || name === "style") continue;
    old.removeAttribute(name);
    if (ENTERED.includes(name)) old[name] = name === "value" ? "" : false;
  }
  // The content security policy forbids the attribute, but not the property.
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  for (const name of HANDLERS) if (old[name] !== next[name]) old[name] = next[name];
}

function morphChildren(old, next) {
  const wanted = new Set([...next.childNodes].map(keyOf));
  for (const child of [...old.childNodes]) {
    if (keyOf(child) !== undefined && !wanted.has(keyOf(child))) child.remove();
  }
  const keyed = new Map([...old.childNodes].map((child) => [keyOf(child), child]));
  let position = old.firstChild;
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    let match = key === undefined ? position : keyed.get(key);
    if (match && key === undefined && keyOf(match) !== undefined) match = undefined;
    if (!match) {
      old.insertBefore(child, position);
      continue;
    }
    // Moved only if necessary: a moved element loses the focus.
    if (match !== position) old.insertBefore(match, position);
    else position = position.nextSibling;
    morph(match, child);
  }
  while (position) {
    const after = position.nextSibling;
    position.remove();
    position = after;
  }
}

function keyOf(node) {
  return node.dataset?.key;
}
