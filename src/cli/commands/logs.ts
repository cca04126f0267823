import { InvalidArgumentError } from "commander";
import { createJournalFormat, fieldsOf, type JournalOutput, journalOutputs } from "#adapters/journal-format/output.ts";
import { longTime, sizeText } from "#adapters/journal-format/text.ts";
import { valueBytes } from "#adapters/journal-format/whole-entry.ts";
import { streamLogs } from "#client/stream.ts";
import { logQueryLimit } from "#contract/limits.ts";
import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogBootList, LogFieldNames, LogFieldValues, LogList, LogUsage } from "#contract/logs.ts";
import { priorityNumbers } from "#contract/streams.ts";
import { counted, countedOf } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { type Command, integer, NamedOption, repeated } from "../core/command.ts";
import { explainError, Interrupted, isOutOfReach, isPassing } from "../core/errors.ts";
import { allPages, type LogQuery, withFields } from "../core/journal-pages.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { patientFetch } from "../core/transport.ts";
import { formatEntry, printNoEntries } from "../output/log-format.ts";
import { escaped, exitCode, type Io, jsonText, oneLine, printJson, screenOf } from "../output/output.ts";
import { printNotShown, printUnread } from "../output/print.ts";
import { addExploreOptions, type ExploreFilters, type ExploreOptions, explore } from "./logs-explore.ts";
import { addExportOption, type ExportOptions, exportFormatOf, exportToFile, printExport } from "./logs-export.ts";

interface LogOptions extends ExploreOptions, ExportOptions {
  readonly unit?: readonly string[];
  readonly dmesg?: boolean;
  readonly priority?: number;
  readonly output: JournalOutput;
  readonly showAll?: boolean;
  readonly outputFields?: readonly string[];
  readonly listBoots?: boolean;
  readonly diskUsage?: boolean;
  readonly fields?: boolean;
  readonly field?: string;
  readonly since?: string;
  readonly until?: string;
  readonly grep?: string;
  readonly template?: string;
  readonly boot?: string | true;
  readonly identifier?: string;
  readonly namespace?: string;
  readonly reverse?: boolean;
  readonly afterCursor?: string;
  readonly entry?: string;
}

const usualLines = 10;
const epoch = new Date(0).toISOString();

function priority(text: string): number {
  const number = priorityNumbers[text.toLowerCase()];
  if (number !== undefined) return number;
  throw new InvalidArgumentError("it must be emerg, alert, crit, err, warning, notice, info, debug or 0 to 7");
}

const mostLines = integer(logQueryLimit.minimum, logQueryLimit.maximum);

function lineCount(text: string): number | "all" {
  if (text === "0") return 0;
  return text === "all" ? "all" : mostLines(text);
}

const fieldName = /^[A-Z0-9_]{1,64}$/;

function nameOfField(text: string): string {
  if (fieldName.test(text)) return text;
  throw new InvalidArgumentError("it must be the name of a field, such as _COMM: steward logs --fields lists them");
}

const namesOfFields = (text: string): readonly string[] => text.split(",").map(nameOfField);

function queryOf(options: LogOptions, boot: string | undefined) {
  const { afterCursor, reverse, follow, ...filters } = options;
  const lines = options.lines === true ? usualLines : options.lines === "all" ? undefined : options.lines;
  const limit = lines ?? (follow ? usualLines : logQueryLimit.default);
  // The newest lines are asked for, whenever they were written.
  const isNewest = (options.lines !== undefined || follow === true) && boot === undefined && afterCursor === undefined;
  return {
    ...(isNewest && { since: epoch }),
    ...filtersOf(filters, boot),
    ...defined({ cursor: afterCursor }),
    order: reverse ? ("desc" as const) : ("asc" as const),
    limit,
  };
}

/** The filters of what is counted: of a boot its whole window. */
const filtersOf = (
  { unit, priority: least, since, until, grep, template, identifier, namespace }: LogOptions,
  boot: string | undefined,
): ExploreFilters =>
  defined({ units: unit, priority: least, since, until, grep, template, boot, identifier, namespace });

type Asked = ReturnType<typeof queryOf>;

