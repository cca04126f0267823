import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { SmartDisks } from "#domain/ports/smart-disks.ts";
import { isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { parseReport, parseScan, type ScannedDevice } from "./parse.ts";

const programPath = "/usr/sbin/smartctl";
const timeoutMs = 20_000;
const mostDisks = 64;
/** Bits of the exit code that say that smartctl could not ask, smartctl(8); the others are about the disk. */
const notAsked = 0b11;

export function createSmartDisks(ports: { exec: Exec; sysDir?: string; program?: string }): SmartDisks {
  const { exec, sysDir = "/sys", program = programPath } = ports;

  /** Disks of virtual machines, and what is made of files and other disks, have no SMART. */
  const isReal = async (name: string): Promise<boolean> => {
    const path = (await orUndefined(realpath(join(sysDir, "block", name)))) ?? "";
    return path !== "" && !path.includes("/devices/virtual/") && /^(sd|nvme|hd)/.test(name);
  };

  const ask = async ({ name, type }: ScannedDevice, signal: AbortSignal) => {
    const argv = [program, "--json", "--all", "--nocheck=standby,0", `--device=${type}`, name] as const;
    const { exitCode, stdout } = await exec(argv, { signal, timeoutMs });
    return (exitCode & notAsked) === 0 ? parseReport(stdout) : undefined;
  };

  return {
    async canList() {
      if ((await orUndefined(stat(program))) === undefined) return false;
      const names = (await orUndefined(readdir(join(sysDir, "block")), isPermissionDenied)) ?? [];
      return (await Promise.all(names.map(isReal))).includes(true);
    },
    async list(signal) {
      const { exitCode, stdout, stderr } = await exec([program, "--json", "--scan"], { signal, timeoutMs });
      if ((exitCode & notAsked) !== 0)
        throw new CommandFailed(`cannot ask smartctl: ${stderr.trim() || `exit code ${exitCode}`}`);
      const found = await Promise.all(
        parseScan(stdout)
          .slice(0, mostDisks)
          .map((each) => ask(each, signal)),
      );
      return found.filter((disk) => disk !== undefined);
    },
  };
}
