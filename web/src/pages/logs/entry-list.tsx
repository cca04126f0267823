import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dayAndTime, type Entry, entryTone } from "../../list/entry.ts";
import { createVirtualList, type Row, type VirtualList } from "../../list/virtual-list.ts";
import { texts } from "../../texts/logs.ts";
import type { LogView } from "./view.ts";

const rowHeights = { wide: 22, narrow: 42 };
const narrow = matchMedia("(max-width: 760px)");

/** What moves the list, for the keys. */
export interface ListControl {
  readonly selected: () => number | undefined;
  readonly select: (index: number) => void;
  /** Shows an entry that may not be kept, and selects it. @returns whether the list has it. */
  readonly find: (cursor: string) => Promise<boolean>;
  readonly toEnd: () => void;
  readonly isAtEnd: () => boolean;
  readonly seen: () => readonly [number, number];
  readonly box: HTMLElement;
}

export interface EntryListProps {
  readonly view: LogView;
  readonly isLive: boolean;
  readonly onControl: (control: ListControl | undefined) => void;
  readonly onSelect: (entry: Entry) => void;
  readonly onOpen: (entry: Entry) => void;
  /** How many entries have come since the end was seen. */
  readonly onUnseen: (count: number) => void;
}

function textIn(parent: HTMLElement, name: string): Text {
  const element = document.createElement("span");
  element.className = name;
  const text = document.createTextNode("");
  element.append(text);
  parent.append(element);
  return text;
}

/** Says something only where it is something else: most rows stay as they are. */
const say = (text: Text, value: string): void => {
  if (text.data !== value) text.data = value;
};

interface RowMaker {
  readonly view: LogView;
  readonly selected: () => number | undefined;
  readonly onClick: (index: number) => void;
}

let rows = 0;

function makeRow({ view, selected, onClick }: RowMaker): Row {
  const element = document.createElement("div");
  element.setAttribute("role", "option");
  rows += 1;
  element.id = `log-row-${rows}`;
  const [day, time, priority, unit, message] = ["day", "time", "priority", "unit", "message"].map((name) =>
    textIn(element, `log-${name}`),
  ) as [Text, Text, Text, Text, Text];
  let at = 0;
  let present: Entry | undefined;
  element.addEventListener("click", () => onClick(at));
  return {
    element,
    show(index) {
      at = index;
      const entry = view.entries.at(index);
      const isSelected = selected() === index;
      element.setAttribute("aria-posinset", String(index + 1));
      element.setAttribute("aria-setsize", String(view.entries.total));
      element.setAttribute("aria-selected", String(isSelected));
      if (entry === present && entry !== undefined) return;
      present = entry;
      element.className = `log-row ${entry === undefined ? "" : entryTone(entry.priority)}`;
      const [date, clock] = entry === undefined ? ["", ""] : dayAndTime(entry.timestamp);
      say(day, date);
      say(time, clock);
      say(priority, entry === undefined ? "" : (texts.priorities[entry.priority] ?? ""));
      say(unit, entry === undefined ? "" : entry.unit || entry.identifier);
      say(message, entry?.message ?? texts.loadingRow);
    },
  };
}

/** The rows of a view in a box, and what moves them. */
function mount(box: HTMLElement, rowHeight: number, props: () => EntryListProps) {
  const { view } = props();
  let selected: number | undefined;
  /** How many there were when the end was seen. */
  let seenTotal = 0;
  let unseen = 0;

  const select = (index: number, isOpened = false): void => {
    const { total } = view.entries;
    if (total === 0) return;
    selected = Math.min(total - 1, Math.max(0, index));
    list.reveal(selected, "nearest");
    list.refresh();
    const entry = view.entries.at(selected);
    if (entry === undefined) return;
    if (isOpened) props().onOpen(entry);
    else props().onSelect(entry);
  };
  const mark = (): void => {
    const element = selected === undefined ? undefined : list.elementOf(selected);
    if (element === undefined) box.removeAttribute("aria-activedescendant");
    else if (box.getAttribute("aria-activedescendant") !== element.id)
      box.setAttribute("aria-activedescendant", element.id);
  };
  const countUnseen = (): void => {
    if (list.isAtEnd()) seenTotal = view.entries.total;
    const now = view.entries.total - seenTotal;
    if (now === unseen) return;
    unseen = now;
    props().onUnseen(now);
  };
  const list: VirtualList = createVirtualList({
    box,
    rowHeight,
    selected: () => selected,
    makeRow: () => makeRow({ view, selected: () => selected, onClick: (index) => select(index, true) }),
    onMove: (first, last) => {
      view.entries.need(first, last);
      // Called while the list is made, too.
      if (seenTotal === 0) return;
      mark();
      countUnseen();
    },
  });
  const change = (shift: number): void => {
    const wasAtEnd = list.isAtEnd();
    if (selected !== undefined) selected += shift;
    seenTotal = seenTotal === 0 ? view.entries.total : seenTotal + shift;
    list.setTotal(view.entries.total);
    if (shift !== 0) list.shift(shift);
    else if (wasAtEnd) list.toEnd();
    list.refresh();
  };
  view.watch({ onChange: change, onMiss: (index) => list.reveal(index, "nearest") });
  if (view.entries.total > 0) change(0);

  const control: ListControl = {
    selected: () => selected,
    select,
    async find(cursor) {
      const found = await view.entries.find(cursor);
      if (found === undefined) return false;
      [selected] = found;
      list.setTotal(view.entries.total);
      list.reveal(selected, "middle");
      list.refresh();
      return true;
    },
    toEnd: () => list.toEnd(),
    isAtEnd: () => list.isAtEnd(),
    seen: () => list.seen(),
    box,
  };
  return { control, end: () => list.end() };
}

/** A million entries, of which some tens are elements of the page. */
export function EntryList(props: EntryListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const { view } = props;
  // At once: a key that comes before it would move the list of the view before.
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let mounted: ReturnType<typeof mount> | undefined;
    const begin = (): void => {
      mounted?.end();
      mounted = mount(element, narrow.matches ? rowHeights.narrow : rowHeights.wide, () => latest.current);
      latest.current.onControl(mounted.control);
    };
    begin();
    narrow.addEventListener("change", begin);
    return () => {
      narrow.removeEventListener("change", begin);
      latest.current.onControl(undefined);
      mounted?.end();
    };
  }, [view]);
  return <div ref={box} class="log-list" role="listbox" tabIndex={0} aria-label={texts.list} />;
}
