import { CommandFailed } from "#adapters/exec/command.ts";
import type { ClockOffset } from "#domain/ports/host.ts";
import { latestMs } from "#kernel/clock.ts";
import { isNumber, isString, parseJsonObject } from "#kernel/values.ts";

/** Strata from here on are not synchronised, RFC 5905. */
const noStratum = 16;
/** Of the leap indicator: the clock is not synchronised. */
const leapUnknown = 3;
/** Further away than half an era of NTP, RFC 5905, no server can say that a clock is. */
const farthestMs = 2 ** 31 * 1000;
const mostShown = 100;

const unreadable = (program: string, text: string): CommandFailed =>
  new CommandFailed(`cannot read what ${program} says: ${JSON.stringify(text.trim().slice(0, mostShown))}`);

const decimal = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A decimal as programs print it; NaN for nothing, `nan`, `inf` and all else. */
const numberOf = (text = ""): number => (decimal.test(text) ? Number(text) : Number.NaN);

/** What is not zero; zero stands for a moment that there was not. */
const momentOf = (epochMs: number): number | undefined => (epochMs === 0 ? undefined : epochMs);

/** Undefined where the program is not synchronised. @throws CommandFailed for what is no stratum, distance or moment. */
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
 * @throws CommandFailed for anything else.
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
      answeredAt: momentOf(numberOf(answered) * 1000),
    },
    text,
  );
}

/**
 * The property NTPMessage of org.freedesktop.timesync1, as `busctl --json` has it: the last answer of the server with its four
 * timestamps in microseconds, from which RFC 5905 has the offset.
 * @throws CommandFailed for anything else.
 */
export function parseTimesync(text: string): ClockOffset | undefined {
  const program = "systemd-timesyncd";
  const message = parseJsonObject(text)?.["data"];
  if (!Array.isArray(message)) throw unreadable(program, text);
  const [leap = Number.NaN, stratum = Number.NaN, ...moments] = [0, 3, 8, 9, 10, 11].map((at) => {
    const value: unknown = message[at];
    return isNumber(value) ? value : Number.NaN;
  });
  const [origin = 0, received = 0, sent = 0, arrived = 0] = moments;
  if (leap === leapUnknown || moments.includes(0)) return undefined;
  const offsetMs = (received - origin + (sent - arrived)) / 2 / 1000;
  return plausible({ program, server: "", offsetMs, stratum, answeredAt: momentOf(arrived / 1000) }, text);
}

/** `busctl --json` of a string. */
export const parseBusString = (text: string): string => {
  const value = parseJsonObject(text)?.["data"];
  return isString(value) ? value : "";
};

/** Seconds from 1900, where NTP begins to count, to 1970. */
const ntpSeconds = 2_208_988_800;
const eraSeconds = 2 ** 32;

/** The moment of a timestamp of NTP in hexadecimal digits, `SECONDS.FRACTION`; those of 1968 to 2036 have the highest bit. */
function momentOfNtp(text = ""): number | undefined {
  const seconds = Number.parseInt(/^([\da-f]{8})\.[\da-f]{8}$/i.exec(text)?.[1] ?? "0", 16);
  if (seconds === 0) return undefined;
  return Math.max(0, seconds + (seconds < eraSeconds / 2 ? eraSeconds : 0) - ntpSeconds) * 1000;
}

/** `ntpq -c rv`, ntpq(8): `name=value` between commas; the offset is in milliseconds. @throws CommandFailed for anything else. */
export function parseNtpq(text: string): ClockOffset | undefined {
  const of = (name: string): string | undefined => new RegExp(`\\b${name}=([^,\\s]+)`).exec(text)?.[1];
  if (of("leap") === leapUnknown.toString(2)) return undefined;
  return plausible(
    {
      program: "ntpd",
      server: of("refid") ?? "",
      offsetMs: numberOf(of("offset")),
      stratum: numberOf(of("stratum")),
      answeredAt: momentOfNtp(of("reftime")),
    },
    text,
  );
}
