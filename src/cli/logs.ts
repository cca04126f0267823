import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import { streamLogs } from "#client/stream.ts";
import { logQueryLimit } from "#contract/limits.ts";
import type { LogEntry } from "#contract/logs.ts";
import { priorityNumbers } from "#contract/streams.ts";
import { Interrupted } from "./errors.ts";
import { integer } from "./integer.ts";
import { formatEntry, type LogOutput, logOutputs } from "./log-format.ts";
import { momentOption } from "./log-time.ts";
import { exitCode, oneLine, printJson, screenOf } from "./output.ts";
import type { CommandPorts, Connection } from "./ports.ts";

interface LogOptions {
  readonly unit?: string;
  readonly dmesg?: boolean;
  readonly priority?: number;
  readonly lines?: number;
  readonly follow?: boolean;
  readonly output: LogOutput;
  readonly since?: string;
  readonly until?: string;
  readonly grep?: string;
  readonly boot?: string | true;
  readonly identifier?: string;
  readonly reverse?: boolean;
  readonly afterCursor?: string;
  readonly json?: boolean;
}

/** What a follow begins with. */
const followedLines = 10;
const beginning = new Date(0).toISOString();

function priority(text: string): number {
  const number = priorityNumbers[text.toLowerCase()];
  if (number !== undefined) return number;
  throw new InvalidArgumentError("it must be emerg, alert, crit, err, warning, notice, info, debug or 0 to 7");
}

const mostLines = integer(logQueryLimit.minimum, logQueryLimit.maximum);

function lineCount(text: string): number {
  if (text !== "all") return mostLines(text);
  throw new InvalidArgumentError(
    `one answer has at most ${logQueryLimit.maximum} entries: take that many, and go on with --until or --after-cursor`,
  );
}

/** One value alone: a second one would quietly take the place of the first. */
function once(text: string, previous: string | undefined): string {
  if (previous === undefined) return text;
  throw new InvalidArgumentError(
    "it can be given once: a pattern such as 'nginx*' names several units, and others are asked for one by one",
  );
}

function queryOf(options: LogOptions, boot: string | undefined) {
  const { unit, priority: least, since, until, grep, identifier, afterCursor, reverse, follow } = options;
  const limit = options.lines ?? (follow ? followedLines : logQueryLimit.default);
  // The newest lines are asked for, whenever they were written.
  const isNewest = (options.lines !== undefined || follow === true) && boot === undefined && afterCursor === undefined;
  const start = since ?? (isNewest ? beginning : undefined);
  return {
    ...(unit !== undefined && { unit }),
    ...(least !== undefined && { priority: least }),
    ...(start !== undefined && { since: start }),
    ...(until !== undefined && { until }),
    ...(grep !== undefined && { grep }),
    ...(boot !== undefined && { boot }),
    ...(identifier !== undefined && { identifier }),
    ...(afterCursor !== undefined && { cursor: afterCursor }),
    order: reverse ? ("desc" as const) : ("asc" as const),
    limit,
  };
}

async function follow(
  { io, person }: CommandPorts,
  connection: Connection,
  options: LogOptions & { readonly cursor: string | undefined; readonly print: (entry: LogEntry) => void },
): Promise<never> {
  const { unit, grep, identifier, cursor, print } = options;
  const entries = streamLogs({
    url: connection.url,
    key: connection.key,
    signal: person.interrupted(),
    ...(unit !== undefined && { unit }),
    ...(options.priority !== undefined && { priority: String(options.priority) }),
    ...(grep !== undefined && { grep }),
    ...(cursor !== undefined && { cursor }),
    onNotice: ({ message }) => io.err(`steward: ${oneLine(message)}\n`),
    onConnection: (state) =>
      io.err(
        state === "lost" ? "steward: lost the connection, making it again\n" : "steward: the connection is back\n",
      ),
  });
  for await (const entry of entries) if (identifier === undefined || entry.identifier === identifier) print(entry);
  throw new Interrupted();
}

/** `steward logs`. */
export function addLogsCommand(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish } = ports;
  const moment = momentOption(now);
  program
    .command("logs")
    .description("entries of the journal, with the flags of journalctl")
    .addOption(new Option("-u, --unit <unit>", "only what this unit wrote, or units like 'nginx*'").argParser(once))
    .option("-k, --dmesg", "only what the kernel wrote")
    .addOption(
      new Option("-p, --priority <priority>", "only this severity and worse: err, warning, 0 to 7").argParser(priority),
    )
    .addOption(
      new Option(
        "-n, --lines <count>",
        "the newest so many, however old; 1000 of the last hour when left out",
      ).argParser(lineCount),
    )
    .option("-f, --follow", "begin with the newest 10, and go on as they are written, until Ctrl-C")
    .addOption(new Option("-o, --output <format>", "how to print them").choices(logOutputs).default("short"))
    .addOption(new Option("-S, --since <time>", "not older than this").argParser(moment))
    .addOption(new Option("-U, --until <time>", "not newer than this").argParser(moment))
    .option("-g, --grep <expression>", "only messages that match; case matters where it has a capital letter")
    .option("-b, --boot [id]", "only of a boot: its id, 0 the last (when left out), -1 the one before it")
    .option("-t, --identifier <name>", "only with this syslog identifier")
    .option("-r, --reverse", "newest first")
    .option("--after-cursor <cursor>", "only what follows this entry")
    .option("--json", "print the answer as JSON; with --follow an entry on each line, as -o json")
    .addHelpText(
      "after",
      `
Times: now, today, yesterday, -1h, "2 hours ago", "2026-01-31 14:00" (local time), @1769868000, RFC 3339.

  steward logs -u nginx -p warning --since yesterday
  steward logs -f -g 'timed? out'

A follow ends with Ctrl-C and exit code 130. A lost connection is made again, and nothing is missing in between.`,
    )
    .action(async (given: LogOptions, command: Command) => {
      if (given.follow && (given.reverse || given.until !== undefined)) {
        command.error("error: --follow goes with neither --reverse nor --until");
      }
      if (given.dmesg && given.unit !== undefined)
        command.error("error: --dmesg is the unit kernel: give one of the two");
      const boot = given.boot === true ? "0" : given.boot;
      const options = given.dmesg ? { ...given, unit: "kernel" } : given;
      const connection = await connect(command);
      const answer = await connection.client.listLogs({ query: queryOf(options, boot) });
      finish(exitCode.fine);
      if (given.json && !given.follow) return printJson(io, answer);
      const output = given.json ? "json" : given.output;
      const screen = screenOf(io);
      const print = (entry: LogEntry): void => io.out(formatEntry(entry, output, screen));
      for (const entry of answer.logs) print(entry);
      if (given.follow) await follow(ports, connection, { ...options, cursor: answer.logs.at(-1)?.cursor, print });
      // For people: a file is to hold entries and nothing else.
      if (!screen.isTerminal) return;
      const shown = answer.logs.length;
      if (shown === 0) io.err("-- No entries --\n");
      else if (shown < answer.total)
        io.err(`-- ${shown} of ${answer.total} entries; -n and --since choose others --\n`);
    });
}
