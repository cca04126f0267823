import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { inOwnWords } from "../core/errors.ts";
import { parseNextTime } from "../core/log-time.ts";
import { changingCommand, commandGroup, showCommand } from "../core/operation-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printMessage } from "../output/print.ts";
import { formatTime } from "../output/text.ts";

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

export const addTimeCommands = commandGroup(
  { name: "time", about: "clock, time zone and time synchronisation of the host", preset: "show" },
  [
    showCommand("getTime", "show", { about: "time, time zone and time synchronisation", print: printTime }),
    changingCommand("setTime", "set", {
      about: "set the time zone, switch time synchronisation on or off",
      words: {
        timezone: { as: "--timezone <zone>", about: "such as Europe/Berlin; timedatectl list-timezones has them all" },
        ntp: { as: "--ntp <state>", about: "whether a time service sets the clock", means: { on: true, off: false } },
      },
      print: printMessage,
    }),
  ],
);

function printHostname(
  io: Io,
  { hostname, static_hostname: permanent, pretty_hostname: pretty }: Answer<"getHostname">,
) {
  io.out(`${oneLine(hostname)}\n`);
  if (permanent !== hostname) io.out(`from the next boot on: ${oneLine(permanent || "nothing is set")}\n`);
  if (pretty !== "") io.out(`display name: ${oneLine(pretty)}\n`);
}

export const addHostnameCommands = commandGroup({ name: "hostname", about: "name of the host", preset: "show" }, [
  showCommand("getHostname", "show", { about: "show the host name", print: printHostname }),
  changingCommand("setHostname", "set", {
    about: "rename the host, now and for each boot",
    notes: "/etc/hosts, DNS and certificates keep the former name.",
    words: {
      hostname: { as: "[name]", about: "such as web1 or web1.example.org" },
      pretty: { as: "--pretty <text>", about: "a display name, with any characters; empty removes it" },
    },
    print: printMessage,
  }),
]);

function printReboot(io: Io, state: Answer<"getReboot">): void {
  const { scheduled_at: at, users, inhibitors, operation_id: operationId } = state;
  if (users.length > 0) io.out(`logged in: ${oneLine(users.join(", "))}\n`);
  for (const { who, why, blocks } of inhibitors)
    io.out(`${blocks ? "inhibited" : "delayed"} by ${oneLine(`${who}: ${why}`)}\n`);
  if (operationId !== null) io.out(`packages or snapshots are being changed: ${oneLine(operationId)}\n`);
  io.out(at === null ? "no reboot is scheduled\n" : `the host reboots at ${formatTime(at)}\n`);
}

const rebootTime =
  ({ now }: CommandPorts) =>
  (text: string): string => {
    const at = parseNextTime(text, now());
    if (at === undefined) throw new InvalidArgumentError("it must be a time such as 03:00 or 2026-01-31 03:00");
    return at;
  };

export const addRebootCommands = commandGroup(
  { name: "reboot", about: "reboot the host, now or later", preset: "show" },
  [
    showCommand("getReboot", "show", {
      about: "when the host reboots, and what that would interrupt",
      print: printReboot,
    }),
    changingCommand("rebootHost", "start", {
      about: "reboot the host: shows what that interrupts, and asks",
      words: {
        at: {
          as: "--at <time>",
          about: "when: 03:00 for the next time that it is three, 2026-01-31 03:00; at once by default",
          read: rebootTime,
        },
        message: { as: "--message <text>", about: "for those who are logged in", default: "" },
        ignore_inhibitors: { as: "--ignore-inhibitors", about: "also while a program inhibits it" },
      },
      question: () => "Reboot this host?",
      print: (io, { message }) => io.out(`${oneLine(inOwnWords(message))} (steward reboot cancel)\n`),
    }),
    changingCommand("cancelReboot", "cancel", {
      about: "cancel a scheduled reboot",
      print: (io, { message }) => io.out(`${oneLine(inOwnWords(message))}\n`),
    }),
  ],
);