async function newestCursor(
  { client }: Connection,
  { namespace }: Pick<LogOptions, "namespace">,
): Promise<string | undefined> {
  const { logs } = await client.listLogs({
    query: { since: epoch, order: "desc", limit: 1, ...defined({ namespace }) },
  });
  return logs[0]?.cursor;
}

async function follow(
  { io, person }: CommandPorts,
  connection: Connection,
  options: LogOptions & { readonly query: Asked; readonly printer: Printer },
): Promise<never> {
  const { unit: units = [], grep, template, identifier, namespace, afterCursor, query, printer } = options;
  // The stream has neither the fields of an entry nor several units: then it only says that there is something to ask for.
  const isBell = printer.fields !== undefined || units.length > 1;
  const heard = units.length > 1 ? { namespace: namespace ?? "*" } : defined({ unit: units[0], namespace });
  // Asked first, so that an entry written while the first ones are fetched, or while the connection is lost, is not missed.
  const start = afterCursor ?? (await newestCursor(connection, options));
  const first = query.limit === 0 ? [] : (await connection.client.listLogs({ query })).logs;
  for (const entry of first) await printer.print(entry);
  const cursor = first.at(-1)?.cursor ?? start;
  const entries = streamLogs({
    ...connection,
    signal: person.interrupted(),
    ...heard,
    ...defined({ priority: options.priority?.toString(), grep, template, cursor }),
    onNotice: ({ message }) => io.err(`steward: ${oneLine(message)}\n`),
    onConnection: (state) =>
      io.err(
        state === "lost" ? "steward: lost the connection, making it again\n" : "steward: the connection is back\n",
      ),
  });
  if (isBell) {
    const { since: _, ...filters } = query;
    await printRung({
      io,
      signal: person.interrupted(),
      entries,
      connection,
      query: { ...filters, limit: logQueryLimit.maximum, ...defined({ cursor }) },
      printer,
    });
  } else {
    for await (const entry of entries) {
      if (identifier === undefined || entry.identifier === identifier) await printer.print(entry);
    }
  }
  throw new Interrupted();
}

/** Not more often than the service takes calls of one key. */
const ringMs = 1_000;
/** The longest time until what could not be asked for is asked for again. */
const maxRetryMs = 15_000;

/** Asks for what is new whenever an entry comes, and prints it: again where there was no answer, as the stream connects again. */
async function printRung(options: {
  readonly io: Io;
  readonly signal: AbortSignal;
  readonly entries: AsyncIterable<LogEntry>;
  readonly connection: Connection;
  readonly query: LogQuery;
  readonly printer: Printer;
}): Promise<void> {
  const { io, signal, entries, connection, query, printer } = options;
  let { cursor } = query;
  let failures = 0;
  const state = { isRung: false, isOver: false, wake: (): void => undefined };
  const listening = (async () => {
    try {
      for await (const _ of entries) {
        state.isRung = true;
        state.wake();
      }
    } finally {
      state.isOver = true;
      state.wake();
    }
  })();
  // It is awaited at the end.
  listening.catch(() => undefined);
  while (!state.isOver && !signal.aborted) {
    if (!state.isRung) {
      await new Promise<void>((resolve) => {
        state.wake = resolve;
      });
      continue;
    }
    state.isRung = false;
    try {
      for await (const { logs } of allPages(connection, { ...query, ...defined({ cursor }) })) {
        for (const entry of logs) {
          await printer.print(entry);
          ({ cursor } = entry);
        }
      }
      failures = 0;
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      // The stream reports a lost connection, and a service that ends refuses its last requests.
      if (failures > 0 && !isOutOfReach(error)) io.err(`steward: ${explainError(error)}; asking again\n`);
      state.isRung = true;
      failures += 1;
    }
    const waitMs = Math.min(ringMs * 2 ** Math.max(0, failures - 1), maxRetryMs);
    await connection.sleep(waitMs, signal);
  }
  await listening;
}

