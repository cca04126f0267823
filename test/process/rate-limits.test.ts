import { afterAll, expect, it } from "vitest";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const settings = `updates: { enabled: false }
connectors: { discover: false }
rate_limits: { per_minute: 1000, per_hour: 1000 }
`;

/** What is left of the hour after so many requests. */
async function leftAfter({ url, adminKey }: RunningService, requests: number): Promise<number> {
  let left = NaN;
  for (let count = 0; count < requests; count += 1) {
    const answer = await fetch(`${url}/api/v1/auth/whoami`, { headers: { "X-API-Key": adminKey } });
    expect(answer.headers.get("RateLimit-Policy")).toContain('"perhour";q=1000;w=3600');
    left = Number(answer.headers.get("X-RateLimit-Remaining"));
  }
  return left;
}

it("the hourly budget of a key continues exactly after a stop, and with no more than was left after a crash", async () => {
  const first = await startService(workspace, { settings });
  const { stateDir } = first;
  expect(await leftAfter(first, 33)).toBe(1000 - 33);
  first.kill("SIGTERM");
  await first.exit;
  const second = await startService(workspace, { settings, stateDir });
  // The minute is another one for it, and has more left.
  expect(await leftAfter(second, 1)).toBe(1000 - 34);
  expect(await leftAfter(second, 10)).toBe(1000 - 44);
  second.kill("SIGKILL");
  await second.exit;
  const third = await startService(workspace, { settings, stateDir });
  const left = await leftAfter(third, 1);
  expect(left).toBeLessThanOrEqual(1000 - 45);
  expect(left).toBeGreaterThanOrEqual(1000 - 45 - 20);
  third.kill("SIGTERM");
  await third.exit;
});
