import { type HostFiles, isNotInstalled, type RunProgram } from "#domain/ports/host-files.ts";
import { type Clock, latestMs, toTimestamp } from "#kernel/clock.ts";
import { orUndefined } from "#kernel/errors.ts";
import { isNumber, isString, parseJsonObject } from "#kernel/values.ts";
import { type BuiltInCheck, type CheckSettings, type Outcome, skip, thresholdsFor } from "../check.ts";
import { createGrader, inUnit } from "../grading.ts";

/** How far the clock is from the time of its source, as the program says that sets it. */
interface ClockOffset {
  /** `chrony`, `systemd-timesyncd`, `ntpd`. */
  readonly program: string;
  /** The server, as the program names it; empty where it does not. */
  readonly server: string;
  /** Positive where the clock is behind. */
  readonly offsetMs: number;
  readonly stratum: number;
  /** When its source answered last, by the clock of the host then, epoch milliseconds; undefined where the program does not say. */
  readonly answeredAt: number | undefined;
}

/** Strata from here on are not synchronised, RFC 5905. */
const noStratum = 16;
/** Of the leap indicator: the clock is not synchronised. */
const leapUnknown = 3;
/** Further away than half an era of NTP, RFC 5905, no server can say that a clock is. */
const farthestMs = 2 ** 31 * 1000;
const mostShown = 100;

const unreadable = (program: string, text: string): Error =>
  new Error(`cannot read what ${program} says: ${JSON.stringify(text.trim().slice(0, mostShown))}`);

const decimal = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A decimal as programs print it; NaN for nothing, `nan`, `inf` and all else. */
const numberOf = (text = ""): number => (decimal.test(text) ? Number(text) : Number.NaN);

/** What is not zero; zero stands briefly that there was not. */
const timestampOf = (epochMs: number): number | undefined => (epochMs === 0 ? undefined : epochMs);

/** Undefined where the program is not synchronised. @throws for what is no stratum, distance or time. */
function plausible(found: ClockOffset, text: string): ClockOffset | undefined {
  const { program, stratum, offsetMs, answeredAt = 0 } = found;
  if (!Number.isInteger(stratum) || stratum < 0) throw unreadable(program, text);
  if (stratum === 0 || stratum >= noStratum) return undefined;
  const isPossible = Math.abs(offsetMs) <= farthestMs && answeredAt >= 0 && answeredAt <= latestMs;
  if (!isPossible) throw unreadable(program, text);
  return found;
}

/**
 * `chronyc -c tracking`, chronyc(1): values between commas. The fourth is when the source answered last, in seconds, the fifth by how
 * many seconds the clock is slow.
 * @throws for anything else.
 */
export function parseChrony(text: string): ClockOffset | undefined {
  const [, server = "", stratum, answered, slow, ...rest] = text.trim().split(",");
  if (rest.at(-1) === "Not synchronised") return undefined;
  return plausible(
    {
      program: "chrony",
      server,
      offsetMs: numberOf(slow) * 1000,
      stratum: numberOf(stratum),
      answeredAt: timestampOf(numberOf(answered) * 1000),
    },
    text,
  );
}

/**
 * The property NTPMessage of org.freedesktop.timesync1, as `busctl --json` has it: the last answer of the server with its four
 * timestamps in microseconds, from which RFC 5905 has the offset.
 * @throws for anything else.
 */
export function parseTimesync(text: string): ClockOffset | undefined {
  const program = "systemd-timesyncd";
  const message = parseJsonObject(text)?.["data"];
  if (!Array.isArray(message)) throw unreadable(program, text);
  const [leap = Number.NaN, stratum = Number.NaN, ...timestamps] = [0, 3, 8, 9, 10, 11].map((at) => {
    const value: unknown = message[at];
    return isNumber(value) ? value : Number.NaN;
  });
  const [origin = 0, received = 0, sent = 0, arrived = 0] = timestamps;
  if (leap === leapUnknown || timestamps.includes(0)) return undefined;
  const offsetMs = (received - origin + (sent - arrived)) / 2 / 1000;
  return plausible({ program, server: "", offsetMs, stratum, answeredAt: timestampOf(arrived / 1000) }, text);
}

/** `busctl --json` of a string. */
export const parseBusString = (text: string): string => {
  const value = parseJsonObject(text)?.["data"];
  return isString(value) ? value : "";
};

/** Seconds from 1900, where NTP begins to count, to 1970. */
const ntpSeconds = 2_208_988_800;
const eraSeconds = 2 ** 32;

/** The time of a timestamp of NTP in hexadecimal digits, `SECONDS.FRACTION`; those of 1968 to 2036 have the highest bit. */
function timestampOfNtp(text = ""): number | undefined {
  const seconds = Number.parseInt(/^([\da-f]{8})\.[\da-f]{8}$/i.exec(text)?.[1] ?? "0", 16);
  if (seconds === 0) return undefined;
  return Math.max(0, seconds + (seconds < eraSeconds / 2 ? eraSeconds : 0) - ntpSeconds) * 1000;
}

/** `ntpq -c rv`, ntpq(8): `name=value` between commas; the offset is in milliseconds. @throws for anything else. */
export function parseNtpq(text: string): ClockOffset | undefined {
  const of = (name: string): string | undefined => new RegExp(`\\b${name}=([^,\\s]+)`).exec(text)?.[1];
  if (of("leap") === leapUnknown.toString(2)) return undefined;
  return plausible(
    {
      program: "ntpd",
      server: of("refid") ?? "",
      offsetMs: numberOf(of("offset")),
      stratum: numberOf(of("stratum")),
      answeredAt: timestampOfNtp(of("reftime")),
    },
    text,
  );
}

