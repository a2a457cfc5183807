// A list of any length in a box of its own: only what is near the visible part is in the page. The list is cut
// into chunks; a chunk that is far away is an empty element of about the same height.

import { h } from "../dom.js";
import { CHUNK, Chunks } from "./feed/chunks.js";
import { listenForKeys } from "./feed/keys.js";
import { placeIn } from "./feed/place.js";

/** How far outside the visible part chunks are filled, in pixels. */
const MARGIN = 1_200;
/** A list of at most this many items is filled whole, so that the browser's own search finds everything. */
const MAX_WHOLE = 200;
/** At most this many chunks stay filled. */
const MAX_FILLED = 24;
/** Longest time in which items are made before the browser may draw, in milliseconds. */
const SLICE_MS = 8;
/** Longest wait for the browser to draw: a window that is covered is not drawn, and need not be hidden. */
const FRAME_MS = 100;

/**
 * `load(first, end)` resolves with the items of that range, `render(item)` makes an element with the item's index
 * as `data-sequence`, `scrolled(isAtEnd)` is called after the user has scrolled.
 */
export function feed({ label, load, render, scrolled, failed, signal }) {
  const box = h("div", { class: "feed", role: "feed", "aria-label": label, tabindex: "0" });
  const tail = h("div", { class: "feed-tail" });
  box.append(tail);
  const chunks = new Chunks();
  const near = new Set();
  /** For each chunk that is being filled, the items that have changed since. */
  const changing = new Set();
  let isFilling = false;
  let isEmpty = true;
  const find = (index) => box.querySelector(`[data-sequence="${index}"]`);
  const firstVisible = () => chunks.firstVisible(box);
  const place = placeIn(box, { firstVisible, scrolled });
  listenForKeys(box, { find, firstVisible, moved: place.leaveEnd });

  const observer = new IntersectionObserver(
    (entries) => {
      if (box.clientHeight === 0) return;
      for (const { target, isIntersecting } of entries) {
        const index = Number(target.dataset.chunk);
        if (isIntersecting) near.add(index);
        else near.delete(index);
      }
      fill();
    },
    { root: box, rootMargin: `${MARGIN}px 0px` },
  );
  signal.addEventListener("abort", () => observer.disconnect());

  /** Sets the number of items; those that are new are added at the end. */
  function setCount(count) {
    for (const element of chunks.grow(count)) {
      tail.before(element);
      observer.observe(element);
    }
    place.keepEnd();
    fill();
  }

  /** Fills the chunks that are near, the nearest first, until none is left. */
  async function fill() {
    if (isFilling) return;
    isFilling = true;
    try {
      for (let index = next(); index !== undefined && !signal.aborted; index = next()) {
        await fillChunk(index);
        empty();
      }
    } catch (problem) {
      if (!signal.aborted) failed(problem);
    }
    isFilling = false;
  }

  function next() {
    const isWhole = chunks.count <= MAX_WHOLE;
    const wanted = isWhole
      ? Array.from({ length: chunks.last + 1 }, (_, index) => index)
      : [...near];
    const middle = visibleChunk();
    return wanted
      .filter((index) => chunks.isOpen(index))
      .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  }

  function visibleChunk() {
    if (place.isPinned()) return chunks.last;
    return chunks.at(box.scrollTop + box.clientHeight / 2);
  }

  async function fillChunk(index) {
    const first = index * CHUNK;
    chunks.begin(index);
    const changed = new Map();
    changing.add(changed);
    try {
      const items = await load(first, first + chunks.size(index));
      if (signal.aborted) return;
      const elements = await make(index, items);
      const current = (it, at) =>
        changed.has(it.sequence) ? render(changed.get(it.sequence)) : elements[at];
      place.keep(() => chunks.fill(index, items.map(current)));
    } finally {
      changing.delete(changed);
    }
    isEmpty = false;
    chunks.measure(index);
    await frame();
  }

  /** Returns the elements of the items of a chunk. */
  async function make(index, items) {
    // While the list is empty, nothing can stall: the first chunk is shown as soon as it is made.
    const slice = isEmpty ? Infinity : SLICE_MS;
    const elements = [];
    let since = performance.now();
    for (const item of items) {
      elements.push(chunks.item(index, item.sequence - index * CHUNK) ?? render(item));
      if (performance.now() - since < slice) continue;
      await frame();
      since = performance.now();
    }
    return elements;
  }

  /** Empties the chunks that are farthest away, if there are too many. */
  function empty() {
    if (chunks.count <= MAX_WHOLE) return;
    chunks.emptyFarFrom(
      visibleChunk(),
      MAX_FILLED,
      (index, element) => near.has(index) || element.contains(document.activeElement),
    );
  }

  /** Renders an item again, if it is in the page. */
  function update(item) {
    for (const changed of changing) changed.set(item.sequence, item);
    const old = find(item.sequence);
    if (!old) return;
    const hadFocus = old.contains(document.activeElement);
    const opened = [...old.querySelectorAll("details")].map(({ open }) => open);
    const element = render(item);
    // What the user has opened stays open if the item has the same parts.
    const folds = element.querySelectorAll("details");
    if (folds.length === opened.length) folds.forEach((fold, at) => (fold.open = opened[at]));
    place.keep(() => old.replaceWith(element));
    if (hadFocus) element.focus({ preventScroll: true });
  }

  /** Scrolls to an item, loads it if necessary, and returns its element. */
  async function show(index) {
    const at = Math.floor(index / CHUNK);
    if (!chunks.has(at)) return null;
    place.goTo(chunks.element(at).offsetTop);
    // The chunks around it must be there before it can be put into its place.
    for (const around of [at, at - 1, at + 1]) {
      if (chunks.has(around) && !chunks.isFilled(around)) await fillChunk(around);
    }
    const element = find(index);
    if (!element) return null;
    const above = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
    const room = Math.max(0, (box.clientHeight - element.offsetHeight) / 3);
    place.goTo(box.scrollTop + above - room);
    return element;
  }

  function toEnd() {
    place.toEnd();
    fill();
  }

  const { restore, keepEnd, isAtEnd } = place;
  return { box, tail, setCount, update, show, restore, toEnd, keepEnd, isAtEnd };
}

const frame = () =>
  new Promise((resolve) => {
    if (document.hidden) return setTimeout(resolve);
    requestAnimationFrame(resolve);
    setTimeout(resolve, FRAME_MS);
  });
