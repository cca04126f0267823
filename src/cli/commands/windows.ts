import type { Answer } from "#client/index.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import type { Io } from "../output/output.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type Window = Answer<"listWindows">["windows"][number];

const stateOf = ({ open, closes_at: closes }: Window): string => {
  if (!open) return "closed";
  return closes === null ? "open" : `open until ${formatTime(closes)}`;
};

function effectOf({ allow, deny, silence }: Window): string {
  const parts = [
    ...(allow.length === 0 ? [] : [`allows ${allow.join(" ")}`]),
    ...(deny.length === 0 ? [] : [`forbids ${deny.join(" ")}`]),
    ...(silence ? ["silent"] : []),
  ];
  return parts.join("; ");
}

function printWindows(io: Io, { windows }: Answer<"listWindows">): void {
  if (windows.length === 0) {
    io.out("no windows: changes are allowed at any time\n");
    return;
  }
  printTable(io, windows, {
    window: ({ name }) => name,
    state: (window) => ({ text: stateOf(window), style: window.open ? "green" : "dim" }),
    "opens next": ({ opens_next_at: next }) => (next === null ? "not in sight" : formatTime(next)),
    effect: effectOf,
  });
}

export function addWindowsCommand(program: Command, ports: CommandPorts): void {
  const command = program
    .command("windows")
    .description("windows in which changes are allowed or forbidden")
    .notes(
      "They are in the settings of the service. Inside one, what it allows may be done, and what it forbids may not.",
    );
  answerCommand(ports, command, { ask: (client) => client.listWindows(), print: printWindows });
}