interface Host {
  readonly hostFiles: Pick<HostFiles, "stat">;
  readonly exec: RunProgram;
}

const timesync = [
  "org.freedesktop.timesync1",
  "/org/freedesktop/timesync1",
  "org.freedesktop.timesync1.Manager",
] as const;

type Ask = (...argv: readonly [program: string, ...args: string[]]) => Promise<string | undefined>;

const readBy = (parse: (text: string) => ClockOffset | undefined, text: string | undefined): ClockOffset | undefined =>
  text === undefined ? undefined : parse(text);

async function byTimesync(ask: Ask): Promise<ClockOffset | undefined> {
  const get = (property: string) => ask("busctl", "--json=short", "get-property", ...timesync, property);
  const found = readBy(parseTimesync, await get("NTPMessage"));
  return found && { ...found, server: parseBusString((await get("ServerName")) ?? "") };
}

// It ends with 0 also where it reaches nobody, which it says on standard error.
const byNtpd = async (ask: Ask) => readBy(parseNtpq, (await ask("ntpq", "-c", "rv")) || undefined);

/** Programs that set the clock, each with what it has while it runs. */
const daemons: readonly (readonly [path: string, read: (ask: Ask) => Promise<ClockOffset | undefined>])[] = [
  ["/run/chrony", async (ask) => readBy(parseChrony, await ask("chronyc", "-c", "tracking"))],
  ["/run/systemd/timesync", byTimesync],
  ["/run/ntpd.pid", byNtpd],
  // The same on SUSE.
  ["/run/ntp/ntpd.pid", byNtpd],
];

async function running({ hostFiles }: Pick<Host, "hostFiles">): Promise<typeof daemons> {
  const found = await Promise.all(daemons.map(([path]) => orUndefined(hostFiles.stat(path))));
  return daemons.filter((_, at) => found[at] !== undefined);
}

/** Undefined where no such program runs, or it has no source yet. @throws when what it says is nonsense. */
export async function readOffset({ hostFiles, exec }: Host, signal: AbortSignal): Promise<ClockOffset | undefined> {
  /** Undefined where the program is not installed, or cannot reach what it asks. */
  const ask: Ask = async (...argv) => {
    const ended = await orUndefined(exec(argv, { signal, timeoutMs: 10_000 }), isNotInstalled);
    return ended?.exitCode === 0 ? ended.stdout : undefined;
  };
  // One at a time sets a clock, and what another has left behind says nothing; a question to one that does not run could have it started.
  for (const [, read] of await running({ hostFiles })) {
    const found = await read(ask);
    if (found !== undefined) return found;
  }
  return undefined;
}

const minuteMs = 60_000;

/** With three decimals, and without -0. */
const milliseconds = (value: number): number => Number(value.toFixed(3)) + 0;

function distance(offsetMs: number, source: string): string {
  if (offsetMs === 0) return `The clock agrees with ${source}`;
  return `The clock is ${Math.abs(offsetMs)} ms ${offsetMs > 0 ? "behind" : "ahead of"} ${source}`;
}

/** In milliseconds, in either direction. */
const limits = { warn: 100, fail: 1000 };

/** @param now epoch milliseconds. */
export function judgeOffset(found: ClockOffset, settings: CheckSettings, now: number): Outcome {
  const { program, server, stratum, answeredAt } = found;
  const offsetMs = milliseconds(found.offsetMs);
  const source = server === "" ? "its source" : server;
  const details = {
    offset_ms: offsetMs,
    program,
    server,
    stratum,
    last_answer_at: answeredAt === undefined ? null : toTimestamp(answeredAt),
  };
  const grader = createGrader(settings, inUnit("ms"));
  const { warn, fail } = thresholdsFor(limits, settings);
  const side = offsetMs < 0 ? -1 : 1;
  const figures = { details, thresholds: { offset_ms: { warn: side * warn, fail: side * fail } } };
  const status = grader.grade(Math.abs(offsetMs), { warn, fail });
  const setBackMs = answeredAt === undefined ? 0 : answeredAt - now;
  // What was behind is further behind since, and what was ahead may be right.
  const isCertain = status === "fail" && offsetMs > 0;
  if (setBackMs > minuteMs && !isCertain) {
    const message = `The clock was set back after the last answer of ${source}, which is now ${Math.round(setBackMs / minuteMs)} min in the future: the offset is unknown (look at ${program} and its source)`;
    return { status: "warn", message, ...figures, graded: {} };
  }
  const remedy = status === "pass" ? "" : ` (look at ${program} and its source)`;
  return grader.finish({ status, message: `${distance(offsetMs, source)}${remedy}`, ...figures });
}

const none = skip("No program sets this clock by NTP, or it has no source yet");

export const clockOffsetCheck = (ports: Host & { clock: Pick<Clock, "now"> }): BuiltInCheck => ({
  id: "clock_offset",
  name: "Offset of the clock",
  category: "system",
  severity: "medium",
  thresholds: limits,
  about:
    "How far the clock is from the time of its source, in milliseconds, as chrony, systemd-timesyncd or ntpd says: " +
    "by default 100 warns, 1000 fails. A last answer that is more than a minute in the future warns as well: the " +
    "clock was set back since. Whether there is a source at all is in `time_sync`.",
  meaning: "The clock is off by more than programs tolerate, although a time service runs.",
  remedy: "Ask the time service for its sources (chronyc sources, timedatectl timesync-status).",
  intervalMs: 15 * 60_000,
  absent: async () => ((await running(ports)).length > 0 ? undefined : none),
  async run(settings, signal) {
    const found = await readOffset(ports, signal);
    return found === undefined ? none : judgeOffset(found, settings, ports.clock.now());
  },
});
