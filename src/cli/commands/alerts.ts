import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { Answer } from "#client/index.ts";
import { type AlertName, alertNames } from "#contract/alerts.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { presetCommand } from "../core/preset-command.ts";
import { type Io, oneLine } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

type AlertList = Answer<"listAlerts">;

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const duration = /^([1-9]\d{0,4})([mhd])$/;

/** `30m`, `4h`, `2d` in milliseconds. */
function durationMs(text: string): number {
  const match = duration.exec(text);
  if (match === null) throw new InvalidArgumentError("it must be a time such as 30m, 4h or 2d");
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

const evaluatedBy: Readonly<Record<AlertList["alerts"][number]["evaluated_by"], string>> = {
  steward: "not measured",
  prometheus: "by Prometheus",
  systemd: "by systemd",
  nobody: "by nobody",
};

const styles: Readonly<Record<AlertList["alerts"][number]["state"], Style | undefined>> = {
  inactive: undefined,
  pending: "yellow",
  firing: "red",
  not_evaluated: "dim",
};

function printAlerts(io: Io, { alerts, firing }: AlertList): void {
  printTable(
    io,
    ["alert", "severity", "state", "since", "value", "condition"],
    alerts.map((alert) => {
      const { name, severity, state, since, value, condition, silenced } = alert;
      const shown = state === "not_evaluated" ? evaluatedBy[alert.evaluated_by] : state;
      const text = silenced ? `${shown}, silenced` : shown;
      return [name, severity, { text, style: styles[state] }, since ?? "", value ?? "", condition];
    }),
  );
  io.out(`${firing} firing\n`);
}

function printSilences(io: Io, { silences }: Answer<"listSilences">): void {
  printTable(
    io,
    ["id", "alert", "until", "by", "comment"],
    silences.map(({ id, alert, until, created_by: by, comment }) => [id, alert, until, by, comment]),
  );
}

function addAlertList(alerts: Command, ports: CommandPorts): void {
  const command = presetCommand(alerts, "list")
    .description("list all alerts and their states")
    .addHelpText(
      "after",
      "\nExit code: 0 nothing fires, or what fires is silenced; 1 something fires; 2 it could not be asked.",
    );
  answerCommand(ports, command, {
    ask: (client) => client.listAlerts(),
    isTrouble: ({ alerts: all }) => all.some(({ state, silenced }) => state === "firing" && !silenced),
    print: printAlerts,
  });
}

function addSilenceCommands(alerts: Command, ports: CommandPorts): void {
  const silence = alerts
    .command("silence")
    .description("tell nobody of an alert for a while")
    .addArgument(new Argument("<alert>", "the alert").choices(alertNames))
    .addOption(
      new Option("--for <time>", "for how long: 30m, 4h, 2d; 30 days at most")
        .argParser(durationMs)
        .makeOptionMandatory(),
    )
    .option("--comment <text>", "why, for others", "");
  answerCommand(ports, silence, {
    ask: (client, alert: AlertName, options: { for: number; comment: string }) => {
      const until = new Date(ports.now() + options.for).toISOString();
      return client.silenceAlert({ body: { alert, until, comment: options.comment } });
    },
    print: (io, { alert, until, id }) => io.out(`${oneLine(`${alert} is silenced until ${until} (${id})`)}\n`),
  });
  answerCommand(ports, alerts.command("silences").description("list silences that have not ended"), {
    ask: (client) => client.listSilences(),
    print: printSilences,
  });
  const unsilence = alerts
    .command("unsilence")
    .description("end a silence")
    .argument("<id>", "its id, as `steward alerts silences` has it");
  answerCommand(ports, unsilence, {
    ask: (client, id: string) => client.removeSilence({ params: { id } }),
    print: (io, { message }) => io.out(`${oneLine(message)}\n`),
  });
}

/** `steward alerts [list]|silence|silences|unsilence`. */
export function addAlertsCommands(program: Command, ports: CommandPorts): void {
  const alerts = program.command("alerts").description("list alerts, and silence them");
  addAlertList(alerts, ports);
  addSilenceCommands(alerts, ports);
}
