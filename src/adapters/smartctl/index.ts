import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { SmartDisk, SmartDisks, UnreadDisk } from "#domain/ports/storage.ts";
import { isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { parseReport, parseScan, type ScannedDevice, whyUnread } from "./parse.ts";

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

  const ask = async (
    device: ScannedDevice,
    isShared: boolean,
    signal: AbortSignal,
  ): Promise<SmartDisk | UnreadDisk> => {
    const { name, type } = device;
    // The scan calls each disk of the SCSI layer so, SATA disks too: smartctl recognises them where it is not told what to take them for.
    const typed = type === "scsi" || type === "" ? [] : [`--device=${type}`];
    const argv = [program, "--json", "--all", "--nocheck=standby,0", ...typed, name] as const;
    const shown = isShared ? `${name} (${type})` : name;
    const ended = await exec(argv, { signal, timeoutMs }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof CommandFailed) return { unread: error.message };
      throw error;
    });
    if ("unread" in ended) return { name: shown, ...ended };
    const { exitCode, stdout } = ended;
    const report = (exitCode & notAsked) === 0 ? parseReport(stdout) : undefined;
    if (report === undefined) return { name: shown, unread: whyUnread(stdout, exitCode) };
    return isShared ? { ...report, name: shown } : report;
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
      const devices = parseScan(stdout).slice(0, mostDisks);
      // The disks of a RAID controller are asked through one device.
      const isShared = ({ name }: ScannedDevice): boolean => devices.filter((each) => each.name === name).length > 1;
      return Promise.all(devices.map((each) => ask(each, isShared(each), signal)));
    },
  };
}
