import { existsSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";

/** Tells whether the whole host goes down, which stops all of its services as well. */
export function createHostStopping({ exec }: { readonly exec: Exec }): () => Promise<boolean> {
  return async () => {
    if (!existsSync("/run/systemd/system")) return false;
    // It says so with an exit code that is not 0.
    const { stdout } = await exec(["/usr/bin/systemctl", "is-system-running"]);
    return stdout.trim() === "stopping";
  };
}
