import type { Answer } from "#client/index.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import type { Io } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type Metrics = Answer<"getSystemMetrics">;
type Series = Metrics["series"][number];

const formats: Readonly<Record<Series["unit"], (value: number) => string>> = {
  load: (value) => value.toFixed(2),
  percent: (value) => `${value.toFixed(1)} %`,
  bytes: formatBytes,
  bytes_per_second: (value) => `${formatBytes(value)}/s`,
};

const known = (values: Series["values"]): readonly number[] => values.filter((value) => value !== null);

function printMetrics(io: Io, { series, since, until, step_seconds: step, not_shown: missing }: Metrics): void {
  const format = (unit: Series["unit"], value: number | null | undefined): string =>
    value === null || value === undefined ? "-" : formats[unit](value);
  printTable(io, series, {
    name: ({ name }) => name,
    last: ({ unit, values }) => format(unit, values.at(-1)),
    mean: ({ unit, values }) => {
      const all = known(values);
      return format(unit, all.length === 0 ? null : all.reduce((sum, value) => sum + value, 0) / all.length);
    },
    highest: ({ unit, values, max = values }) => {
      const all = known(max);
      return format(unit, all.length === 0 ? null : Math.max(...all));
    },
  });
  const steps = counted(series[0]?.values.length ?? 0, "value");
  io.out(`${formatTime(since)} to ${formatTime(until)}: ${steps}, one per ${step} s\n`);
  printNotShown(io.out, missing);
}

export function addMetricsCommand(program: Command, ports: CommandPorts): void {
  const metrics = program
    .command("metrics")
    .description("load, memory, disks and network of the last hour, or day")
    .argument("[name...]", "series, such as load_1m; all unless given")
    .option("--since <time>", "from when on, at most a day ago; an hour ago unless given", timeOption(ports.now))
    .notes("A sample each 10 s for an hour, and the mean and the highest of each five minutes for a day.");
  answerCommand(ports, metrics, {
    ask: (client, names: readonly string[], { since }: { since?: string }) =>
      client.getSystemMetrics({
        query: defined({ names: names.length === 0 ? undefined : names.join(","), since }),
      }),
    print: printMetrics,
  });
}
