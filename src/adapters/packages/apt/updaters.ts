import { existsSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";

const program = "/usr/bin/unattended-upgrade";
const timer = "apt-daily-upgrade.timer";

/** Reads `apt-config dump`: a period of 0, or none, switches something off, as does `Enable`. */
export function runsUnattended(dump: string): boolean {
  const settings = new Map(
    dump.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const isOff = (value: string | undefined): boolean => value === undefined || value === "" || value === "0";
  const { enable, period } = {
    enable: settings.get("APT::Periodic::Enable") ?? "1",
    period: settings.get("APT::Periodic::Unattended-Upgrade"),
  };
  return !isOff(enable) && !isOff(period);
}

/** `unattended-upgrades`, which a timer of apt runs where it is installed and switched on. */
export const createUpdaters =
  ({ exec, unattended = program }: { readonly exec: Exec; readonly unattended?: string }) =>
  async (signal: AbortSignal): Promise<readonly string[]> => {
    if (!existsSync(unattended)) return [];
    const question = ["/usr/bin/apt-config", "dump", "--format=%f=%v%n", "APT::Periodic"] as const;
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "apt" }, question, signal);
    if (exitCode !== 0) throw new ManagerRefuses("apt", stderr.trim());
    return runsUnattended(stdout) ? [timer] : [];
  };
