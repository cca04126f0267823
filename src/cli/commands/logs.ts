import { InvalidArgumentError } from "commander";
import { streamLogs } from "#client/stream.ts";
import { logQueryLimit } from "#contract/limits.ts";
import type { LogEntry, LogList } from "#contract/logs.ts";
import { priorityNumbers } from "#contract/streams.ts";
import { defined } from "#kernel/values.ts";
import { type Command, integer } from "../core/command.ts";
import { Interrupted } from "../core/errors.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { formatEntry, type LogOutput, logOutputs } from "../output/log-format.ts";
import { exitCode, type Io, oneLine, printJson, screenOf } from "../output/output.ts";

interface LogOptions {
  readonly unit?: string;
  readonly dmesg?: boolean;
  readonly priority?: number;
  /** True: as many as a follow begins with. */
  readonly lines?: number | true;
  readonly follow?: boolean;
  readonly output: LogOutput;
  readonly since?: string;
  readonly until?: string;
  readonly grep?: string;
  readonly boot?: string | true;
  readonly identifier?: string;
  readonly reverse?: boolean;
  readonly afterCursor?: string;
  readonly entry?: string;
  readonly json?: boolean;
}

const usualLines = 10;
const beginning = new Date(0).toISOString();

function priority(text: string): number {
  const number = priorityNumbers[text.toLowerCase()];
  if (number !== undefined) return number;
  throw new InvalidArgumentError("it must be emerg, alert, crit, err, warning, notice, info, debug or 0 to 7");
}

const mostLines = integer(logQueryLimit.minimum, logQueryLimit.maximum);

function lineCount(text: string): number {
  if (text === "0") return 0;
  if (text !== "all") return mostLines(text);
  throw new InvalidArgumentError(
    `one answer has at most ${logQueryLimit.maximum} entries: take that many, and go on with --until or --after-cursor`,
  );
}

function once(text: string, previous: string | undefined): string {
  if (previous === undefined) return text;
  throw new InvalidArgumentError(
    "it can be given once: a pattern such as 'nginx*' names several units, and others are asked for one by one",
  );
}

function queryOf(options: LogOptions, boot: string | undefined) {
  const { unit, priority: least, since, until, grep, identifier, afterCursor, reverse, follow } = options;
  const lines = options.lines === true ? usualLines : options.lines;
  const limit = lines ?? (follow ? usualLines : logQueryLimit.default);
  // The newest lines are asked for, whenever they were written.
  const isNewest = (options.lines !== undefined || follow === true) && boot === undefined && afterCursor === undefined;
  const start = since ?? (isNewest ? beginning : undefined);
  return {
    ...defined({ unit, priority: least, since: start, until, grep, boot, identifier, cursor: afterCursor }),
    order: reverse ? ("desc" as const) : ("asc" as const),
    limit,
  };
}

type LogQuery = ReturnType<typeof queryOf>;

async function newestCursor({ client }: Connection): Promise<string | undefined> {
  const { logs } = await client.listLogs({ query: { since: beginning, order: "desc", limit: 1 } });
  return logs[0]?.cursor;
}

async function follow(
  { io, person }: CommandPorts,
  connection: Connection,
  options: LogOptions & { readonly query: LogQuery; readonly print: (entry: LogEntry) => void },
): Promise<never> {
  const { unit, grep, identifier, afterCursor, query, print } = options;
  // Asked first, so that an entry written while the first ones are fetched, or while the connection is lost, is not missed.
  const start = afterCursor ?? (await newestCursor(connection));
  const first = query.limit === 0 ? [] : (await connection.client.listLogs({ query })).logs;
  for (const entry of first) print(entry);
  const cursor = first.at(-1)?.cursor ?? start;
  const entries = streamLogs({
    ...connection,
    signal: person.interrupted(),
    ...defined({ unit, priority: options.priority?.toString(), grep, cursor }),
    onNotice: ({ message }) => io.err(`steward: ${oneLine(message)}\n`),
    onConnection: (state) =>
      io.err(
        state === "lost" ? "steward: lost the connection, making it again\n" : "steward: the connection is back\n",
      ),
  });
  for await (const entry of entries) if (identifier === undefined || entry.identifier === identifier) print(entry);
  throw new Interrupted();
}

