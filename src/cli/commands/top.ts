import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, Client } from "#client/index.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { type Command, integer } from "../core/command.ts";
import { explainError } from "../core/errors.ts";
import type { CommandPorts } from "../core/ports.ts";
import type { FullScreen } from "../output/full-screen.ts";
import { exitCode, type Io, oneLine, printJson, screenOf } from "../output/output.ts";
import { paint } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { type TopState, topLines, topRows } from "./top-view.ts";

type ProcessList = Answer<"listProcesses">;

interface TopOptions {
  readonly interval: number;
  readonly sort: "cpu" | "memory";
  readonly json?: boolean;
}

/** So many processes of a unit are shown. */
const mostProcesses = 50;
/** SIGTERM, as a shell counts it. */
const terminated = 143;

const askUnits = (client: Client, sort: TopOptions["sort"]): Promise<ProcessList> =>
  client.listProcesses({ query: { sort, by_unit: true, limit: 1 } });

function printUnits(io: Io, { units = [], total, notes }: ProcessList): void {
  printTable(io, units, {
    unit: ({ unit }) => unit ?? "(no unit)",
    processes: ({ processes }) => processes,
    "cpu %": ({ cpu_percent: percent }) => percent.toFixed(1),
    memory: ({ memory_bytes: bytes }) => formatBytes(bytes),
  });
  io.out(`${counted(total, "process", "processes")}\n`);
  for (const note of notes) io.err(`steward: ${oneLine(note)}\n`);
}

const steps: Readonly<Record<string, number>> = {
  "\u001b[A": -1,
  "\u001bOA": -1,
  k: -1,
  "\u001b[B": 1,
  "\u001bOB": 1,
  j: 1,
  "\u001b[5~": -10,
  "\u001b[6~": 10,
};

/** What a key does to what is shown; `open` has the names of the units that are open. */
function pressed(key: string, state: TopState, open: Set<string>): TopState {
  const rows = topRows(state);
  const step = steps[key];
  if (step !== undefined) {
    return { ...state, chosen: Math.max(0, Math.min(rows.length - 1, state.chosen + step)) };
  }
  if (key === "c") return { ...state, sort: "cpu" };
  if (key === "m") return { ...state, sort: "memory" };
  const unit = rows[state.chosen]?.unit;
  if (unit === null || unit === undefined) return state;
  const isOpen = open.has(unit);
  if (isOpen && ["\r", "\n", " ", "\u001b[D", "\u001bOD"].includes(key)) {
    open.delete(unit);
    const chosen = rows.findIndex((row) => row.isUnit && row.unit === unit);
    return { ...state, chosen, open: new Map([...state.open].filter(([name]) => name !== unit)) };
  }
  if (!isOpen && ["\r", "\n", " ", "\u001b[C", "\u001bOC"].includes(key)) open.add(unit);
  return state;
}

async function nextState(client: Client, state: TopState, open: ReadonlySet<string>): Promise<TopState> {
  const { sort } = state;
  try {
    const list = await askUnits(client, sort);
    const found = new Map<string, ProcessList["processes"]>();
    for (const unit of open)
      found.set(unit, (await client.listProcesses({ query: { sort, unit, limit: mostProcesses } })).processes);
    return { ...state, list, open: found, fault: undefined };
  } catch (error) {
    return { ...state, fault: explainError(error) };
  }
}

/** Shows units and processes until a key or a signal ends it. @returns the exit code. */
async function showLive(screen: FullScreen, io: Io, client: Client, { interval, sort }: TopOptions): Promise<number> {
  const open = new Set<string>();
  let state: TopState = { list: undefined, open: new Map(), chosen: 0, sort, fault: undefined };
  let code: number | undefined;
  let wake = new AbortController();
  const draw = (): void => {
    const lines = topLines(state, screen.size());
    screen.draw(lines.map(({ text, style }) => paint(screenOf(io), style, text)));
  };
  const end = (result: number): void => {
    code ??= result;
    wake.abort();
  };
  const close = screen.open({
    onResize: draw,
    onSignal: (signal) => end(signal === "SIGINT" ? exitCode.interrupted : terminated),
    onKey(key) {
      if (key === "q") return end(exitCode.fine);
      if (key === "\u0003") return end(exitCode.interrupted);
      const before = { sort: state.sort, size: open.size };
      state = pressed(key, state, open);
      draw();
      if (before.sort !== state.sort || open.size > before.size) wake.abort();
    },
  });
  try {
    draw();
    while (code === undefined) {
      wake = new AbortController();
      const next = await nextState(client, state, open);
      if (code !== undefined) break;
      const { sort: chosenSort, chosen } = state;
      const most = Math.max(0, topRows(next).length - 1);
      const kept = new Map([...next.open].filter(([unit]) => open.has(unit)));
      state = { ...next, sort: chosenSort, chosen: Math.min(chosen, most), open: kept };
      draw();
      await sleep(interval * 1000, undefined, { signal: wake.signal }).catch(() => undefined);
    }
  } finally {
    close();
  }
  return code ?? exitCode.fine;
}

export function addTopCommand(program: Command, ports: CommandPorts): void {
  const { io, connect, finish, person } = ports;
  program
    .command("top")
    .description("resource usage of units and processes, live; printed once where standard output is not a terminal")
    .option("-i, --interval <seconds>", "refresh interval", integer(1, 3600), 4)
    .choice("-s, --sort <what>", "sort order", ["cpu", "memory"], "cpu")
    .json("print the usage of units once, as JSON")
    .notes(
      "Keys: q or Ctrl-C quit, arrows or j and k choose, enter opens a unit or closes it, c and m choose the order.",
    )
    .action(async (options: TopOptions, command: Command) => {
      const { client } = await connect(command);
      const screen = io.fullScreen;
      if (options.json || screen === undefined || !person.isThere) {
        const answer = await askUnits(client, options.sort);
        finish(exitCode.fine);
        return options.json ? printJson(io, answer) : printUnits(io, answer);
      }
      finish(await showLive(screen, io, client, options));
    });
}
