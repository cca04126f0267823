import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { type ProcessSignal, processSignals } from "#contract/processes.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { type AddCommand, changingCommand, commandGroup, listCommand } from "../core/operation-command.ts";
import { limitWord } from "../core/operation-words.ts";
import { printMessage } from "../output/print.ts";
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

/** The process that was asked about is the one that gets it, however long the answer takes. */
const addSignalCommand: AddCommand = (processes, ports) => {
  let startTime: string | undefined;
  const signal = changingCommand("signalProcess", "signal", {
    about: "send a signal to a process, after a question",
    words: {
      pid: { as: "<pid>", about: "process id" },
      signal: { as: "<signal>", about: processSignals.join(", "), read: () => signalNamed },
      start_time: {
        as: "--start-time <time>",
        about: "when it started, as the list has it: only this process is meant",
        read: () => (text) => text,
      },
    },
    question: (_, { pid, signal: name }) => `Send SIG${name} to process ${pid}?`,
    async call(client, { params, query, body }) {
      startTime ??= body.start_time;
      if (startTime === undefined) {
        const { processes: found } = await client.listProcesses({ query: { pid: params.pid } });
        if (found[0] === undefined)
          throw new Error(`cannot send SIG${body.signal} to process ${params.pid}: there is no such process`);
        startTime = found[0].start_time;
      }
      return client.signalProcess({ params, query, body: { ...body, start_time: startTime } });
    },
    print: printMessage,
  });
  signal(processes, ports);
};

export const addProcessesCommands = commandGroup(
  { name: "processes", about: "processes of the host: list them, send them signals", preset: "list" },
  [listProcesses, addSignalCommand],
);
