import { stat } from "node:fs/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { ClockOffset, ClockOffsets } from "#domain/ports/host.ts";
import { isNotFound, orUndefined } from "#kernel/errors.ts";
import { parseBusString, parseChrony, parseNtpq, parseTimesync } from "./parse.ts";

const timeoutMs = 10_000;

const hostPaths = {
  /** Each program has it while it runs. */
  chrony: "/run/chrony",
  timesync: "/run/systemd/timesync",
  ntp: "/run/ntpd.pid",
  /** The same on SUSE. */
  ntpOfSuse: "/run/ntp/ntpd.pid",
};

const timesync = [
  "org.freedesktop.timesync1",
  "/org/freedesktop/timesync1",
  "org.freedesktop.timesync1.Manager",
] as const;

const readBy = (parse: (text: string) => ClockOffset | undefined, text: string | undefined): ClockOffset | undefined =>
  text === undefined ? undefined : parse(text);

export function createClockOffsets(ports: { exec: Exec; paths?: typeof hostPaths }): ClockOffsets {
  const { exec, paths = hostPaths } = ports;

  const runs = async (path: string): Promise<boolean> => (await orUndefined(stat(path))) !== undefined;
  /** Undefined where the program is not installed, or cannot reach what it asks. */
  const ask = async (argv: readonly [string, ...string[]], signal: AbortSignal): Promise<string | undefined> => {
    const isMissing = (error: unknown): boolean => error instanceof CommandFailed && isNotFound(error.cause);
    const ended = await orUndefined(exec(argv, { signal, timeoutMs }), isMissing);
    return ended?.exitCode === 0 ? ended.stdout : undefined;
  };

  const byTimesync = async (signal: AbortSignal): Promise<ClockOffset | undefined> => {
    const get = (property: string) => ask(["busctl", "--json=short", "get-property", ...timesync, property], signal);
    const found = readBy(parseTimesync, await get("NTPMessage"));
    return found && { ...found, server: parseBusString((await get("ServerName")) ?? "") };
  };

  // It ends with 0 also where it reaches nobody, which it says on standard error.
  const byNtpd = async (signal: AbortSignal) =>
    readBy(parseNtpq, (await ask(["ntpq", "-c", "rv"], signal)) || undefined);
  const sources: readonly (readonly [path: string, read: (signal: AbortSignal) => Promise<ClockOffset | undefined>])[] =
    [
      [paths.chrony, async (signal) => readBy(parseChrony, await ask(["chronyc", "-c", "tracking"], signal))],
      [paths.timesync, byTimesync],
      [paths.ntp, byNtpd],
      [paths.ntpOfSuse, byNtpd],
    ];

  return {
    canRead: async () => (await Promise.all(Object.values(paths).map(runs))).includes(true),
    async read(signal) {
      // One at a time sets a clock, and what another has left behind says nothing; a question to one that does not run could have it started.
      for (const [path, read] of sources) {
        const found = (await runs(path)) ? await read(signal) : undefined;
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}
