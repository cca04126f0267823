import type { ClockOffset } from "#domain/ports/clock-offsets.ts";
import { isString, parseJsonObject } from "#kernel/values.ts";

/** Strata from here on are not synchronised, RFC 5905. */
const noStratum = 16;
const isSynchronised = (stratum: number): boolean => stratum > 0 && stratum < noStratum;

/** `chronyc -c tracking`, chronyc(1): values between commas, of which the fifth is by how many seconds the clock is slow. */
export function parseChrony(text: string): ClockOffset | undefined {
  const [, server = "", stratum, , slow, ...rest] = text.trim().split(",");
  if (!isSynchronised(Number(stratum)) || rest.at(-1) === "Not synchronised") return undefined;
  return { program: "chrony", server, offsetMs: Number(slow) * 1000, stratum: Number(stratum) };
}

/**
 * The property NTPMessage of org.freedesktop.timesync1, as `busctl --json` has it: the last answer of the server with its four
 * timestamps in microseconds, from which RFC 5905 has the offset.
 */
export function parseTimesync(text: string): ClockOffset | undefined {
  const message = parseJsonObject(text)?.["data"];
  if (!Array.isArray(message)) return undefined;
  const [stratum, origin, received, sent, arrived] = [3, 8, 9, 10, 11].map((at) => Number(message[at]));
  if (stratum === undefined || !isSynchronised(stratum) || !origin || !received || !sent || !arrived) return undefined;
  const offsetMs = (received - origin + (sent - arrived)) / 2 / 1000;
  return { program: "systemd-timesyncd", server: "", offsetMs, stratum };
}

/** `busctl --json` of a string. */
export const parseBusString = (text: string): string => {
  const value = parseJsonObject(text)?.["data"];
  return isString(value) ? value : "";
};

/** `ntpq -c rv`, ntpq(8): `name=value` between commas; the offset is in milliseconds. */
export function parseNtpq(text: string): ClockOffset | undefined {
  const of = (name: string): string | undefined => new RegExp(`\\b${name}=([^,\\s]+)`).exec(text)?.[1];
  const stratum = Number(of("stratum"));
  const offsetMs = Number(of("offset"));
  if (!isSynchronised(stratum) || Number.isNaN(offsetMs)) return undefined;
  return { program: "ntpd", server: of("refid") ?? "", offsetMs, stratum };
}
