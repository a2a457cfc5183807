// The chunks of a list: elements that hold some items each, or are empty and about as high as these.

import { h } from "../../dom.js";

export const CHUNK = 20;
/** The height of an item that was never in the page, in pixels. */
const GUESS = 88;

export class Chunks {
  #all = [];
  #count = 0;
  #measured = { items: 0, height: 0 };

  get count() {
    return this.#count;
  }

  get last() {
    return this.#all.length - 1;
  }

  has(index) {
    return index in this.#all;
  }

  element(index) {
    return this.#all[index].element;
  }

  /** How many items a chunk has. */
  size(index) {
    return Math.min(CHUNK, this.#count - index * CHUNK);
  }

  /** Sets the number of items; returns the elements of the chunks that are new. */
  grow(count) {
    const lastBefore = Math.max(0, this.last);
    const added = [];
    this.#count = count;
    while (this.#all.length * CHUNK < count) {
      const element = h("div", { class: "chunk", "data-chunk": this.#all.length });
      this.#all.push({
        element,
        isFilled: false,
        isStale: false,
        asked: 0,
        shown: 0,
        height: null,
      });
      added.push(element);
    }
    for (let index = lastBefore; index < this.#all.length; index += 1) {
      const chunk = this.#all[index];
      if (!chunk.isFilled) chunk.element.style.height = `${this.#guess(index)}px`;
      // Also of a chunk that is being filled for the first time: it is without what is added now.
      if (chunk.asked < this.size(index)) chunk.isStale = true;
    }
    return added;
  }

  #guess(index) {
    const { items, height } = this.#measured;
    const average = items > 0 ? height / items : GUESS;
    return this.#all[index].height ?? Math.round(average * this.size(index));
  }

  isFilled(index) {
    return this.#all[index].isFilled;
  }

  /** Whether a chunk is empty, or was filled when it had fewer items. */
  isOpen(index) {
    const { isFilled, isStale } = this.#all[index];
    return !isFilled || isStale;
  }

  /** Notes that a chunk is being filled: items that are added from now on make it stale again. */
  begin(index) {
    Object.assign(this.#all[index], { isStale: false, asked: this.size(index) });
  }

  /** Returns the element of an item that a chunk has, by its position in the chunk. */
  item(index, position) {
    const { isFilled, element } = this.#all[index];
    return (isFilled && element.children[position]) || null;
  }

  /** Fills a chunk with the elements of its items; those that it has are among them. */
  fill(index, elements) {
    const chunk = this.#all[index];
    chunk.element.style.height = "";
    if (chunk.isFilled) chunk.element.append(...elements.slice(chunk.element.children.length));
    else chunk.element.replaceChildren(...elements);
    Object.assign(chunk, { isFilled: true, shown: elements.length });
  }

  /** Learns from the height of a filled chunk how high others may be. */
  measure(index) {
    const { element, shown } = this.#all[index];
    this.#measured.items += shown;
    this.#measured.height += element.offsetHeight;
  }

  /** Empties the chunks that are farthest from one, until so many are left; `keeps(index, element)` says which stay. */
  emptyFarFrom(middle, most, keeps) {
    const filled = [...this.#all.keys()].filter((index) => this.#all[index].isFilled);
    if (filled.length <= most) return;
    filled.sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const index of filled.slice(0, filled.length - most)) {
      const chunk = this.#all[index];
      if (keeps(index, chunk.element)) continue;
      chunk.height = chunk.element.offsetHeight;
      chunk.element.style.height = `${chunk.height}px`;
      chunk.element.replaceChildren();
      chunk.isFilled = false;
    }
  }

  /** The chunk at a height of the list. */
  at(top) {
    let [low, high] = [0, this.last];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offsetTop, offsetHeight } = this.#all[middle].element;
      if (offsetTop + offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    return Math.max(0, low);
  }

  /** The first item that reaches below the upper edge of a scrolling box; null if none is filled there. */
  firstVisible(box) {
    const { top } = box.getBoundingClientRect();
    const first = this.at(box.scrollTop);
    // A box shows parts of a few chunks only.
    for (const { element } of this.#all.slice(first, first + 4)) {
      for (const item of element.children) {
        if (item.getBoundingClientRect().bottom > top) return item;
      }
    }
    return null;
  }
}
