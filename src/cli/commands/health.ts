import type { Answer } from "#client/index.ts";
import { counted } from "#kernel/text.ts";
import { commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import { checkWord } from "../core/operation-words.ts";
import { type Io, oneLine, severalLines } from "../output/output.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type Metrics = Answer<"getCheckMetrics">;

function printNames(io: Io, { series }: Metrics): void {
  printTable(io, series, {
    name: "name",
    unit: "unit",
    points: ({ points }) => points.length,
    min: ({ points }) => lowest(points),
    max: ({ points }) => highest(points),
    last: ({ points }) => points.at(-1)?.value ?? "",
  });
  if (series.length === 0) io.out("no figures\n");
}

type Points = Metrics["series"][number]["points"];

const lowest = (points: Points): number | "" =>
  points.reduce<number | "">((least, { value, min = value }) => (least === "" || min < least ? min : least), "");
const highest = (points: Points): number | "" =>
  points.reduce<number | "">((most, { value, max = value }) => (most === "" || max > most ? max : most), "");

function printPoints(io: Io, { series, step_seconds: step }: Metrics): void {
  const points = series.flatMap((each) => each.points);
  const isHourly = step > 60;
  printTable(io, points, {
    at: ({ at }) => formatTime(at),
    value: "value",
    ...(isHourly && { min: "min" as const, max: "max" as const }),
  });
  for (const { name, unit } of series)
    io.out(
      `${oneLine(`${name}${unit === "" ? "" : ` in ${unit}`}: ${counted(points.length, "value")}, one per ${isHourly ? "hour" : "minute"}`)}\n`,
    );
}

const printMetrics = (io: Io, metrics: Metrics): void =>
  metrics.series.length === 1 ? printPoints(io, metrics) : printNames(io, metrics);

export const addHealthCommands = commandGroup({ name: "health", about: "see how the figures of checks change" }, [
  showCommand("getCheckMetrics", "metrics", {
    about: "list the figures of a check, or show one over time",
    notes: "One value a minute for two days, and mean, minimum and maximum of each hour for 90 days.",
    words: {
      check: checkWord("<check>"),
      name: { as: "[name]", about: "the figure, such as percent_used" },
      since: { as: "--since <time>", about: "from when on; a day ago unless given" },
      until: { as: "--until <time>", about: "until when; now unless given" },
    },
    print: printMetrics,
  }),
]);

type Entry = Answer<"listRunbooks">["runbooks"][number];

const subjectsOf = ({ applies_to: subjects }: Entry): string =>
  subjects.flatMap((subject) => Object.entries(subject).map(([kind, name]) => `${kind} ${name}`)).join(", ");

const listRunbooks = listCommand("listRunbooks", "list", {
  about: "list runbooks, those of this host first",
  notes: "Those of this host are Markdown files in /etc/steward/runbooks.",
  words: {
    check: { as: "--check <id>", about: "those of this check", names: "check" },
    unit: { as: "-u, --unit <unit>", about: "those of this unit", names: "unit" },
    template: { as: "--template <id>", about: "those of this template of log messages" },
  },
  rows: "runbooks",
  columns: {
    runbook: "id",
    from: ({ origin }) => (origin === "local" ? "this host" : "steward"),
    "applies to": subjectsOf,
    title: "title",
  },
  counts: "runbook",
  below(io, { faults }) {
    for (const { file, reason } of faults) io.err(`steward: ${oneLine(file)} is not used: ${oneLine(reason)}\n`);
  },
});

export const addRunbooksCommands = commandGroup(
  { name: "runbooks", about: "what to do about findings", preset: "list" },
  [
    listRunbooks,
    showCommand("getRunbook", "show", {
      about: "show a runbook, Markdown",
      words: { id: { as: "<id>", about: "its id, as `steward runbooks` has it", names: "runbook" } },
      print: (io, { title, body }) => io.out(`# ${oneLine(title)}\n\n${severalLines(body).trimEnd()}\n`),
    }),
  ],
);
