import { join } from "node:path";
import { pinnedNode } from "../scripts/package/node.ts";
import { installProgram } from "../scripts/package/tree.ts";
import { bootHost } from "../test/host/host.ts";
import { guestNode, type Timed } from "./unit-host.ts";
import { withWorkspace } from "./workspace.ts";

const program = "/opt/packaged";
const code = "/var/tmp/bench-code";
/** It gives up at a prompt sooner than a busy machine may have started it. */
const patience = { STEWARD_COMPLETION_MS: "60000" };
const complete = [`${program}/node`, `${program}/main.js`, "__complete", "plain", "unit"] as const;
const listUnits = ["systemctl", "--all", "--full", "--plain", "--no-legend", "--no-pager", "list-units"] as const;

/** What a shell runs to complete the name of a unit, in the test host. */
export interface CompletionHost {
  readonly timeOurs: (runs: number) => Promise<Timed>;
  readonly timeSystemctl: (runs: number) => Promise<Timed>;
}

/** Boots the test host with the program of the package, and stops it when `use` is over. */
export const withCompletionHost = <T>(
  say: (text: string) => void,
  use: (host: CompletionHost) => Promise<T>,
): Promise<T> =>
  withWorkspace(async ({ directory }) => {
    await installProgram(directory, { version: "0.0.0", epochSeconds: 0, node: pinnedNode() });
    const bind = [{ source: join(directory, "usr/lib/steward"), target: program, readOnly: true }];
    const host = await bootHost({ log: say, bind });
    try {
      const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
      const compiled = { NODE_COMPILE_CACHE: code };
      await host.exec([`${program}/node`, `${program}/program/compile.js`], { env: compiled });
      const env = { ...compiled, ...patience, STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
      const time = async (runs: number, argv: readonly string[]): Promise<Timed> => {
        const timing = [guestNode, "/opt/steward/bench/guest/time-names.ts", String(runs), ...argv];
        return JSON.parse((await host.exec(timing, { env })).stdout) as Timed;
      };
      return await use({
        timeOurs: (runs) => time(runs, [...complete, "systemd-", "0"]),
        timeSystemctl: (runs) => time(runs, listUnits),
      });
    } finally {
      await host.stop();
    }
  });
