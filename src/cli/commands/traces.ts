import type { Answer } from "#client/index.ts";
import { type Span, type SpanOrigin, spanOrigins } from "#contract/traces.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { fitText, formatTime } from "../output/text.ts";

interface ListOptions {
  readonly service?: string;
  readonly origin?: SpanOrigin;
  readonly minDuration?: string;
  readonly since?: string;
  readonly limit: number;
}

const milliseconds = (value: number): string =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} ms`;

function printTraces(io: Io, { traces }: Answer<"listTraces">): void {
  printTable(io, traces, {
    trace: (each) => each.trace_id,
    start: ({ start }) => formatTime(start),
    took: (each) => milliseconds(each.duration_ms),
    spans: ({ spans }) => spans,
    errors: ({ errors }) => ({ text: String(errors), style: errors > 0 ? "red" : undefined }),
    service: ({ service }) => service,
    origin: ({ origin }) => origin,
    name: ({ name }) => name,
  });
  if (traces.length === 0) io.out("no traces\n");
}

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

export function addTracesCommands(program: Command, ports: CommandPorts): void {
  const time = timeOption(ports.now);
  const traces = program.command("traces").description("traces that were received: list them, show one");
  const list = traces
    .presetCommand("list")
    .description("the newest traces")
    .option("--service <name>", "only with a span of this service")
    .choice("--origin <origin>", "only with a span that the service made itself, or that it has received", spanOrigins)
    .option("--min-duration <time>", "only those that took so long: 250ms, 2s")
    .option("-S, --since <time>", "only those that began then or later", time)
    .limit({ minimum: 1, maximum: 1000, default: 100 });
  answerCommand(ports, list, {
    ask: (client, { service, origin, minDuration, since, limit }: ListOptions) =>
      client.listTraces({ query: defined({ limit, service, origin, min_duration: minDuration, since }) }),
    print: printTraces,
  });
  const show = traces.command("show").description("one trace as a tree of its spans").argument("<id>", "32 hex digits");
  answerCommand(ports, show, {
    ask: (client, id: string) => client.getTrace({ params: { trace_id: id } }),
    print: printTrace,
  });
}
