import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { processListLimit } from "#contract/limits.ts";
import { type ProcessSignal, processOrders, processSignals } from "#contract/processes.ts";
import { counted, countedOf, formatBytes } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand, changeCommand } from "../core/answer-command.ts";
import { type Command, integer, NamedOption } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printTable } from "../output/table.ts";
import { formatAge } from "../output/text.ts";
import { commandOf } from "./top-view.ts";

type ProcessList = Answer<"listProcesses">;
type Process = ProcessList["processes"][number];

interface ListOptions {
  readonly sort: (typeof processOrders)[number];
  readonly unit?: string;
  readonly user?: string;
  readonly pid?: number;
  readonly full?: boolean;
  readonly limit: number;
}

const ioOf = ({ io }: Process): string => (io === null ? "" : formatBytes(io.read_bytes + io.written_bytes));

const deletedOf = ({ deleted_files: files }: Process): string =>
  files === null || files === undefined ? "" : `${formatBytes(files.bytes)} in ${counted(files.count, "file")}`;

interface Shown {
  readonly sort: ListOptions["sort"];
  readonly now: number;
}

function printProcesses(io: Io, { processes, total, notes }: ProcessList, { sort, now }: Shown): void {
  printTable(io, processes, {
    pid: ({ pid }) => pid,
    user: ({ user }) => user ?? "?",
    "cpu %": ({ cpu_percent: percent }) => percent.toFixed(1),
    memory: ({ memory_bytes: bytes }) => formatBytes(bytes),
    ...(sort === "io" && { "disk i/o": ioOf }),
    ...(sort === "deleted" && { "deleted but open": deletedOf }),
    unit: ({ unit }) => unit ?? "",
    command: commandOf,
    state: ({ state }) => state,
    since: ({ start_time: since }) => formatAge(since, now),
  });
  const all = countedOf(processes.length, total, "process", "processes");
  io.out(`${all}${processes.length < total ? " (--limit shows more)" : ""}\n`);
  for (const note of notes) io.err(`steward: ${oneLine(note)}\n`);
}

/** Numbers that a signal has on every machine (POSIX, kill). */
const numbered: Readonly<Record<string, ProcessSignal>> = { "1": "HUP", "2": "INT", "9": "KILL", "15": "TERM" };

function signalNamed(text: string): ProcessSignal {
  const name = text.toUpperCase().replace(/^SIG/, "");
  const found = processSignals.find((each) => each === name) ?? numbered[name];
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`it must be ${processSignals.join(", ")}`);
}

const mostPid = 4_194_304;

export function addProcessesCommands(program: Command, ports: CommandPorts): void {
  const { now } = ports;
  const processes = program.command("processes").description("processes of the host: list them, send them signals");
  const list = processes
    .presetCommand("list")
    .description("list processes, those that use the most first")
    .choice("-s, --sort <what>", "what they use", processOrders, "cpu")
    .addOption(new NamedOption("-u, --unit <unit>", "only of this unit, or of units like 'nginx*'", "unit"))
    .option("--user <user>", "only of this user, by name or number")
    .option("-p, --pid <pid>", "only this process", integer(1, mostPid))
    .option("--full", "command lines with their secrets, for keys with the scope processes:commands")
    .limit({ ...processListLimit, default: 30 });
  answerCommand(ports, list, {
    ask: (client, { sort, unit, user, pid, full, limit }: ListOptions) =>
      client.listProcesses({ query: { sort, limit, ...defined({ unit, user, pid, full_command: full }) } }),
    print: (io, answer) => printProcesses(io, answer, { sort: list.opts<ListOptions>().sort, now: now() }),
  });
  addSignalCommand(processes, ports);
}

function addSignalCommand(processes: Command, ports: CommandPorts): void {
  /** The process that was asked about is the one that gets it, however long the answer takes. */
  let startTime: string | undefined;
  const signal = processes
    .command("signal")
    .description("send a signal to a process, after a question")
    .argument("<pid>", "process id", integer(1, mostPid))
    .argument("<signal>", processSignals.join(", "), signalNamed)
    .option("--start-time <time>", "when it started, as the list has it: only this process is meant");
  changeCommand(ports, signal, {
    question: (_, pid: number, name: ProcessSignal, _options: { startTime?: string }) =>
      `Send SIG${name} to process ${pid}?`,
    async change(client, query, pid: number, name: ProcessSignal, options: { startTime?: string }) {
      startTime ??= options.startTime;
      if (startTime === undefined) {
        const { processes: found } = await client.listProcesses({ query: { pid } });
        if (found[0] === undefined)
          throw new Error(`cannot send SIG${name} to process ${pid}: there is no such process`);
        startTime = found[0].start_time;
      }
      const body = { signal: name, start_time: startTime };
      return client.signalProcess({ params: { pid }, query, body });
    },
    print: (io, { message }) => io.out(`${oneLine(message)}\n`),
  });
}
