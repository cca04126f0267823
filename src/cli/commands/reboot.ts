import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { answerCommand, changeCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { inOwnWords } from "../core/errors.ts";
import { parseNextTime } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { formatTime } from "../output/text.ts";

interface RebootOptions {
  readonly at?: string;
  readonly message: string;
  readonly ignoreInhibitors?: boolean;
}

function printState(io: Io, state: Answer<"getReboot">): void {
  const { scheduled_at: at, users, inhibitors, operation_id: operationId } = state;
  if (users.length > 0) io.out(`logged in: ${oneLine(users.join(", "))}\n`);
  for (const { who, why, blocks } of inhibitors)
    io.out(`${blocks ? "inhibited" : "delayed"} by ${oneLine(`${who}: ${why}`)}\n`);
  if (operationId !== null) io.out(`packages or snapshots are being changed: ${oneLine(operationId)}\n`);
  io.out(at === null ? "no reboot is scheduled\n" : `the host reboots at ${formatTime(at)}\n`);
}

export function addRebootCommands(program: Command, ports: CommandPorts): void {
  const { now } = ports;
  const reboot = program.command("reboot").description("reboot the host, now or later");
  const show = reboot.presetCommand("show").description("when the host reboots, and what that would interrupt");
  answerCommand(ports, show, { ask: (client) => client.getReboot(), print: printState });
  const start = reboot
    .command("start")
    .description("reboot the host: shows what that interrupts, and asks")
    .option(
      "--at <time>",
      "when: 03:00 for the next time that it is three, 2026-01-31 03:00; at once by default",
      (text: string) => {
        const at = parseNextTime(text, now());
        if (at === undefined) throw new InvalidArgumentError("it must be a time such as 03:00 or 2026-01-31 03:00");
        return at;
      },
    )
    .option("--message <text>", "for those who are logged in", "")
    .option("--ignore-inhibitors", "also while a program inhibits it");
  changeCommand<[RebootOptions], Answer<"rebootHost">>(ports, start, {
    change: (client, query, { at, message, ignoreInhibitors = false }: RebootOptions) =>
      client.rebootHost({
        query,
        body: {
          message,
          ignore_inhibitors: ignoreInhibitors,
          ...(at !== undefined && { at }),
        },
      }),
    question: () => "Reboot this host?",
    print: (io, { message }) => io.out(`${oneLine(inOwnWords(message))} (steward reboot cancel)\n`),
  });
  changeCommand(ports, reboot.command("cancel").description("cancel a scheduled reboot"), {
    change: (client, query) => client.cancelReboot({ query }),
    print: (io, { message }) => io.out(`${oneLine(inOwnWords(message))}\n`),
  });
}
