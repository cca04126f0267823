/** Browsers take no higher element than some 17 million pixels. */
const mostPixels = 8_000_000;
/** Rows beyond both edges of the window. */
const spare = 4;
/** A move of the bar that is longer than so many windows leads to another place; a shorter one moves by pixels. */
const longMove = 2;
const settledMs = 150;

/** A row that is made once and shows one entry after another. */
export interface Row {
  readonly element: HTMLElement;
  readonly show: (index: number) => void;
}

export interface VirtualListOptions {
  /** What scrolls. */
  readonly box: HTMLElement;
  readonly rowHeight: number;
  readonly makeRow: () => Row;
  /** Called after each move, with the rows that are seen. */
  readonly onMove: (first: number, last: number) => void;
  /** The entry that stays in sight when the window becomes lower. */
  readonly selected: () => number | undefined;
}

/** A list of any length of which only the rows exist that are seen. */
export interface VirtualList {
  readonly setTotal: (total: number) => void;
  /** Shows all rows again. */
  readonly refresh: () => void;
  readonly reveal: (index: number, place: "nearest" | "middle") => void;
  readonly toEnd: () => void;
  readonly isAtEnd: () => boolean;
  /** Entries were put in before all others, or taken away: what is seen stays. */
  readonly shift: (count: number) => void;
  readonly seen: () => readonly [first: number, last: number];
  /** The element of an entry, where it has one. */
  readonly elementOf: (index: number) => HTMLElement | undefined;
  readonly end: () => void;
}

interface Slot extends Row {
  index: number;
  top: number;
}

/**
 * Makes a list in a box. Up to eight million pixels the bar of the box is the place in the list; beyond, small moves are taken pixel
 * by pixel, long ones in proportion.
 */
export function createVirtualList(options: VirtualListOptions): VirtualList {
  const { box, rowHeight, makeRow, onMove } = options;
  const spacer = document.createElement("div");
  spacer.setAttribute("role", "presentation");
  spacer.className = "spacer-rows";
  box.append(spacer);

  let slots: Slot[] = [];
  let total = 0;
  /** Height of the window. */
  let height = box.clientHeight;
  /** The place in the list, in pixels of a list as high as all its rows. */
  let top = 0;
  /** The place of the bar that belongs to it. */
  let bar = 0;
  let frame: number | undefined;
  let settled: ReturnType<typeof setTimeout> | undefined;

  const wholeHeight = (): number => total * rowHeight;
  const lowest = (): number => Math.max(0, wholeHeight() - height);
  const isScaled = (): boolean => wholeHeight() > mostPixels;
  const lowestBar = (): number => Math.max(0, Math.min(wholeHeight(), mostPixels) - height);
  const barOf = (place: number): number => (isScaled() ? (place / lowest()) * lowestBar() : place);
  const seen = (): readonly [number, number] => [
    Math.min(total, Math.floor(top / rowHeight)),
    Math.min(total, Math.ceil((top + height) / rowHeight)) - 1,
  ];

  const place = (slot: Slot, index: number, isAnew: boolean): void => {
    const y = bar + index * rowHeight - top;
    if (slot.index !== index || isAnew) {
      slot.index = index;
      slot.element.hidden = index >= total;
      if (index < total) slot.show(index);
    }
    if (slot.top === y) return;
    slot.top = y;
    slot.element.style.transform = `translateY(${y}px)`;
  };
  const paint = (isAnew = false): void => {
    const count = slots.length;
    if (count === 0) return;
    const first = Math.max(0, Math.floor(top / rowHeight) - spare);
    for (let index = first; index < first + count; index += 1) {
      const slot = slots[index % count];
      if (slot !== undefined) place(slot, index, isAnew);
    }
    onMove(...seen());
  };

  /** Puts the bar where the place is. */
  const sync = (): void => {
    box.scrollTop = barOf(top);
    bar = isScaled() ? box.scrollTop : top;
  };
  const moveTo = (wanted: number, isAnew = false): void => {
    top = Math.min(lowest(), Math.max(0, wanted));
    sync();
    paint(isAnew);
  };

  const settle = (): void => {
    if (!isScaled()) return;
    sync();
    paint();
  };
  const move = (): void => {
    frame = undefined;
    const now = box.scrollTop;
    if (!isScaled()) {
      top = now;
      bar = now;
      paint();
      return;
    }
    const by = now - bar;
    if (by === 0) return;
    const isLong = Math.abs(by) > longMove * height;
    if (isLong) top = now <= 0 ? 0 : now >= lowestBar() - 1 ? lowest() : (now / lowestBar()) * lowest();
    else top = Math.min(lowest(), Math.max(0, top + by));
    bar = now;
    const hasHitEnd = (now <= 0 && top > 0) || (now >= lowestBar() - 1 && top < lowest());
    if (hasHitEnd) sync();
    paint();
    clearTimeout(settled);
    settled = setTimeout(settle, settledMs);
  };
  const onScroll = (): void => {
    frame ??= requestAnimationFrame(move);
  };
  box.addEventListener("scroll", onScroll, { passive: true });

  /** Makes as many rows as the window needs. */
  const makeRows = (): void => {
    const wanted = Math.ceil(height / rowHeight) + 1 + 2 * spare;
    while (slots.length < wanted) {
      const row = makeRow();
      row.element.hidden = true;
      spacer.append(row.element);
      slots.push({ ...row, index: -1, top: Number.NaN });
    }
    for (const { element } of slots.splice(wanted)) element.remove();
  };
  const isAtEnd = (): boolean => top >= lowest() - rowHeight / 2;
  const reveal = (index: number): void => {
    const at = index * rowHeight;
    if (at < top) moveTo(at);
    else if (at + rowHeight > top + height) moveTo(at + rowHeight - height);
    else paint();
  };
  const resize = new ResizeObserver(() => {
    const wasAtEnd = isAtEnd();
    const kept = options.selected();
    const [first, last] = seen();
    height = box.clientHeight;
    makeRows();
    moveTo(wasAtEnd ? lowest() : top, true);
    if (kept !== undefined && kept >= first && kept <= last) reveal(kept);
  });
  resize.observe(box);
  makeRows();

  return {
    setTotal(count) {
      if (count === total) return;
      total = count;
      spacer.style.height = `${Math.min(wholeHeight(), mostPixels)}px`;
      if (top > lowest()) moveTo(top, true);
      else paint(true);
    },
    refresh: () => paint(true),
    reveal(index, where) {
      if (where === "middle") moveTo(index * rowHeight - (height - rowHeight) / 2);
      else reveal(index);
    },
    toEnd: () => moveTo(lowest()),
    isAtEnd,
    shift: (count) => moveTo(top + count * rowHeight, true),
    seen,
    elementOf: (index) => slots.find((slot) => slot.index === index)?.element,
    end() {
      resize.disconnect();
      box.removeEventListener("scroll", onScroll);
      if (frame !== undefined) cancelAnimationFrame(frame);
      clearTimeout(settled);
      spacer.remove();
      slots = [];
    },
  };
}
