import { globSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";

/** Debian: libfaketime. It answers the process's questions for the wall clock; the machine's own is never touched. */
const library = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1")[0];
if (library === undefined) {
  if (process.env["CI"] === "true")
    throw new Error("cannot move the clock, and in CI nothing is skipped: apt-get install libfaketime");
  process.stderr.write("skipped: a wall clock that jumps (apt-get install libfaketime)\n");
}

const workspace = createWorkspace();
afterAll(workspace.dispose);

const hourMs = 3_600_000;

describe.skipIf(library === undefined)("a wall clock that is set ahead by a day and back", () => {
  const offsetFile = workspace.path("offset");
  const environment = {
    LD_PRELOAD: library ?? "",
    FAKETIME_TIMESTAMP_FILE: offsetFile,
    FAKETIME_NO_CACHE: "1",
    // Durations go by the other clock, which cannot be set.
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  const set = (seconds: number): void => writeFileSync(offsetFile, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  const timeOf = async ({ url }: RunningService): Promise<number> =>
    Date.parse((await fetch(`${url}/livez`)).headers.get("Date") ?? "");
  const offsetOf = async (service: RunningService): Promise<number> => ((await timeOf(service)) - Date.now()) / hourMs;

  it("interrupts no stream, check or change, and ends only the keys that expire by then", async () => {
    set(0);
    const service = await startService(workspace, {
      settings: "updates: { enabled: false }\nconnectors: { discover: false }\nhealth: { interval: 1s }\n",
      environment: { STEWARD_RATE_LIMITS: "off", ...environment },
    });
    const api = createClient({ url: service.url, key: service.adminKey });
    const stream = await openStream(service.url, "/api/v1/ws/health", { headers: { "X-API-Key": service.adminKey } });
    const create = async (hours: number) =>
      api.createKey({
        body: {
          name: `for ${hours} h`,
          scopes: ["system:read"],
          expires_at: new Date((await timeOf(service)) + hours * hourMs).toISOString(),
        },
      });
    const status = async ({ key }: { readonly key: string }): Promise<number> =>
      (await fetch(`${service.url}/api/v1/auth/whoami`, { headers: { "X-API-Key": key } })).status;
    const checksGoOn = async (): Promise<void> => {
      const count = stream.frames.length;
      await until("a result of a check", () => stream.frames.length > count + 3 || undefined, 30_000);
    };
    const short = await create(1);
    const long = await create(48);
    expect([await status(short), await status(long)]).toEqual([200, 200]);
    await checksGoOn();

    set(24 * 3600);
    await until("the new time", async () => (await offsetOf(service)) > 23 || undefined);
    // What was to end by then has, and nothing else.
    expect([await status(short), await status(long)]).toEqual([401, 200]);
    const ahead = await create(1);
    expect(await status(ahead)).toBe(200);
    const silence = await api.silenceAlert({
      body: { alert: "HighCPUUsage", until: new Date((await timeOf(service)) + hourMs).toISOString(), comment: "" },
    });
    await checksGoOn();

    set(-24 * 3600);
    await until("the new time", async () => (await offsetOf(service)) < -23 || undefined);
    expect([await status(long), await status(ahead)]).toEqual([200, 200]);
    expect((await api.listSilences()).silences.map(({ id }) => id)).toEqual([silence.id]);
    await checksGoOn();

    set(0);
    await until("the new time", async () => Math.abs(await offsetOf(service)) < 1 || undefined);
    await checksGoOn();
    const { keys } = await api.listKeys();
    expect(keys.map(({ id }) => id)).toEqual(expect.arrayContaining([short.id, long.id, ahead.id]));
    expect(await api.getHealth()).toMatchObject({ components: { cli: true, security: true } });
    expect(service.lines().filter(({ level }) => level === "error")).toEqual([]);
    stream.socket.terminate();
    service.kill("SIGTERM");
    await expect(service.exit).resolves.toEqual({ code: 0, signal: null });
  });
});
