import type { Answer } from "#client/index.ts";
import { listCommand } from "../core/operation-command.ts";
import { limitWord } from "../core/operation-words.ts";
import { stateStyle } from "../output/screen.ts";
import type { Columns } from "../output/table.ts";
import { formatAge, formatSpan } from "../output/text.ts";

type Unit = Answer<"listUnits">["units"][number];

const ageOf = (time: string | null | undefined, now: number): string =>
  time === null || time === undefined ? "" : formatAge(time, now);
const timeUntil = (time: string | null | undefined, now: number): string =>
  time === null || time === undefined ? "" : `in ${formatSpan((Date.parse(time) - now) / 1000)}`;

/** What is printed of units of one type, after the name and state of each. */
function columnsOf(type: Unit["type"] | undefined, now: number): Columns<Unit> {
  switch (type) {
    case "timer":
      return {
        next: ({ timer }) => timeUntil(timer?.next_at, now),
        last: ({ timer }) => ageOf(timer?.last_at, now),
        starts: ({ timer }) => timer?.unit ?? "",
        when: ({ timer }) => timer?.rules.join(", ") ?? "",
      };
    case "socket":
      return {
        listens: ({ socket }) => socket?.listens.map(({ address }) => address).join(", ") ?? "",
        starts: ({ socket }) => socket?.units.join(", ") ?? "",
      };
    case "mount":
      return {
        where: ({ mount }) => mount?.where ?? "",
        what: ({ mount }) => mount?.what ?? "",
        type: ({ mount }) => mount?.type ?? "",
      };
    case "path":
      return {
        watches: ({ path }) => path?.rules.map(({ condition, path: at }) => `${condition} ${at}`).join(", ") ?? "",
        starts: ({ path }) => path?.unit ?? "",
      };
    case "service":
    case "target":
    case "slice":
    case undefined:
      return {
        since: ({ since }) => ageOf(since, now),
        description: "description",
      };
  }
}

export const addUnitsCommand = listCommand("listUnits", "units", {
  about: "units of the host: timers with their next run, sockets, mounts and others",
  words: {
    type: { as: "-t, --type <type>", about: "only those of this type", default: "all" },
    status: { as: "-s, --status <state>", about: "only those in this state", default: "all" },
    limit: limitWord(1000),
  },
  rows: "units",
  columns({ units }, { now }) {
    const [first] = units;
    const type = units.every((unit) => unit.type === first?.type) ? first?.type : undefined;
    return {
      unit: "name",
      state: ({ active_state: text }) => ({ text, style: stateStyle(text) }),
      ...columnsOf(type, now),
    };
  },
  counts: "unit",
  more: "--limit",
});