async function wholeEntry(
  { client }: Connection,
  cursor: string,
  fields: string | undefined,
): Promise<LogEntry | undefined> {
  const parts: string[] = [];
  for (let offset: number | undefined = 0; ; ) {
    const { logs }: LogList = await client.listLogs({ query: { entry: cursor, offset, ...defined({ fields }) } });
    if (fields !== undefined) return logs[0];
    const [found] = logs;
    if (found === undefined) return undefined;
    parts.push(found.message);
    if (found.next_offset === undefined) return { ...found, message: parts.join("") };
    offset = found.next_offset;
  }
}

/** Says on standard error that there is nothing, or more than is shown. */
function printRest(
  io: Io,
  { logs, total, not_shown: missing, unread }: LogList,
  query: Asked,
  isChosen: boolean,
): void {
  const { isTerminal } = screenOf(io);
  const shown = logs.length;
  if (shown === 0) printNoEntries(io.err, missing);
  printUnread(io.err, unread);
  if (shown === 0 || (!isTerminal && isChosen)) return;
  // With a cursor the total includes the entries before it.
  if (query.cursor !== undefined) {
    if (shown === query.limit)
      io.err(`-- ${counted(shown, "entry", "entries")}, and there may be more; --after-cursor continues --\n`);
  } else if (shown < total)
    io.err(`-- ${countedOf(shown, total, "entry", "entries")}; -n and --since choose others --\n`);
}

async function printAll(io: Io, pages: AsyncIterable<LogList>, { print }: Printer): Promise<void> {
  let isEmpty = true;
  const unread = new Map<string, UnreadFiles[number]>();
  for await (const { logs, not_shown: missing, unread: files = [] } of pages) {
    for (const entry of logs) await print(entry);
    if (isEmpty && logs.length === 0) printNoEntries(io.err, missing);
    isEmpty = false;
    for (const each of files) unread.set(each.file, each);
  }
  printUnread(io.err, [...unread.values()]);
}

interface Printer {
  /** The fields that it needs; undefined: none but those that every entry has. */
  readonly fields: string | undefined;
  readonly print: (entry: LogEntry) => Promise<void> | void;
}

/**
 * At a terminal lines are shown with colours, and without anything that it acts upon; in a pipe everything is as journalctl writes it,
 * byte for byte.
 */
function createPrinter(io: Io, connection: Connection, options: LogOptions): Printer {
  const { output, json, showAll: all = false, outputFields } = options;
  if (json) return { fields: undefined, print: (entry) => io.out(jsonText(entry)) };
  const screen = screenOf(io);
  const isLine = output === "short" || output === "short-iso" || (output === "cat" && outputFields === undefined);
  if (isLine && io.raw === undefined) {
    return { fields: undefined, print: (entry) => io.out(formatEntry(entry, output, screen)) };
  }
  const chosen = { all, fields: outputFields };
  const format = createJournalFormat(output, chosen);
  const { raw = (bytes: Buffer) => io.out(escapeUnseen(bytes.toString("utf8"), output)) } = io;
  return {
    fields: fieldsOf(output, chosen),
    print: async (entry) => raw(format(await withFields(connection, entry))),
  };
}

/** What a terminal leaves out of text stands in JSON as an escape, so that it means the same. */
const escapeUnseen = (text: string, output: JournalOutput): string =>
  output.startsWith("json") ? escaped(text) : text;

/** @returns whether a list was asked for, and is printed. */
async function printList(
  { io, connect, finish }: CommandPorts,
  options: LogOptions,
  command: Command,
): Promise<boolean> {
  const { listBoots, diskUsage, fields, field, namespace, json } = options;
  const asked = [listBoots, diskUsage, fields, field !== undefined].filter((each) => each === true);
  if (asked.length === 0) return false;
  if (asked.length > 1) command.error("error: --list-boots, --disk-usage, --fields and --field: one of them at a time");
  const { client } = await connect(command);
  const query = defined({ namespace });
  const answer = listBoots
    ? await client.listLogBoots({ query })
    : diskUsage
      ? await client.getLogUsage()
      : field === undefined
        ? await client.listLogFields({ query })
        : await client.listLogFieldValues({ params: { name: field }, query });
  finish(exitCode.fine);
  if (json) printJson(io, answer);
  else {
    printAnswer(io, answer);
    printNotShown(io.err, answer.not_shown);
    if ("unread" in answer) printUnread(io.err, answer.unread);
  }
  return true;
}

