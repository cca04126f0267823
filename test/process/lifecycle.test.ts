import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runProgram } from "./support/program.ts";
import { openRaw } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { launchService, logged, makeFolder, readAdminKey, startService } from "./support/service.ts";
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

/** Asserts that the next start on the folder has a key that works, and says where it is. */
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

describe("first start", () => {
  it("makes the admin key, says where it is, and never what it is", async () => {
    const service = await startService(workspace);
    const path = join(service.stateDir, "admin.key");
    expect(service.adminKey).toMatch(/^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(service.stateDir).mode & 0o777).toBe(0o700);
    expect(service.lines().find(({ msg }) => msg === "admin key written")).toMatchObject({ path });
    expect(service.stderr()).toContain(path);
    expect(service.stdout() + service.stderr()).not.toContain(service.adminKey);
  });

  it("has a name in lists of processes", async () => {
    const { pid } = await startService(workspace);
    expect(readFileSync(`/proc/${pid}/comm`, "utf8")).toBe("steward\n");
  });

  it.each([
    ["plain", "", ""],
    ["with TLS", "tls: auto\n", ""],
    ["in a folder with a space and quotes in its name", "", `it's "here" $HOME/`],
    ["with TLS in such a folder", "tls: auto\n", `it's "there" $HOME/`],
  ])("prints a curl line that works when pasted: %s", async (_, settings, folder) => {
    const stateDir = workspace.path(`${folder}state-${settings.length}`);
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

  it("only the first start makes a key", async () => {
    const first = await startService(workspace);
    await endsCleanly(first, "SIGTERM");
    const second = await startService(workspace, { stateDir: first.stateDir });
    expect(second.adminKey).toBe(first.adminKey);
    expect(second.lines().map(({ msg }) => msg)).not.toContain("admin key written");
    expect(second.stderr()).toBe("");
    await endsCleanly(second, "SIGTERM");
    const asked = await startService(workspace, { stateDir: first.stateDir, arguments: ["--new-admin-key"] });
    expect(asked.adminKey).not.toBe(first.adminKey);
    for (const key of [first.adminKey, asked.adminKey]) {
      const answer = await fetch(`${asked.url}/api/v1/auth/whoami`, { headers: { "X-API-Key": key } });
      expect(answer.status).toBe(200);
    }
  });

  it("a key that could not be written is made good at the next start", async () => {
    const stateDir = makeFolder(workspace, "unwritable-key");
    mkdirSync(join(stateDir, "admin.key"));
    await expect(launchService(workspace, { stateDir }).exit).resolves.toEqual({ code: 2, signal: null });
    rmdirSync(join(stateDir, "admin.key"));
    await announcesGoodKey(stateDir);
  });

  it("a key that was never announced, since the address was taken, is announced at the next start", async () => {
    const stateDir = workspace.path("unannounced-key");
    const { port, release } = await takenPort();
    const first = launchService(workspace, { stateDir, environment: { STEWARD_LISTEN: `127.0.0.1:${port}` } });
    await expect(first.exit).resolves.toEqual({ code: 2, signal: null });
    release();
    await announcesGoodKey(stateDir);
  });
});

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  it("lets a request in flight finish, closes idle connections, drops half requests, and ends with 0", async () => {
    const service = await startService(workspace);
    const { port, adminKey } = service;
    const whoami = `GET /api/v1/auth/whoami HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${adminKey}\r\n\r\n`;
    const idle = openRaw(port);
    idle.send(whoami);
    await idle.answers(1);
    const half = openRaw(port);
    half.send("GET /api/v1/auth/whoami HTTP/1.1\r\nHost: loc");
    const silent = openRaw(port);
    const body = JSON.stringify({ scopes: ["system:read"], expires_in: 60 });
    const busy = openRaw(port);
    busy.send(
      `POST /api/v1/auth/tokens HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${adminKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // The interim answer proves that the service has the request and waits for its body.
    await busy.answers(1);
    busy.send(body.slice(0, 10));

    service.kill(signal);
    await idle.ended();
    expect(await busy.answers(1)).toHaveLength(1);
    busy.send(body.slice(10));
    const [, answer] = await busy.ended();
    // It is the answer that ends the connection, not the cut that the half request waits for.
    expect(half.isEnded()).toBe(false);
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "{}")).toMatchObject({ token_type: "Bearer", scope: "system:read" });
    await half.ended();
    await silent.ended();
    await expect(service.exit).resolves.toEqual({ code: 0, signal: null });
    for (const connection of [idle, half, silent, busy]) connection.close();
  });

  it("cuts off what does not come to an end", async () => {
    const service = await startService(workspace);
    const stuck = openRaw(service.port);
    stuck.send(
      `POST /api/v1/auth/tokens HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
    );
    await stuck.answers(1);
    await endsCleanly(service, signal);
    stuck.close();
  });

  it("during the start ends the process too, and the next start finds all well", async () => {
    const stateDir = workspace.path(`state-early-${signal}`);
    // The instants from before the program runs to after it listens.
    for (const wait of ["nothing", "keys.db", "admin.key", "listening"]) {
      const early = launchService(workspace, { stateDir });
      if (wait === "listening") await logged(early, "listening");
      else if (wait !== "nothing") await until(wait, () => existsSync(join(stateDir, wait)) || undefined);
      early.kill(signal);
      const { code, signal: by } = await early.exit;
      expect([0, signal]).toContain(code ?? by);
      expect(early.stderr()).not.toMatch(/Error|throw/);
    }
    const service = await startService(workspace, { stateDir });
    expect(readFileSync(join(stateDir, "admin.key"), "utf8").trim()).toBe(service.adminKey);
    await endsCleanly(service, signal);
  });
});
