// Builds elements, and brings a tree that is shown up to date with a new one.
//
// Text only ever becomes a text node: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element; a child that is null, undefined or false is left out. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an element of a picture. */
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

const HANDLERS = ["onclick", "onsubmit", "onpointermove", "onpointerleave"];

/**
 * Changes `old` into `next`, keeping every element that is still meant, and with it focus, selection
 * and scroll position. Siblings with `data-key` are matched by it, all others by their place. What is
 * inside an element with `data-kept` is its own business.
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

function morphAttributes(old, next) {
  for (const { name, value } of next.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // Whether details are open is up to the reader.
    if (!next.hasAttribute(name) && name !== "open" && name !== "style") old.removeAttribute(name);
  }
  // The page's policy forbids the attribute, not the property.
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  for (const name of HANDLERS) if (old[name] !== next[name]) old[name] = next[name];
}

function morphChildren(old, next) {
  const wanted = new Set([...next.childNodes].map(keyOf));
  for (const child of [...old.childNodes]) {
    if (keyOf(child) !== undefined && !wanted.has(keyOf(child))) child.remove();
  }
  const keyed = new Map([...old.childNodes].map((child) => [keyOf(child), child]));
  let place = old.firstChild;
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    let match = key === undefined ? place : keyed.get(key);
    if (match && key === undefined && keyOf(match) !== undefined) match = undefined;
    if (!match) {
      old.insertBefore(child, place);
      continue;
    }
    // Moved only where it has to be: a moved element loses the focus.
    if (match !== place) old.insertBefore(match, place);
    else place = place.nextSibling;
    morph(match, child);
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

function keyOf(node) {
  return node.dataset?.key;
}