function printAnswer(io: Io, answer: LogBootList | LogUsage | LogFieldNames | LogFieldValues): void {
  const { raw = (bytes: Buffer) => io.out(bytes.toString("utf8")) } = io;
  if ("boots" in answer) io.out(bootLines(answer));
  else if ("names" in answer) io.out(answer.names.map((name) => `${name}\n`).join(""));
  else if ("values" in answer) {
    raw(Buffer.concat(answer.values.flatMap((value) => [valueBytes(value), Buffer.from("\n")])));
    if (answer.truncated) io.err("-- there are more values than one answer has --\n");
  } else {
    const size = sizeText(answer.disk_bytes + answer.memory_bytes);
    io.out(`Archived and active journals take up ${size} in the file system.\n`);
  }
}

/** The table of `journalctl --list-boots`. */
function bootLines({ boots }: LogBootList): string {
  const time = (text: string): string => longTime(new Date(text));
  const rows = boots.map(
    ({ index, boot_id: id, first, last }) => [String(index), id, time(first), time(last)] as const,
  );
  const head = ["IDX", "BOOT ID", "FIRST ENTRY", "LAST ENTRY"] as const;
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[], isHead: boolean): string =>
    row
      .map((cell, at) => (at === 0 && !isHead ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join(" ")
      .trimEnd();
  return [line(head, true), ...rows.map((row) => line(row, false))].map((each) => `${each}\n`).join("");
}

/** @returns whether all entries were asked for in a format of exports, and are written. */
async function exportAll(
  io: Io,
  connection: Connection,
  {
    options,
    boot,
    command,
  }: { readonly options: LogOptions; readonly boot: string | undefined; readonly command: Command },
): Promise<boolean> {
  const { export: path, output, showAll: all = false, afterCursor: cursor } = options;
  const chosen = command.getOptionValueSource("output") === "default" && path !== undefined ? "export" : output;
  const format = exportFormatOf(chosen);
  const { units, ...filters } = filtersOf(options, boot);
  const since = filters.since ?? (boot === undefined && cursor === undefined ? epoch : undefined);
  const isOther = [options.follow, options.reverse, options.json, options.entry, options.outputFields, options.around];
  const isPlain = [...isOther, options.histogram, options.facets].every((each) => each === undefined || each === false);
  const asked = { ...filters, ...defined({ units, since, cursor }), all };
  if (path !== undefined) {
    if (format === undefined)
      return command.error("error: --export writes the format export or json: -o names another");
    if (!isPlain || (options.lines !== undefined && options.lines !== "all"))
      command.error("error: --export writes all entries that match, oldest first: it goes with filters only");
    await exportToFile(io, connection, path, { ...asked, format });
    return true;
  }
  const { raw } = io;
  if (options.lines !== "all" || !isPlain || format === undefined || raw === undefined) return false;
  await printExport({ ...io, raw }, connection, { ...asked, format });
  return true;
}

const addFilterOptions = (logs: Command, time: ReturnType<typeof timeOption>): Command =>
  logs
    .option("-S, --since <time>", "not older than this", time)
    .option("-U, --until <time>", "not newer than this", time)
    .option("-g, --grep <expression>", "only messages that match; case matters where it has a capital letter")
    .option("--template <id>", "only of this template: --templates lists them")
    .option("-b, --boot [id]", "only of a boot: its id, 0 the last (when left out), -1 the one before it")
    .option("-t, --identifier <name>", "only with this syslog identifier")
    .option(
      "--namespace <name>",
      "only of this namespace of the journal, '+name': of the default one as well, '*': of all; all with -u, else the default one",
    )
    .option("-r, --reverse", "newest first")
    .option("--after-cursor <cursor>", "only what follows this entry")
    .option("--entry <cursor>", "only this entry, with its whole message; other filters are ignored");

/** What the journal has beside entries. */
const addListOptions = (logs: Command): Command =>
  logs
    .option("--list-boots", "list the boots that have entries")
    .option("--disk-usage", "show the disk usage of the journal")
    .option("-N, --fields", "list the names of all fields")
    .option("-F, --field <name>", "list the values of a field", nameOfField);

const notes = `Times: now, today, yesterday, -1h, "2 hours ago", "2026-01-31 14:00" (local time), @1769868000, RFC 3339.

  steward logs -u nginx -p warning --since yesterday
  steward logs -f -g 'timed? out'
  steward logs --histogram -u nginx --since -1d
  steward logs --facets unit,priority -p err -b
  steward logs --new-since update -p err
  steward logs --export boot.export -b -1
  steward logs -n all -o export -u nginx | /lib/systemd/systemd-journal-remote -o nginx.journal -

In a pipe the output is that of journalctl, byte for byte, but for the order of members in JSON, which has none there.

An export writes whole entries only. It continues where the connection is cut, and later with --after-cursor.

A follow ends with Ctrl-C and exit code 130. A lost connection is made again, and nothing is missing in between.
Where more was found than is shown, one line on standard error says so, also in a pipe.`;

export function addLogsCommand(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish } = ports;
  const logs = program
    .command("logs")
    .description("entries of the journal, with the flags of journalctl")
    .addOption(
      new NamedOption(
        "-u, --unit <unit>",
        "only what this unit wrote, or units like 'nginx*'; several times: any of them",
        "unit",
      ).argParser(repeated),
    )
    .option("-k, --dmesg", "only what the kernel wrote")
    .option("-p, --priority <priority>", "only this severity and worse: err, warning, 0 to 7", priority)
    .option(
      "-n, --lines [count]",
      "the newest so many, however old, 10 without a number, or all; 1000 of the last hour when left out",
      lineCount,
    )
    .option("-f, --follow", "begin with the newest 10 (-n 0: none), and continue as they are written, until Ctrl-C")
    .choice("-o, --output <format>", "how to print them", journalOutputs, "short")
    // --all is the word for the hosts of all contexts.
    .option("-a, --show-all", "very long and not printable values, too, in a pipe")
    .option(
      "--output-fields <names>",
      "only these fields, separated by commas, with json, export and cat",
      namesOfFields,
    );
  addFilterOptions(logs, timeOption(now));
  addExploreOptions(logs, now);
  addExportOption(logs);
  addListOptions(logs);
  logs
    .option("--no-pager", "accepted for compatibility: there is no pager")
    .json("print the answer as JSON; with --follow an entry on each line, as -o json")
    .notes(notes)
    .action(async (given: LogOptions, command: Command) => {
      if (await printList(ports, given, command)) return;
      if (given.follow && (given.reverse || given.until !== undefined)) {
        command.error("error: --follow goes with neither --reverse nor --until");
      }
      if (given.dmesg && given.unit !== undefined)
        command.error("error: --dmesg is the unit kernel: give one of the two");
      const boot = given.boot === true ? "0" : given.boot;
      const options = given.dmesg ? { ...given, unit: ["kernel"] } : given;
      if (given.lines === 0 && !given.follow)
        command.error(
          `error: -n 0 shows nothing: it must be a whole number from 1 to ${logQueryLimit.maximum}, 0 goes with --follow`,
        );
      const connection = await connect(
        command,
        given.lines === "all" || given.export !== undefined ? { fetch: patientFetch } : {},
      );
      if (await exportAll(io, connection, { options, boot, command })) return finish(exitCode.fine);
      const printer = createPrinter(io, connection, options);
      const { fields, print } = printer;
      const filters = filtersOf(options, boot);
      if (await explore({ io, connection }, { options, filters, command }, printer)) return finish(exitCode.fine);
      if (given.entry !== undefined) {
        const entry = await wholeEntry(connection, given.entry, fields);
        finish(exitCode.fine);
        return entry === undefined ? printNoEntries(io.err) : print(entry);
      }
      const query = { ...queryOf(options, boot), ...defined({ fields }) };
      if (given.follow) return follow(ports, connection, { ...options, query, printer });
      if (options.lines === "all") {
        await printAll(io, allPages(connection, query), printer);
        return finish(exitCode.fine);
      }
      const answer = await connection.client.listLogs({ query });
      finish(exitCode.fine);
      if (given.json) return printJson(io, answer);
      for (const entry of answer.logs) await print(entry);
      printRest(io, answer, query, given.lines !== undefined);
    });
}
