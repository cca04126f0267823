import type { Answer } from "#client/index.ts";
import type { Span } from "#contract/traces.ts";
import { commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import { limitWord } from "../core/operation-words.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint } from "../output/screen.ts";
import { fitText, formatTime } from "../output/text.ts";

const milliseconds = (value: number): string =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} ms`;

const listTraces = listCommand("listTraces", "list", {
  about: "the newest traces",
  words: {
    service: { as: "--service <name>", about: "only with a span of this service" },
    origin: {
      as: "--origin <origin>",
      about: "only with a span that the service made itself, or that it has received",
    },
    min_duration: { as: "--min-duration <time>", about: "only those that took so long: 250ms, 2s" },
    since: { as: "-S, --since <time>", about: "only those that began then or later" },
    limit: limitWord(100),
  },
  rows: "traces",
  columns: {
    trace: "trace_id",
    start: ({ start }) => formatTime(start),
    took: (each) => milliseconds(each.duration_ms),
    spans: "spans",
    errors: ({ errors }) => ({ text: String(errors), style: errors > 0 ? "red" : undefined }),
    service: "service",
    origin: "origin",
    name: "name",
  },
  empty: "no traces",
});

function printTrace(io: Io, { spans }: Answer<"getTrace">): void {
  const screen = screenOf(io);
  const columns = screen.columns() ?? Number.POSITIVE_INFINITY;
  const ids = new Set(spans.map(({ span_id: id }) => id));
  const printed = new Set<Span>();
  const printSpan = (span: Span, depth: number): void => {
    // A sender may name a span as its own ancestor.
    if (printed.has(span)) return;
    printed.add(span);
    const text = `${"  ".repeat(Math.min(depth, 20))}${oneLine(span.name)}`;
    const line = `${milliseconds(span.duration_ms).padStart(10)}  ${text}${span.status === "error" ? `: ${oneLine(span.status_message)}` : ""}`;
    io.out(`${paint(screen, span.status === "error" ? "red" : undefined, fitText(line, columns))}\n`);
    for (const child of spans) if (child.parent_span_id === span.span_id) printSpan(child, depth + 1);
  };
  for (const span of spans) if (!ids.has(span.parent_span_id)) printSpan(span, 0);
  for (const span of spans) printSpan(span, 0);
}

export const addTracesCommands = commandGroup(
  { name: "traces", about: "traces that were received: list them, show one", preset: "list" },
  [
    listTraces,
    showCommand("getTrace", "show", {
      about: "one trace as a tree of its spans",
      words: { trace_id: { as: "<id>", about: "32 hex digits" } },
      print: printTrace,
    }),
  ],
);
