import type { Answer } from "#client/index.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { listCommand } from "../core/operation-command.ts";
import { formatTime } from "../output/text.ts";

type Series = Answer<"getSystemMetrics">["series"][number];

const formats: Readonly<Record<Series["unit"], (value: number) => string>> = {
  load: (value) => value.toFixed(2),
  percent: (value) => `${value.toFixed(1)} %`,
  bytes: formatBytes,
  bytes_per_second: (value) => `${formatBytes(value)}/s`,
};

const known = (values: Series["values"]): readonly number[] => values.filter((value) => value !== null);

const format = (unit: Series["unit"], value: number | null | undefined): string =>
  value === null || value === undefined ? "-" : formats[unit](value);

export const addMetricsCommand = listCommand("getSystemMetrics", "metrics", {
  about: "load, memory, disks and network of the last hour, or day",
  notes: "A sample each 10 s for an hour, and the mean and the highest of each five minutes for a day.",
  words: {
    names: { as: "[name...]", about: "series, such as load_1m; all unless given", join: "," },
    since: { as: "--since <time>", about: "from when on, at most a day ago; an hour ago unless given" },
  },
  rows: "series",
  columns: {
    name: "name",
    last: ({ unit, values }) => format(unit, values.at(-1)),
    mean: ({ unit, values }) => {
      const all = known(values);
      return format(unit, all.length === 0 ? null : all.reduce((sum, value) => sum + value, 0) / all.length);
    },
    highest: ({ unit, values, max = values }) => {
      const all = known(max);
      return format(unit, all.length === 0 ? null : Math.max(...all));
    },
  },
  below(io, { series, since, until, step_seconds: step }) {
    const steps = counted(series[0]?.values.length ?? 0, "value");
    io.out(`${formatTime(since)} to ${formatTime(until)}: ${steps}, one per ${step} s\n`);
  },
});
