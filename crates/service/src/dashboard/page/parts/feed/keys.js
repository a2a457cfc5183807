// The keys that lead from item to item in a list.

const STEPS = { PageDown: 1, PageUp: -1, j: 1, k: -1 };

/** Makes keys move the focus, as the ARIA pattern of a feed has it; without an item in focus the keys scroll. */
export function listenForKeys(box, { find, firstVisible, moved }) {
  box.addEventListener("keydown", (event) => {
    const item = document.activeElement?.closest("[data-sequence]");
    const step = STEPS[event.key];
    const isTyping = /INPUT|TEXTAREA/.test(event.target.tagName);
    if (!step || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!item && event.key.length > 1) return;
    const from = item
      ? Number(item.dataset.sequence)
      : Number(firstVisible()?.dataset.sequence ?? 0) - step;
    const to = find(from + step);
    if (!to) return;
    event.preventDefault();
    moved();
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  });
}
