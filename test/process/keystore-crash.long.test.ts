import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import type { Ledger } from "./support/key-traffic.ts";
import { createLedger, startTraffic } from "./support/key-traffic.ts";
import { exchange } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const environment = { STEWARD_RATE_LIMITS: "off" };
const rounds = 10;
const atOnce = 100;

/** The status of `whoami` with a key. Each call comes from another address: failed logins are counted for each. */
async function statusOf({ port }: RunningService, key: string, turn: number): Promise<number | undefined> {
  const localAddress = `127.0.${1 + Math.floor(turn / 200)}.${1 + (turn % 200)}`;
  const request = `GET /api/v1/auth/whoami HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\n\r\n`;
  return (await exchange(port, request, { localAddress }))[0]?.status;
}

/** How many revocations were acknowledged. */
const revoked = ({ keys }: Ledger): number =>
  [...keys.values()].filter(({ revocation }) => revocation === "acknowledged").length;

/** Asserts that nothing acknowledged was lost, and nothing was made up. */
async function verify(service: RunningService, ledger: Ledger, changed: readonly string[]): Promise<void> {
  const client = createClient({ url: service.url, key: service.adminKey });
  const { keys } = await client.listKeys();
  const listed = new Map(keys.map((entry) => [entry.id, entry]));
  expect(listed.size).toBe(keys.length);
  const names = keys.filter(({ name }) => name !== "admin").map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !ledger.asked.has(name))).toEqual([]);
  for (const [id, { revocation }] of ledger.keys) {
    const entry = listed.get(id);
    expect(entry, `key ${id} is gone`).toBeDefined();
    const isRevoked = entry?.revoked_at !== null;
    if (revocation !== "asked") expect({ id, isRevoked }).toEqual({ id, isRevoked: revocation === "acknowledged" });
  }
  const expected = changed.map((id) => ({ id, status: listed.get(id)?.revoked_at === null ? 200 : 401 }));
  const statuses: { id: string; status: number | undefined }[] = [];
  // Not all at once: more connections than wait to be accepted are turned away by the kernel.
  for (let from = 0; from < changed.length; from += atOnce) {
    const some = changed.slice(from, from + atOnce).map(async (id, at) => {
      return { id, status: await statusOf(service, ledger.keys.get(id)?.key ?? "", from + at) };
    });
    statuses.push(...(await Promise.all(some)));
  }
  expect(statuses).toEqual(expected);
}

describe("a service that is killed at random times", () => {
  it("loses no key and no revocation that was acknowledged", async () => {
    const { fraction: random } = createRandom(seed);
    const stateDir = workspace.path("state");
    const ledger = createLedger();
    let changed: readonly string[] = [];
    for (let done = 0; done < rounds; done += 1) {
      const service = await startService(workspace, { stateDir, environment });
      await verify(service, ledger, changed);
      const before = new Map([...ledger.keys].map(([id, { revocation }]) => [id, revocation]));
      const trafficEnded = startTraffic(service, ledger, random);
      // A busy machine takes longer for as much.
      const isEnough = (): boolean => ledger.keys.size > (done + 1) * 5 && revoked(ledger) > done + 1;
      await until("traffic", () => isEnough() || undefined);
      const more = ledger.keys.size + Math.floor(random() * 10);
      await until("more keys", () => ledger.keys.size >= more || undefined);
      service.kill("SIGKILL");
      await service.exit;
      await trafficEnded();
      changed = [...ledger.keys].filter(([id, { revocation }]) => before.get(id) !== revocation).map(([id]) => id);
    }
    await verify(await startService(workspace, { stateDir, environment }), ledger, changed);
    // Without enough of both, the rounds would have proved nothing.
    expect(ledger.keys.size).toBeGreaterThan(rounds * 5);
    expect(revoked(ledger)).toBeGreaterThan(rounds);
  });
});