async function wholeEntry({ client }: Connection, cursor: string): Promise<LogEntry | undefined> {
  const parts: string[] = [];
  for (let offset: number | undefined = 0; ; ) {
    const { logs }: LogList = await client.listLogs({ query: { entry: cursor, offset } });
    const [found] = logs;
    if (found === undefined) return undefined;
    parts.push(found.message);
    if (found.next_offset === undefined) return { ...found, message: parts.join("") };
    offset = found.next_offset;
  }
}

/** Says on standard error that there is nothing, or more than is shown. */
function printRest(io: Io, { logs, total }: LogList, query: LogQuery, isChosen: boolean): void {
  const { isTerminal } = screenOf(io);
  const shown = logs.length;
  if (!isTerminal && (isChosen || shown === 0)) return;
  if (shown === 0) io.err("-- No entries --\n");
  // With a cursor the total includes the entries before it.
  else if (query.cursor !== undefined) {
    if (shown === query.limit) io.err(`-- ${shown} entries, and there may be more; --after-cursor goes on --\n`);
  } else if (shown < total) io.err(`-- ${shown} of ${total} entries; -n and --since choose others --\n`);
}

export function addLogsCommand(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish } = ports;
  const time = timeOption(now);
  program
    .command("logs")
    .description("entries of the journal, with the flags of journalctl")
    .option("-u, --unit <unit>", "only what this unit wrote, or units like 'nginx*'", once)
    .option("-k, --dmesg", "only what the kernel wrote")
    .option("-p, --priority <priority>", "only this severity and worse: err, warning, 0 to 7", priority)
    .option(
      "-n, --lines [count]",
      "the newest so many, however old, 10 without a number; 1000 of the last hour when left out",
      lineCount,
    )
    .option("-f, --follow", "begin with the newest 10 (-n 0: none), and go on as they are written, until Ctrl-C")
    .choice("-o, --output <format>", "how to print them", logOutputs, "short")
    .option("-S, --since <time>", "not older than this", time)
    .option("-U, --until <time>", "not newer than this", time)
    .option("-g, --grep <expression>", "only messages that match; case matters where it has a capital letter")
    .option("-b, --boot [id]", "only of a boot: its id, 0 the last (when left out), -1 the one before it")
    .option("-t, --identifier <name>", "only with this syslog identifier")
    .option("-r, --reverse", "newest first")
    .option("--after-cursor <cursor>", "only what follows this entry")
    .option("--entry <cursor>", "only this entry, however long its message is; other filters do not count")
    .option("--no-pager", "as it is in any case: there is no pager")
    .json("print the answer as JSON; with --follow an entry on each line, as -o json")
    .notes(`Times: now, today, yesterday, -1h, "2 hours ago", "2026-01-31 14:00" (local time), @1769868000, RFC 3339.

  steward logs -u nginx -p warning --since yesterday
  steward logs -f -g 'timed? out'

A follow ends with Ctrl-C and exit code 130. A lost connection is made again, and nothing is missing in between.
Where more was found than is shown, one line on standard error says so, also in a pipe.`)
    .action(async (given: LogOptions, command: Command) => {
      if (given.follow && (given.reverse || given.until !== undefined)) {
        command.error("error: --follow goes with neither --reverse nor --until");
      }
      if (given.dmesg && given.unit !== undefined)
        command.error("error: --dmesg is the unit kernel: give one of the two");
      const boot = given.boot === true ? "0" : given.boot;
      const options = given.dmesg ? { ...given, unit: "kernel" } : given;
      if (given.lines === 0 && !given.follow)
        command.error(
          `error: -n 0 shows nothing: it must be a whole number from 1 to ${logQueryLimit.maximum}, 0 goes with --follow`,
        );
      const connection = await connect(command);
      const output = given.json ? "json" : given.output;
      const screen = screenOf(io);
      const print = (entry: LogEntry): void => io.out(formatEntry(entry, output, screen));
      if (given.entry !== undefined) {
        const entry = await wholeEntry(connection, given.entry);
        finish(exitCode.fine);
        return entry === undefined ? io.err("-- No entries --\n") : print(entry);
      }
      const query = queryOf(options, boot);
      if (given.follow) return follow(ports, connection, { ...options, query, print });
      const answer = await connection.client.listLogs({ query });
      finish(exitCode.fine);
      if (given.json) return printJson(io, answer);
      for (const entry of answer.logs) print(entry);
      printRest(io, answer, query, given.lines !== undefined);
    });
}
