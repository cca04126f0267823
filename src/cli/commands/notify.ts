import type { Command } from "commander";
import { Argument } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { type NotificationChannel, notificationChannels } from "#contract/alerts.ts";
import { presetCommand } from "../core/preset-command.ts";
import type { Io } from "../output/output.ts";
import { exitCode, oneLine, printJson } from "../output/output.ts";
import { printTable } from "../output/table.ts";

interface Ports {
  readonly io: Io;
  readonly client: (command: Command) => Promise<Client>;
  readonly finish: (code: number) => void;
}

function printNotifications(io: Io, { notifications, total }: Answer<"listNotifications">): void {
  printTable(
    io,
    ["at", "channel", "outcome", "attempts", "what"],
    notifications.map(({ created_at: at, channel, outcome, attempts, title, error }) => [
      at,
      channel,
      { text: outcome, style: outcome === "failed" ? "red" : undefined },
      attempts,
      error === null ? title : `${title} (${error})`,
    ]),
  );
  io.out(`${notifications.length} of ${total}\n`);
}

/** `steward notify [list]|test`. */
export function addNotifyCommands(program: Command, { io, client, finish }: Ports): void {
  const notify = program.command("notify").description("see what people were told, and test whether they can be");
  presetCommand(notify, "list")
    .description("list notifications and what became of them, newest first")
    .option("--json", "print the answer as JSON")
    .action(async (options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).listNotifications();
      if (options.json) return printJson(io, answer);
      printNotifications(io, answer);
    });
  notify
    .command("test")
    .description("send a test notification to every channel of the settings, or to one")
    .addArgument(new Argument("[channel]", "the only one to send to").choices(notificationChannels))
    .option("--json", "print the answer as JSON")
    .addHelpText("after", "\nExit code: 0 taken everywhere, 1 not taken somewhere, 2 the service could not be asked.")
    .action(async (channel: NotificationChannel | undefined, options: { json?: boolean }, command: Command) => {
      const body = channel === undefined ? {} : { channel };
      const answer = await (await client(command)).testNotifications({ body });
      finish(answer.success ? exitCode.fine : exitCode.foundTrouble);
      if (options.json) return printJson(io, answer);
      for (const { channel: name, to, message } of answer.results) {
        io.out(`${oneLine(`${name}${to.length === 0 ? "" : ` (${to.join(", ")})`}: ${message}`)}\n`);
      }
      if (answer.results.length === 0) io.out(`${oneLine(answer.message)}\n`);
    });
}
