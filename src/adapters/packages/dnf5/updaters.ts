import { existsSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { Asks } from "../common/ports.ts";

const timers = ["dnf5-automatic.timer", "dnf-automatic.timer"] as const;
const service = "dnf5-automatic.service";

/** Whether these settings, from the weakest to the strongest, let `dnf5 automatic` install what it finds. */
export const appliesUpdates = (settings: readonly string[]): boolean =>
  settings
    .flatMap((text) => [...text.matchAll(/^[ \t]*apply_updates[ \t]*=[ \t]*(\S+)/gm)])
    .map(([, value = ""]) => /^(?:yes|true|on|1)$/i.test(value))
    .at(-1) ?? false;

/** `dnf5 automatic`, unless it only downloads or tells of updates. */
export const createUpdaters =
  ({ exec, settings }: { readonly exec: Exec; readonly settings: readonly string[] }): Asks<readonly string[]> =>
  async (signal) => {
    if (appliesUpdates(await Promise.all(settings.map((path) => readTextOrEmpty(path))))) return timers;
    if (!existsSync("/run/systemd/system")) return [];
    // An option in its unit is stronger than the settings.
    const words = ["show", "--property=ExecStart", "--value", "--", service] as const;
    const { stdout } = await exec(["/usr/bin/systemctl", ...words], { signal });
    return / --installupdates\b/.test(stdout) ? timers : [];
  };
