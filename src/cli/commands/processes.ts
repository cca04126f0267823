import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { type ProcessSignal, processSignals } from "#contract/processes.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { changeCommand } from "../core/answer-command.ts";
import { type Command, integer } from "../core/command.ts";
import { commandGroup, limitWord, listCommand } from "../core/operation-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { oneLine } from "../output/output.ts";
import { formatAge } from "../output/text.ts";
import { commandOf } from "./top-view.ts";

type Process = Answer<"listProcesses">["processes"][number];

const ioOf = ({ io }: Process): string => (io === null ? "" : formatBytes(io.read_bytes + io.written_bytes));

const deletedOf = ({ deleted_files: files }: Process): string =>
  files === null || files === undefined ? "" : `${formatBytes(files.bytes)} in ${counted(files.count, "file")}`;

const listProcesses = listCommand("listProcesses", "list", {
  about: "list processes, those that use the most first",
  words: {
    sort: { as: "-s, --sort <what>", about: "what they use", default: "cpu" },
    unit: { as: "-u, --unit <unit>", about: "only of this unit, or of units like 'nginx*'", names: "unit" },
    user: { as: "--user <user>", about: "only of this user, by name or number" },
    pid: { as: "-p, --pid <pid>", about: "only this process" },
    full_command: {
      as: "--full",
      about: "command lines with their secrets, for keys with the scope processes:commands",
    },
    limit: limitWord(30),
  },
  rows: "processes",
  columns: (_, { given: { sort }, now }) => ({
    pid: "pid",
    user: ({ user }) => user ?? "?",
    "cpu %": ({ cpu_percent: percent }) => percent.toFixed(1),
    memory: ({ memory_bytes: bytes }) => formatBytes(bytes),
    ...(sort === "io" && { "disk i/o": ioOf }),
    ...(sort === "deleted" && { "deleted but open": deletedOf }),
    unit: "unit",
    command: commandOf,
    state: "state",
    since: ({ start_time: since }) => formatAge(since, now),
  }),
  counts: ["process", "processes"],
  more: "--limit",
});

/** Numbers that a signal has on every machine (POSIX, kill). */
const numbered: Readonly<Record<string, ProcessSignal>> = { "1": "HUP", "2": "INT", "9": "KILL", "15": "TERM" };

function signalNamed(text: string): ProcessSignal {
  const name = text.toUpperCase().replace(/^SIG/, "");
  const found = processSignals.find((each) => each === name) ?? numbered[name];
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`it must be ${processSignals.join(", ")}`);
}

const mostPid = 4_194_304;

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

export const addProcessesCommands = commandGroup(
  { name: "processes", about: "processes of the host: list them, send them signals", preset: "list" },
  [listProcesses, addSignalCommand],
);
