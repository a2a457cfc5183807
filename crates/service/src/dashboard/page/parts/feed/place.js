// Where the reader of a list is: at its end, which stays visible, or at an item, which stays where it is.

/** How far from the end a reader still counts as being there, in pixels. */
const END = 40;

/**
 * The place of the reader in a scrolling box. `firstVisible` returns the first item that is visible, and
 * `scrolled(isAtEnd)` is called after the user has scrolled.
 */
export function placeIn(box, { firstVisible, scrolled }) {
  /** Whether the end stays visible when something is added. */
  let isPinned = true;
  let lastTop = 0;
  /** The scroll position that this module has set; any other one comes from the user. */
  let ownTop = null;
  /** The first visible item and where it is in the box, while the box has this width. */
  let seen = null;
  let width = 0;

  const isAtEnd = () => box.scrollTop + box.clientHeight >= box.scrollHeight - END;

  function scrollTo(top) {
    box.scrollTop = top;
    ownTop = box.scrollTop;
  }

  const topOf = (item) => item.getBoundingClientRect().top - box.getBoundingClientRect().top;

  function remember() {
    // The box has another width, and `resized` is called after this.
    if (box.clientWidth !== width) return;
    const item = firstVisible();
    seen = item ? { item, top: topOf(item) } : null;
  }

  /** Scrolls to a place that the reader has chosen, which is the one to keep, even if a change of the size is still to be noticed. */
  function goTo(top) {
    isPinned = false;
    scrollTo(top);
    width = box.clientWidth;
    remember();
  }

  /** Keeps the place in a box of another size: text that is broken into other lines moves what is below it. */
  function resized() {
    if (box.clientHeight === 0) return;
    width = box.clientWidth;
    if (isPinned) scrollTo(box.scrollHeight);
    else if (seen?.item.isConnected) scrollTo(box.scrollTop + topOf(seen.item) - seen.top);
  }

  new ResizeObserver(resized).observe(box);

  /** Notices where the user has scrolled to. */
  function notice() {
    // A hidden list is reported to be at its top.
    if (box.clientHeight === 0) return;
    lastTop = box.scrollTop;
    remember();
    if (ownTop !== null && Math.abs(box.scrollTop - ownTop) < 2) return;
    ownTop = null;
    isPinned = isAtEnd();
    scrolled(isPinned);
  }

  box.addEventListener("scroll", notice, { passive: true });

  /** Notices a scroll whose event has not come yet: it comes with the next frame, which may be late. */
  function noticeEarly() {
    if (ownTop !== null) notice();
  }

  function keepEnd() {
    noticeEarly();
    if (isPinned) scrollTo(box.scrollHeight);
  }

  /** Changes the list, and keeps what the user looks at where it is. */
  function keep(change) {
    noticeEarly();
    const anchor = isPinned ? null : firstVisible();
    const before = anchor?.getBoundingClientRect().top;
    change();
    if (isPinned) return scrollTo(box.scrollHeight);
    if (!anchor?.isConnected) return;
    const moved = anchor.getBoundingClientRect().top - before;
    if (moved !== 0) scrollTo(box.scrollTop + moved);
  }

  /** Scrolls to where the list was before it was hidden. */
  function restore() {
    scrollTo(isPinned ? box.scrollHeight : lastTop);
  }

  return {
    isAtEnd,
    isPinned: () => isPinned,
    toEnd() {
      isPinned = true;
      scrollTo(box.scrollHeight);
    },
    leaveEnd() {
      isPinned = false;
    },
    goTo,
    keepEnd,
    keep,
    restore,
  };
}
