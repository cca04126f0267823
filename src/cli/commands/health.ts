import type { Answer } from "#client/index.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, checkArgument } from "../core/command.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type Metrics = Answer<"getCheckMetrics">;

function printNames(io: Io, { series }: Metrics): void {
  printTable(io, series, {
    name: ({ name }) => name,
    unit: ({ unit }) => unit,
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
    value: ({ value }) => value,
    ...(isHourly && { min: ({ min }: Points[number]) => min ?? "", max: ({ max }: Points[number]) => max ?? "" }),
  });
  for (const { name, unit } of series)
    io.out(
      `${oneLine(`${name}${unit === "" ? "" : ` in ${unit}`}: ${counted(points.length, "value")}, one per ${isHourly ? "hour" : "minute"}`)}\n`,
    );
}

const printMetrics = (io: Io, metrics: Metrics): void =>
  metrics.series.length === 1 ? printPoints(io, metrics) : printNames(io, metrics);

export function addHealthCommands(program: Command, ports: CommandPorts): void {
  const time = timeOption(ports.now);
  const health = program.command("health").description("see how the figures of checks change");
  const metrics = health
    .command("metrics")
    .description("list the figures of a check, or show one over time")
    .addArgument(checkArgument("<check>"))
    .argument("[name]", "the figure, such as percent_used")
    .option("--since <time>", "from when on; a day ago unless given", time)
    .option("--until <time>", "until when; now unless given", time)
    .notes("One value a minute for two days, and mean, minimum and maximum of each hour for 90 days.");
  answerCommand(ports, metrics, {
    ask: (client, check: string, name: string | undefined, { since, until }: { since?: string; until?: string }) =>
      client.getCheckMetrics({ query: { check, ...defined({ name, since, until }) } }),
    print: printMetrics,
  });
}
