import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { TimeSync } from "#domain/ports/host.ts";
import { isProcessOutOfReach, orUndefined } from "#kernel/errors.ts";

const properties = ["CanNTP", "NTP", "NTPSynchronized"];

/** By systemd-nspawn, Podman and Docker (the container interface of systemd). */
const containerMarks = ["/run/systemd/container", "/run/.containerenv", "/.dockerenv"];

const hostPaths: { readonly booted: string; readonly containerMarks: readonly string[]; readonly procDir?: string } = {
  booted: "/run/systemd/system",
  containerMarks,
};

/** Programs that set the clock of the system, chrony(1), ntpd(8) of three projects, ntp-daemon(8) of ntpd-rs, phc2sys(8), by the names of their processes. */
const daemons = ["chronyd", "ntpd", "ntp-daemon", "phc2sys"];

async function runningDaemon(procDir: string): Promise<string | undefined> {
  for (const pid of (await readdir(procDir)).filter((name) => /^\d+$/.test(name))) {
    const name = (await orUndefined(readFile(join(procDir, pid, "comm"), "utf8"), isProcessOutOfReach))?.trim();
    if (name !== undefined && daemons.includes(name)) return name;
  }
  return undefined;
}

const switches: ReadonlyMap<string | undefined, boolean> = new Map([
  ["yes", true],
  ["no", false],
]);

/** `timedatectl show`: `Name=value` lines, switches as `yes` and `no`. Undefined where one of them is missing, or anything else. */
export function parseTimedate(text: string) {
  const values = new Map(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()] as const];
    }),
  );
  const [canSync, isEnabled, isSynchronised] = properties.map((name) => switches.get(values.get(name)));
  if (canSync === undefined || isEnabled === undefined || isSynchronised === undefined) return undefined;
  return { canSync, isEnabled, isSynchronised };
}

export function createTimeSync(ports: { exec: Exec; paths?: typeof hostPaths }): TimeSync {
  const { exec, paths = hostPaths } = ports;
  return {
    async state(signal) {
      if (!existsSync(paths.booted)) return undefined;
      const shown = properties.map((name) => `--property=${name}`);
      const { exitCode, stdout, stderr } = await exec(["timedatectl", "show", ...shown], { signal, timeoutMs: 10_000 });
      if (exitCode !== 0)
        throw new CommandFailed(`cannot ask timedatectl: ${stderr.trim() || `exit code ${exitCode}`}`);
      const state = parseTimedate(stdout);
      if (state === undefined) return undefined;
      // With timedatectl another daemon may be what is enabled.
      const otherDaemon = state.isEnabled ? undefined : await runningDaemon(paths.procDir ?? "/proc");
      return {
        ...state,
        isContainer: paths.containerMarks.some((mark) => existsSync(mark)),
        ...(otherDaemon !== undefined && { otherDaemon }),
      };
    },
    async enable(signal) {
      const { exitCode, stderr } = await exec(["timedatectl", "set-ntp", "true"], { signal, timeoutMs: 30_000 });
      if (exitCode !== 0) throw new CommandFailed(`timedatectl says: ${stderr.trim() || `exit code ${exitCode}`}`);
    },
  };
}
