// A list of any length in a box of its own: only what is near the visible part is in the page. The list is cut
// into chunks; a chunk that is far away is an empty element of about the same height.

import { h } from "../dom.js";

const CHUNK = 20;
/** How far outside the visible part chunks are filled, in pixels. */
const MARGIN = 1_200;
/** A list of at most this many items is filled whole, so that the browser's own search finds everything. */
const MAX_WHOLE = 200;
/** At most this many chunks stay filled. */
const MAX_FILLED = 24;
/** Longest time in which items are made before the browser may draw, in milliseconds. */
const SLICE_MS = 8;
/** The height of an item that was never in the page, in pixels. */
const GUESS = 88;

/**
 * `load(first, end)` resolves with the items of that range, `render(item)` makes an element with the item's index
 * as `data-sequence`, `scrolled(isAtEnd)` is called after the user has scrolled.
 */
export function feed({ label, load, render, scrolled, failed, signal }) {
  const box = h("div", { class: "feed", role: "feed", "aria-label": label, tabindex: "0" });
  const tail = h("div", { class: "feed-tail" });
  box.append(tail);
  const chunks = [];
  const near = new Set();
  let count = 0;
  let isFilling = false;
  /** Whether the end stays visible when something is added. */
  let isPinned = true;
  let lastTop = 0;
  /** The scroll position that this module has set; any other one comes from the user. */
  let ownTop = null;
  let measured = { items: 0, height: 0 };

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

  const isAtEnd = () => box.scrollTop + box.clientHeight >= box.scrollHeight - 40;

  function scrollTo(top) {
    box.scrollTop = top;
    ownTop = box.scrollTop;
  }

  box.addEventListener(
    "scroll",
    () => {
      // A hidden list is reported to be at its top.
      if (box.clientHeight === 0) return;
      lastTop = box.scrollTop;
      if (ownTop !== null && Math.abs(box.scrollTop - ownTop) < 2) return;
      ownTop = null;
      isPinned = isAtEnd();
      scrolled(isPinned);
    },
    { passive: true },
  );

  /** Sets the number of items; those that are new are added at the end. */
  function setCount(next) {
    const lastBefore = Math.max(0, chunks.length - 1);
    count = next;
    while (chunks.length * CHUNK < count) {
      const element = h("div", { class: "chunk", "data-chunk": chunks.length });
      chunks.push({ element, isFilled: false });
      tail.before(element);
      observer.observe(element);
    }
    for (let index = lastBefore; index < chunks.length; index += 1) {
      const chunk = chunks[index];
      if (!chunk.isFilled) chunk.element.style.height = `${guess(index)}px`;
      else if (chunk.shown < size(index)) chunk.isStale = true;
    }
    keepEnd();
    fill();
  }

  const size = (index) => Math.min(CHUNK, count - index * CHUNK);
  const average = () => (measured.items > 0 ? measured.height / measured.items : GUESS);
  const guess = (index) => chunks[index].height ?? Math.round(average() * size(index));
  const keepEnd = () => isPinned && scrollTo(box.scrollHeight);

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
    const isWhole = count <= MAX_WHOLE;
    const open = (isWhole ? [...chunks.keys()] : [...near]).filter(
      (index) => !chunks[index].isFilled || chunks[index].isStale,
    );
    const middle = visibleChunk();
    return open.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  }

  function visibleChunk() {
    if (isPinned) return chunks.length - 1;
    return chunkAt(box.scrollTop + box.clientHeight / 2);
  }

  /** The chunk at a height of the list. */
  function chunkAt(top) {
    let [low, high] = [0, chunks.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offsetTop, offsetHeight } = chunks[middle].element;
      if (offsetTop + offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    return Math.max(0, low);
  }

  async function fillChunk(index) {
    const chunk = chunks[index];
    const first = index * CHUNK;
    chunk.isStale = false;
    const items = await load(first, first + size(index));
    if (signal.aborted) return;
    const elements = [];
    let since = performance.now();
    for (const item of items) {
      const old = chunk.isFilled && chunk.element.children[item.sequence - first];
      elements.push(old || render(item));
      if (performance.now() - since < SLICE_MS) continue;
      await frame();
      since = performance.now();
    }
    keepPlace(() => {
      chunk.element.style.height = "";
      if (chunk.isFilled) chunk.element.append(...elements.slice(chunk.element.children.length));
      else chunk.element.replaceChildren(...elements);
    });
    chunk.isFilled = true;
    chunk.shown = items.length;
    measured = {
      items: measured.items + items.length,
      height: measured.height + chunk.element.offsetHeight,
    };
    await frame();
  }

  /** Changes the list, and keeps what the user looks at where it is. */
  function keepPlace(change) {
    const anchor = isPinned ? null : firstVisible();
    const before = anchor?.getBoundingClientRect().top;
    change();
    if (isPinned) return keepEnd();
    if (!anchor?.isConnected) return;
    const moved = anchor.getBoundingClientRect().top - before;
    if (moved !== 0) scrollTo(box.scrollTop + moved);
  }

  function firstVisible() {
    const top = box.getBoundingClientRect().top;
    const first = chunkAt(box.scrollTop);
    // A box shows parts of a few chunks only.
    for (const { element } of chunks.slice(first, first + 4)) {
      for (const item of element.children) {
        if (item.getBoundingClientRect().bottom > top) return item;
      }
    }
    return null;
  }

  /** Empties the chunks that are farthest away, if there are too many. */
  function empty() {
    if (count <= MAX_WHOLE) return;
    const filled = [...chunks.keys()].filter((index) => chunks[index].isFilled);
    if (filled.length <= MAX_FILLED) return;
    const middle = visibleChunk();
    filled.sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const index of filled.slice(0, filled.length - MAX_FILLED)) {
      const chunk = chunks[index];
      if (near.has(index) || chunk.element.contains(document.activeElement)) continue;
      chunk.height = chunk.element.offsetHeight;
      chunk.element.style.height = `${chunk.height}px`;
      chunk.element.replaceChildren();
      chunk.isFilled = false;
    }
  }

  const find = (index) => box.querySelector(`[data-sequence="${index}"]`);

  /** Renders an item again, if it is in the page. */
  function update(item) {
    const old = find(item.sequence);
    if (!old) return;
    const hadFocus = old.contains(document.activeElement);
    const opened = [...old.querySelectorAll("details")].map(({ open }) => open);
    const element = render(item);
    // What the user has opened stays open if the item has the same parts.
    const folds = element.querySelectorAll("details");
    if (folds.length === opened.length) folds.forEach((fold, at) => (fold.open = opened[at]));
    keepPlace(() => old.replaceWith(element));
    if (hadFocus) element.focus({ preventScroll: true });
  }

  /** Scrolls to an item, loads it if necessary, and returns its element. */
  async function show(index) {
    isPinned = false;
    const at = Math.floor(index / CHUNK);
    if (!chunks[at]) return null;
    scrollTo(chunks[at].element.offsetTop);
    // The chunks around it must be there before it can be put into its place.
    for (const near of [at, at - 1, at + 1]) {
      if (chunks[near] && !chunks[near].isFilled) await fillChunk(near);
    }
    const element = find(index);
    if (!element) return null;
    const above = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
    const room = Math.max(0, (box.clientHeight - element.offsetHeight) / 3);
    scrollTo(box.scrollTop + above - room);
    return element;
  }

  /** Scrolls to where the list was before it was hidden. */
  function restore() {
    if (isPinned) keepEnd();
    else scrollTo(lastTop);
  }

  function toEnd() {
    isPinned = true;
    keepEnd();
    fill();
  }

  box.addEventListener("keydown", (event) => {
    const item = document.activeElement?.closest("[data-sequence]");
    // As the ARIA pattern of a feed has it; without an item in focus the keys scroll.
    const step = { PageDown: 1, PageUp: -1, j: 1, k: -1 }[event.key];
    if (
      !step ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /INPUT|TEXTAREA/.test(event.target.tagName)
    )
      return;
    if (!item && event.key.length > 1) return;
    const from = item
      ? Number(item.dataset.sequence)
      : Number(firstVisible()?.dataset.sequence ?? 0) - step;
    const to = find(from + step);
    if (!to) return;
    event.preventDefault();
    isPinned = false;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  });

  return { box, tail, setCount, update, show, restore, toEnd, keepEnd, isAtEnd };
}

const frame = () =>
  new Promise((resolve) =>
    document.hidden ? setTimeout(resolve) : requestAnimationFrame(resolve),
  );
