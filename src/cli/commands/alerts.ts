import { Argument, InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { alertNames, type NotificationChannel, notificationChannels } from "#contract/alerts.ts";
import { counted, countedOf } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, checkIds, SuggestingArgument } from "../core/command.ts";
import { parseDuration } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printFields } from "../output/print.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type AlertList = Answer<"listAlerts">;

function durationMs(text: string): number {
  const found = parseDuration(text);
  if (found === undefined) throw new InvalidArgumentError("it must be a time such as 30m, 4h or 2d");
  return found;
}

function silencedName(text: string): string {
  if (alertNames.some((name) => name === text) || /^[a-z0-9_-]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError(`it is neither an alert (${alertNames.join(", ")}) nor the id of a health check`);
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
  printTable(io, alerts, {
    alert: ({ name }) => name,
    severity: ({ severity }) => severity,
    state({ state, evaluated_by: by, silenced }) {
      const shown = state === "not_evaluated" ? evaluatedBy[by] : state;
      return { text: silenced ? `${shown}, silenced` : shown, style: styles[state] };
    },
    since: ({ since }) => (since === null ? "" : formatTime(since)),
    value: ({ value }) => value ?? "",
    condition: ({ condition }) => condition,
  });
  io.out(`${firing} firing\n`);
}

function printSilences(io: Io, { silences }: Answer<"listSilences">): void {
  printTable(io, silences, {
    id: ({ id }) => id,
    alert: ({ alert, check }) => alert ?? check ?? "",
    until: ({ until }) => formatTime(until),
    by: ({ created_by: by }) => by,
    comment: ({ comment }) => comment,
  });
  io.out(`${counted(silences.length, "silence")}\n`);
}

function addAlertList(alerts: Command, ports: CommandPorts): void {
  const command = alerts
    .presetCommand("list")
    .description("list all alerts and their states")
    .notes("Exit code: 0 nothing fires, or what fires is silenced; 1 something fires; 2 the request failed.");
  answerCommand(ports, command, {
    ask: (client) => client.listAlerts(),
    isTrouble: ({ alerts: all }) => all.some(({ state, silenced }) => state === "firing" && !silenced),
    print: printAlerts,
  });
}

function addAlertShow(alerts: Command, ports: CommandPorts): void {
  const show = alerts
    .command("show")
    .description("one alert and its state")
    .addArgument(new SuggestingArgument("<name>", `the alert (${alertNames.join(", ")})`, alertNames))
    .notes("Exit code: 0 it does not fire, or is silenced; 1 it fires; 2 the request failed.");
  answerCommand(ports, show, {
    ask: (client, name: string) => client.getAlert({ params: { name } }),
    isTrouble: ({ state, silenced }) => state === "firing" && !silenced,
    print: printFields,
  });
}

function addSilenceCommands(alerts: Command, ports: CommandPorts): void {
  const silence = alerts
    .command("silence")
    .description("silence an alert or a health check")
    .addArgument(
      new SuggestingArgument("<name>", `the alert (${alertNames.join(", ")}) or the id of the health check`, [
        ...alertNames,
        ...checkIds,
      ]).argParser(silencedName),
    )
    .requiredOption("--for <time>", "for how long: 30m, 4h, 2d; 30 days at most", durationMs)
    .option("--comment <text>", "reason, shown to others", "");
  answerCommand(ports, silence, {
    ask: (client, name: string, { for: forMs, comment }: { for: number; comment: string }) => {
      const alert = alertNames.find((each) => each === name);
      const until = new Date(ports.now() + forMs).toISOString();
      return client.silenceAlert({ body: { ...(alert === undefined ? { check: name } : { alert }), until, comment } });
    },
    print: (io, { alert, check, until, id }) =>
      io.out(`${oneLine(`${alert ?? check} is silenced until ${formatTime(until)} (${id})`)}\n`),
  });
  const list = alerts
    .command("silences")
    .description("list active silences, or show one")
    .argument("[id]", "the one to show");
  answerCommand(ports, list, {
    ask: (client, id: string | undefined): Promise<Answer<"listSilences"> | Answer<"getSilence">> =>
      id === undefined ? client.listSilences() : client.getSilence({ params: { id } }),
    print: (io, answer) => ("silences" in answer ? printSilences(io, answer) : printFields(io, answer)),
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

export function addAlertsCommands(program: Command, ports: CommandPorts): void {
  const alerts = program.command("alerts").description("list alerts, and silence them");
  addAlertList(alerts, ports);
  addAlertShow(alerts, ports);
  addSilenceCommands(alerts, ports);
}

function printNotifications(io: Io, { notifications, total }: Answer<"listNotifications">): void {
  printTable(io, notifications, {
    at: ({ created_at: at }) => formatTime(at),
    channel: ({ channel }) => channel,
    outcome: ({ outcome }) => ({ text: outcome, style: outcome === "failed" ? "red" : undefined }),
    attempts: ({ attempts }) => attempts,
    what: ({ title, error }) => (error === null ? title : `${title} (${error})`),
  });
  io.out(`${countedOf(notifications.length, total, "notification")}\n`);
}

function printTest(io: Io, { results, message }: Answer<"testNotifications">): void {
  for (const { channel, to, message: outcome } of results)
    io.out(`${oneLine(`${channel}${to.length === 0 ? "" : ` (${to.join(", ")})`}: ${outcome}`)}\n`);
  if (results.length === 0) io.out(`${oneLine(message)}\n`);
}

export function addNotifyCommands(program: Command, ports: CommandPorts): void {
  const notify = program.command("notify").description("list sent notifications, and test the channels");
  const list = notify.presetCommand("list").description("list notifications and their outcome, newest first");
  answerCommand(ports, list, { ask: (client) => client.listNotifications(), print: printNotifications });
  const test = notify
    .command("test")
    .description("send a test notification to every channel of the settings, or to one")
    .addArgument(new Argument("[channel]", "send to this channel only").choices(notificationChannels))
    .notes("Exit code: 0 accepted by all channels, 1 refused by at least one, 2 the service could not be asked.");
  answerCommand(ports, test, {
    ask: (client, channel: NotificationChannel | undefined) => client.testNotifications({ body: defined({ channel }) }),
    isTrouble: ({ success }) => !success,
    print: printTest,
  });
}
