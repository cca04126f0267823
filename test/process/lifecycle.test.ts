import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runProgram } from "./support/program.ts";
import { openRaw } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { launchService, logged, makeDirectory, readAdminKey, startService } from "./support/service.ts";
import { takenPort } from "./support/taken-port.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** Sends the signal and waits for a clean end: a service that something holds up is never seen to end. */
async function endsCleanly(service: RunningService, signal: NodeJS.Signals): Promise<void> {
  service.kill(signal);
  await expect(service.exit).resolves.toEqual({ code: 0, signal: null });
  expect(service.lines().at(-1)).toMatchObject({ level: "info", msg: "stopped" });
}

/** Asserts that the next start on the directory has a key that works, and says where it is. */
async function announcesGoodKey(stateDir: string): Promise<void> {
  const service = launchService(workspace, { stateDir });
  const { url } = await logged(service, "listening");
  await logged(service, "ready");
  const path = join(stateDir, "admin.key");
  expect(existsSync(path)).toBe(true);
  const headers = { "X-API-Key": readAdminKey(stateDir) };
  expect((await fetch(`${String(url)}/api/v1/auth/whoami`, { headers })).status).toBe(200);
  expect(service.stderr()).toContain(path);
}

describe("the first start", () => {
  it("makes the admin key, prints its path and never the key, and names the process", async () => {
    const service = await startService(workspace);
    const path = join(service.stateDir, "admin.key");
    expect(service.adminKey).toMatch(/^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(service.stateDir).mode & 0o777).toBe(0o700);
    expect(service.lines().find(({ msg }) => msg === "admin key written")).toMatchObject({ path });
    expect(service.stderr()).toContain(path);
    expect(service.stdout() + service.stderr()).not.toContain(service.adminKey);
    expect(readFileSync(`/proc/${service.pid}/comm`, "utf8")).toBe("steward\n");
  });

  it.each([
    ["without TLS", ""],
    ["with TLS", "tls: auto\n"],
  ])("prints a curl line that works when pasted, %s, with quotes in the path", async (_, settings) => {
    const stateDir = workspace.path(`it's "here" $HOME/state-${settings.length}`);
    const service = await startService(workspace, { settings, stateDir });
    const line = service.stderr().match(/^ {2}curl .*$/m)?.[0] ?? "";
    const pasted = await runProgram(workspace, ["/bin/sh", "-c", line]);
    expect({ ...pasted, stdout: JSON.parse(pasted.stdout || "{}") as unknown }).toMatchObject({
      code: 0,
      stdout: { status: expect.any(String), version: expect.any(String) },
    });
    service.kill("SIGTERM");
    await service.exit;
  });

  it("makes the only key, unless a later start is asked to make another", async () => {
    const first = await startService(workspace);
    await endsCleanly(first, "SIGTERM");
    const second = await startService(workspace, { stateDir: first.stateDir });
    expect(second.adminKey).toBe(first.adminKey);
    expect(second.lines().map(({ msg }) => msg)).not.toContain("admin key written");
    expect(second.stderr()).toBe("");
    await endsCleanly(second, "SIGINT");
    const asked = await startService(workspace, { stateDir: first.stateDir, arguments: ["--new-admin-key"] });
    expect(asked.adminKey).not.toBe(first.adminKey);
    for (const key of [first.adminKey, asked.adminKey]) {
      const answer = await fetch(`${asked.url}/api/v1/auth/whoami`, { headers: { "X-API-Key": key } });
      expect(answer.status).toBe(200);
    }
  });

  it("that could not write the key is followed by one that does", async () => {
    const stateDir = makeDirectory(workspace, "unwritable-key");
    mkdirSync(join(stateDir, "admin.key"));
    await expect(launchService(workspace, { stateDir }).exit).resolves.toEqual({ code: 2, signal: null });
    rmdirSync(join(stateDir, "admin.key"));
    await announcesGoodKey(stateDir);
  });

  it("whose address was taken is followed by one that announces the key", async () => {
    const stateDir = workspace.path("unannounced-key");
    const { port, release } = await takenPort();
    const first = launchService(workspace, { stateDir, environment: { STEWARD_LISTEN: `127.0.0.1:${port}` } });
    await expect(first.exit).resolves.toEqual({ code: 2, signal: null });
    release();
    await announcesGoodKey(stateDir);
  });
});

const tokens = (service: RunningService, length: number): string =>
  `POST /api/v1/auth/tokens HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.adminKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;

describe("a service that is asked to stop", () => {
  it("finishes requests in flight, closes idle connections, and cuts off what never ends", async () => {
    const service = await startService(workspace);
    const { port, adminKey } = service;
    const whoami = `GET /api/v1/auth/whoami HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${adminKey}\r\n\r\n`;
    const idle = openRaw(port);
    idle.send(whoami);
    await idle.answers(1);
    const half = openRaw(port);
    half.send("GET /api/v1/auth/whoami HTTP/1.1\r\nHost: loc");
    const silent = openRaw(port);
    const stuck = openRaw(port);
    stuck.send(tokens(service, 100));
    await stuck.answers(1);
    const body = JSON.stringify({ scopes: ["system:read"], expires_in: 60 });
    const busy = openRaw(port);
    busy.send(tokens(service, body.length));
    // The interim answer proves that the service has the request and waits for its body.
    await busy.answers(1);
    busy.send(body.slice(0, 10));
    // A handshake may take 10 s unless it is cut off.
    const secure = await startService(workspace, { settings: "tls: auto\n" });
    const handshake = openRaw(secure.port);
    await until("a connection", () => handshake.socket.readyState === "open" || undefined);

    for (const each of [service, secure]) each.kill("SIGTERM");
    await idle.ended();
    expect(await busy.answers(1)).toHaveLength(1);
    busy.send(body.slice(10));
    const [, answer] = await busy.ended();
    // It is the answer that ends the connection, not the cut that the half request waits for.
    expect(half.isEnded()).toBe(false);
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "{}")).toMatchObject({ token_type: "Bearer", scope: "system:read" });
    for (const connection of [half, silent, stuck]) await connection.ended();
    for (const each of [service, secure]) {
      await expect(each.exit).resolves.toEqual({ code: 0, signal: null });
      expect(each.lines().at(-1)).toMatchObject({ level: "info", msg: "stopped" });
    }
    for (const connection of [idle, half, silent, stuck, busy, handshake]) connection.close();
  });

  it("ends during its start too, and the next start works", async () => {
    const stateDir = workspace.path("state-early");
    // The instants from before the program runs to after it listens.
    for (const wait of ["nothing", "keys.db", "admin.key", "listening"]) {
      const early = launchService(workspace, { stateDir });
      if (wait === "listening") await logged(early, "listening");
      else if (wait !== "nothing") await until(wait, () => existsSync(join(stateDir, wait)) || undefined);
      early.kill("SIGTERM");
      const { code, signal: by } = await early.exit;
      expect([0, "SIGTERM"]).toContain(code ?? by);
      expect(early.stderr()).not.toMatch(/Error|throw/);
    }
    const service = await startService(workspace, { stateDir });
    expect(readFileSync(join(stateDir, "admin.key"), "utf8").trim()).toBe(service.adminKey);
    await endsCleanly(service, "SIGTERM");
  });
});
