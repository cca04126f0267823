import { Argument } from "commander";
import type { Answer } from "#client/index.ts";
import { type NotificationChannel, notificationChannels } from "#contract/alerts.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printTable } from "../output/table.ts";

function printNotifications(io: Io, { notifications, total }: Answer<"listNotifications">): void {
  printTable(io, notifications, {
    at: ({ created_at: at }) => at,
    channel: ({ channel }) => channel,
    outcome: ({ outcome }) => ({ text: outcome, style: outcome === "failed" ? "red" : undefined }),
    attempts: ({ attempts }) => attempts,
    what: ({ title, error }) => (error === null ? title : `${title} (${error})`),
  });
  io.out(`${notifications.length} of ${total}\n`);
}

function printTest(io: Io, { results, message }: Answer<"testNotifications">): void {
  for (const { channel, to, message: outcome } of results)
    io.out(`${oneLine(`${channel}${to.length === 0 ? "" : ` (${to.join(", ")})`}: ${outcome}`)}\n`);
  if (results.length === 0) io.out(`${oneLine(message)}\n`);
}

export function addNotifyCommands(program: Command, ports: CommandPorts): void {
  const notify = program.command("notify").description("see what people were told, and test whether they can be");
  const list = notify.presetCommand("list").description("list notifications and what became of them, newest first");
  answerCommand(ports, list, { ask: (client) => client.listNotifications(), print: printNotifications });
  const test = notify
    .command("test")
    .description("send a test notification to every channel of the settings, or to one")
    .addArgument(new Argument("[channel]", "the only one to send to").choices(notificationChannels))
    .notes("Exit code: 0 taken everywhere, 1 not taken somewhere, 2 the service could not be asked.");
  answerCommand(ports, test, {
    ask: (client, channel: NotificationChannel | undefined) => client.testNotifications({ body: defined({ channel }) }),
    isTrouble: ({ success }) => !success,
    print: printTest,
  });
}
