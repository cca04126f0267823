import type { Answer } from "#client/index.ts";
import { answerCommand, changeCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";

/** The time in a zone, as `2026-01-31 12:00:00`; undefined in one that only the host knows. */
function localTime(time: string, timeZone: string): string | undefined {
  try {
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
    return format.format(Date.parse(time));
  } catch {
    return undefined;
  }
}

function printTime(io: Io, answer: Answer<"getTime">): void {
  const sync = answer.ntp
    ? `on, ${answer.ntp_synchronized ? "and sets the clock" : "and has not set the clock yet"}`
    : answer.ntp_available
      ? "off"
      : "none is installed";
  const lines = [
    ["local time", localTime(answer.time, answer.timezone) ?? "not known for this time zone"],
    ["UTC", answer.time],
    ["time zone", answer.timezone],
    ["time service", sync],
    ["hardware clock", answer.rtc_in_local_time ? "in local time" : "in UTC"],
  ] as const;
  for (const [label, text] of lines) io.out(`${label.padEnd(14)}  ${oneLine(text)}\n`);
}

interface TimeOptions {
  readonly timezone?: string;
  readonly ntp?: "on" | "off";
}

export function addTimeCommands(program: Command, ports: CommandPorts): void {
  const time = program.command("time").description("clock, time zone and time synchronisation of the host");
  answerCommand(ports, time.presetCommand("show").description("time, time zone and time synchronisation"), {
    ask: (client) => client.getTime(),
    print: printTime,
  });
  const set = time
    .command("set")
    .description("set the time zone, switch time synchronisation on or off")
    .option("--timezone <zone>", "such as Europe/Berlin; timedatectl list-timezones has them all")
    .choice("--ntp <state>", "whether a time service sets the clock", ["on", "off"]);
  changeCommand(ports, set, {
    change: (client, query, { timezone, ntp }: TimeOptions) =>
      client.setTime({
        query,
        body: { ...(timezone !== undefined && { timezone }), ...(ntp !== undefined && { ntp: ntp === "on" }) },
      }),
    print: (io, { message }) => io.out(`${oneLine(message)}\n`),
  });
}

function printHostname(
  io: Io,
  { hostname, static_hostname: permanent, pretty_hostname: pretty }: Answer<"getHostname">,
) {
  io.out(`${oneLine(hostname)}\n`);
  if (permanent !== hostname) io.out(`from the next boot on: ${oneLine(permanent || "nothing is set")}\n`);
  if (pretty !== "") io.out(`display name: ${oneLine(pretty)}\n`);
}

export function addHostnameCommands(program: Command, ports: CommandPorts): void {
  const names = program.command("hostname").description("name of the host");
  answerCommand(ports, names.presetCommand("show").description("show the host name"), {
    ask: (client) => client.getHostname(),
    print: printHostname,
  });
  const set = names
    .command("set")
    .description("rename the host, now and for each boot")
    .argument("[name]", "such as web1 or web1.example.org")
    .option("--pretty <text>", "a display name, with any characters; empty removes it")
    .notes("/etc/hosts, DNS and certificates keep the former name.");
  changeCommand(ports, set, {
    change: (client, query, hostname: string | undefined, { pretty }: { pretty?: string }) =>
      client.setHostname({
        query,
        body: { ...(hostname !== undefined && { hostname }), ...(pretty !== undefined && { pretty }) },
      }),
    print: (io, { message }) => io.out(`${oneLine(message)}\n`),
  });
}
