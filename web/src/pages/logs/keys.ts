import type { ListControl } from "./entry-list.tsx";
import { searchField } from "./toolbar.tsx";

export interface KeyActions {
  readonly list: () => ListControl | undefined;
  readonly total: () => number;
  readonly onOpen: () => void;
  readonly onClose: () => void;
  readonly onFollow: () => void;
  readonly onHelp: () => void;
  readonly onError: (direction: "asc" | "desc") => void;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest("input:not([type=checkbox]), select, textarea, dialog") !== null;

function moveBy(list: ListControl, by: number): void {
  const [first, last] = list.seen();
  const from = list.selected();
  list.box.focus({ preventScroll: true });
  // Begins with what is seen: the newest one, or the last above it.
  if (from === undefined) list.select(by > 0 ? first : last);
  else list.select(from + by);
}

/** What a key does wherever the focus is. @returns whether it does something. */
function everywhere(key: string, actions: KeyActions): boolean {
  const list = actions.list();
  switch (key) {
    case "/":
      document.getElementById(searchField)?.focus();
      return true;
    case "j":
    case "k":
      if (list !== undefined) moveBy(list, key === "j" ? 1 : -1);
      return true;
    case "g":
    case "G":
      list?.box.focus({ preventScroll: true });
      list?.select(key === "g" ? 0 : actions.total() - 1);
      return true;
    case "e":
    case "E":
      actions.onError(key === "e" ? "asc" : "desc");
      return true;
    case "f":
      actions.onFollow();
      return true;
    case "?":
      actions.onHelp();
      return true;
    case "Escape":
      actions.onClose();
      return true;
    default:
      return false;
  }
}

/** What a key does in the list. */
function inList(key: string, actions: KeyActions): boolean {
  const list = actions.list();
  if (list === undefined || document.activeElement !== list.box) return false;
  const [first, last] = list.seen();
  const page = Math.max(1, last - first);
  const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  const by = moves[key];
  if (by !== undefined) moveBy(list, by);
  else if (key === "Home") list.select(0);
  else if (key === "End") list.select(actions.total() - 1);
  else if (key === "Enter") actions.onOpen();
  else return false;
  return true;
}

/** Listens to the keys of the page. @returns what ends it. */
export function listenToKeys(actionsOf: () => KeyActions): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    if (ctrlKey || metaKey || altKey || event.defaultPrevented || isTyping(target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const actions = actionsOf();
    if (inList(key, actions) || everywhere(key, actions)) event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
