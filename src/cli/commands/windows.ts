import type { Answer } from "#client/index.ts";
import { listCommand } from "../core/operation-command.ts";
import { formatTime } from "../output/text.ts";

type Window = Answer<"listWindows">["windows"][number];

const stateOf = ({ open, closes_at: closes }: Window): string => {
  if (!open) return "closed";
  return closes === null ? "open" : `open until ${formatTime(closes)}`;
};

function effectOf({ allow, deny, silence }: Window): string {
  const parts = [
    ...(allow.length === 0 ? [] : [`allows ${allow.join(" ")}`]),
    ...(deny.length === 0 ? [] : [`forbids ${deny.join(" ")}`]),
    ...(silence ? ["silent"] : []),
  ];
  return parts.join("; ");
}

export const addWindowsCommand = listCommand("listWindows", "windows", {
  about: "windows in which changes are allowed or forbidden",
  notes:
    "They are in the settings of the service. Inside one, what it allows may be done, and what it forbids may not.",
  rows: "windows",
  columns: {
    window: "name",
    state: (window) => ({ text: stateOf(window), style: window.open ? "green" : "dim" }),
    "opens next": ({ opens_next_at: next }) => (next === null ? "not in sight" : formatTime(next)),
    effect: effectOf,
  },
  empty: "no windows: changes are allowed at any time",
});
