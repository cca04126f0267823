import type { Command } from "commander";
import { Argument } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { type NotificationChannel, notificationChannels } from "#contract/alerts.ts";
import type { Io } from "./output.ts";
import { exitCode, oneLine, printJson } from "./output.ts";

interface Ports {
  readonly io: Io;
  readonly client: (command: Command) => Promise<Client>;
  readonly finish: (code: number) => void;
}

async function printNotifications(io: Io, { notifications, total }: Answer<"listNotifications">): Promise<void> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({ head: ["at", "channel", "outcome", "attempts", "what"], style: { head: [], border: [] } });
  for (const { created_at: at, channel, outcome, attempts, title, error } of notifications) {
    const what = oneLine(error === null ? title : `${title} (${error})`);
    table.push([at, channel, outcome, attempts, what]);
  }
  io.out(`${table.toString()}\n`);
  io.out(`${notifications.length} of ${total}\n`);
}

/** `steward notify [list]|test`. */
export function addNotifyCommands(program: Command, { io, client, finish }: Ports): void {
  const notify = program.command("notify").description("see what people were told, and test whether they can be");
  notify
    .command("list", { isDefault: true })
    .description("list notifications and what became of them, newest first")
    .option("--json", "print the answer as JSON")
    .action(async (options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).listNotifications();
      if (options.json) return printJson(io, answer);
      await printNotifications(io, answer);
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
        io.out(`${name}${to.length === 0 ? "" : ` (${to.join(", ")})`}: ${oneLine(message)}\n`);
      }
      if (answer.results.length === 0) io.out(`${answer.message}\n`);
    });
}
