import type { Answer } from "#client/index.ts";
import { countedOf } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import type { Io } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { type Cell, stateStyle } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatAge, formatSpan } from "../output/text.ts";

type UnitList = Answer<"listUnits">;
type Unit = UnitList["units"][number];

const types = ["all", "service", "timer", "socket", "mount", "path", "target", "slice"] as const;
const statuses = ["all", "active", "inactive", "failed"] as const;

type Columns = Readonly<Record<string, (unit: Unit) => Cell>>;

const ageOf = (time: string | null | undefined, now: number): string =>
  time === null || time === undefined ? "" : formatAge(time, now);
const timeUntil = (time: string | null | undefined, now: number): string =>
  time === null || time === undefined ? "" : `in ${formatSpan((Date.parse(time) - now) / 1000)}`;

/** What is told of units of one type, after the name and state of each. */
function columnsOf(type: Unit["type"] | undefined, now: number): Columns {
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
        description: ({ description }) => description,
      };
  }
}

function printUnits(io: Io, { units, total, not_shown: missing }: UnitList, now: number): void {
  const [first] = units;
  const type = units.every((unit) => unit.type === first?.type) ? first?.type : undefined;
  printTable(io, units, {
    unit: ({ name }) => name,
    state: ({ active_state: text }) => ({ text, style: stateStyle(text) }),
    ...columnsOf(type, now),
  });
  io.out(`${countedOf(units.length, total, "unit")}${units.length < total ? " (--limit shows more)" : ""}\n`);
  printNotShown(io.out, missing);
}

interface Options {
  readonly type: (typeof types)[number];
  readonly status: (typeof statuses)[number];
  readonly limit: number;
}

export function addUnitsCommand(program: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const units = program
    .command("units")
    .description("units of the host: timers with their next run, sockets, mounts and others")
    .choice("-t, --type <type>", "only those of this type", types, "all")
    .choice("-s, --status <state>", "only those in this state", statuses, "all")
    .limit({ minimum: 1, maximum: 1000, default: 1000 });
  answerCommand(ports, units, {
    ask: (client, { type, status, limit }: Options) => client.listUnits({ query: { type, status, limit } }),
    print: (_, answer) => printUnits(io, answer, now()),
  });
}
