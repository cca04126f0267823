import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { launchService, logged, readAdminKey, root } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const statusOf = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/api/v1/auth/whoami`, { headers: { "X-API-Key": key } })).status;

describe("a first start that is killed before each change of the state directory", () => {
  const preload = pathToFileURL(join(root, "test/process/support/kill-at.mjs")).href;
  const atOnce = 3;

  /** @returns whether the first start was over before it came to that many changes. */
  async function survives(at: number): Promise<boolean> {
    const stateDir = workspace.path(`first-start-${at}`);
    const early = launchService(workspace, {
      stateDir,
      environment: { NODE_OPTIONS: `--import ${preload}`, STEWARD_KILL_AT: String(at) },
    });
    const said = () => early.lines().some(({ msg }) => msg === "admin key written") || undefined;
    let ended = false;
    void early.exit.then(() => {
      ended = true;
    });
    await until(`end of the start that is killed before change ${at}`, () => ended || said());
    const isOver = said() === true && !ended;
    early.kill("SIGKILL");
    await early.exit;
    const next = launchService(workspace, { stateDir });
    const { url } = await logged(next, "listening");
    await logged(next, "ready");
    expect([at, await statusOf(String(url), readAdminKey(stateDir))]).toEqual([at, 200]);
    next.kill("SIGKILL");
    await next.exit;
    return isOver;
  }

  it("leaves a directory in which the next start has a key that works", async () => {
    for (let from = 1; ; from += atOnce) {
      const some = Array.from({ length: atOnce }, (_, index) => survives(from + index));
      if ((await Promise.all(some)).every(Boolean)) {
        // Otherwise nothing was killed.
        expect(from).toBeGreaterThan(20);
        return;
      }
    }
  });
});
