import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { runSteward } from "./support/program.ts";
import { launchService, logged, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const isRoot = process.getuid?.() === 0;
const name = isRoot ? "root" : "owner";
const own = ({ stateDir }: Pick<RunningService, "stateDir">): string => join(stateDir, `${name}.sock`);
const members = ({ stateDir }: Pick<RunningService, "stateDir">): string => join(stateDir, "steward.sock");

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly json: Record<string, unknown>;
}

/** Asks over a Unix socket. */
const ask = (
  socketPath: string,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const json = body === undefined ? {} : { "Content-Type": "application/json" };
    const options = { socketPath, path: `/api/v1${path}`, method, agent: false, headers: { ...json, ...headers } };
    const call = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, json: JSON.parse(text) }),
      );
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });

const steward = ({ stateDir, url }: RunningService, words: readonly string[], environment = {}) =>
  runSteward(workspace, words, { STEWARD_STATE_DIR: stateDir, STEWARD_LISTEN: new URL(url).host, ...environment });

describe("the Unix sockets of a service that a user runs", () => {
  let service: RunningService;
  const tls = "tls: auto\n";
  beforeAll(async () => {
    const settings = `${tls}updates: { enabled: false }\nconnectors: { discover: false }\n`;
    service = await startService(workspace, { checks: true, settings });
  });

  it("are for that user alone, who is authenticated without a credential", async () => {
    for (const path of [own(service), members(service)]) {
      const { mode, uid } = lstatSync(path);
      expect([path, mode & 0o777, uid]).toEqual([path, 0o600, process.getuid?.()]);
    }
    expect(await ask(own(service), "/auth/whoami")).toMatchObject({
      status: 200,
      json: { key_id: name, name, credential: "socket", expires_at: null },
    });
    expect((await ask(members(service), "/auth/whoami")).status).toBe(401);
    const key = { "X-API-Key": service.adminKey };
    for (const path of [own(service), members(service)])
      expect((await ask(path, "/auth/whoami", { headers: key })).json).toMatchObject({ credential: "key" });
  });

  it("let a credential decide where one is given, and refuse a wrong one", async () => {
    const made = await ask(own(service), "/auth/keys", {
      method: "POST",
      body: { name: "few", scopes: ["health:read"] },
    });
    expect(made.status).toBe(201);
    const few = { "X-API-Key": String(made.json["key"]) };
    expect((await ask(own(service), "/auth/keys", { headers: few })).status).toBe(403);
    for (const headers of [
      { "X-API-Key": "wrong" },
      { "X-API-Key": "" },
      { Authorization: "Bearer wrong" },
      { Authorization: "Basic cm9vdDo=" },
      { Authorization: "" },
      { ...few, Authorization: `Bearer ${service.adminKey}` },
    ]) {
      const { status } = await ask(own(service), "/auth/whoami", { headers });
      expect([headers, status]).toEqual([headers, 401]);
    }
    const streamed = await ask(own(service), "/ws/health?api_key=wrong");
    expect(streamed.status).toBe(401);
  });

  it("do not take a proxy, a browser or a foreign name for the administrator", async () => {
    const names = ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "CF-Connecting-IP"];
    const values = { Origin: "http://localhost", "Sec-Fetch-Site": "none" };
    for (const [header, value] of [...names.map((each) => [each, "192.0.2.1"]), ...Object.entries(values)]) {
      const headers = { [String(header)]: String(value), Host: "localhost" };
      expect([header, (await ask(own(service), "/auth/whoami", { headers })).status]).toEqual([header, 401]);
      const keyed = { ...headers, "X-API-Key": service.adminKey };
      expect([header, (await ask(own(service), "/auth/whoami", { headers: keyed })).status]).toEqual([header, 200]);
    }
    expect((await ask(own(service), "/health", { headers: { Host: "evil.example" } })).status).toBe(403);
  });

  it("give no token to a caller without a key, and have no limit of requests", async () => {
    const { status, json } = await ask(own(service), "/auth/tokens", { method: "POST", body: {} });
    expect([status, json]).toEqual([400, { error: expect.objectContaining({ code: "VALIDATION_ERROR" }) }]);
    const statuses = new Set<number>();
    for (let count = 0; count < 110; count += 1) statuses.add((await ask(own(service), "/auth/whoami")).status);
    expect([...statuses]).toEqual([200]);
  });

  it("replay an idempotent request, are named in the audit log, and carry streams", async () => {
    const headers = { "Idempotency-Key": `once-${tls.length}` };
    const first = await ask(own(service), "/health/checks/disk_space/fix", { method: "POST", body: {}, headers });
    const again = await ask(own(service), "/health/checks/disk_space/fix", { method: "POST", body: {}, headers });
    expect(again.json).toEqual(first.json);
    const { json } = await ask(own(service), "/audit?limit=5");
    expect(json["entries"]).toContainEqual(
      expect.objectContaining({ operation: "fixCheck", key_id: name, key_name: name, remote_address: "unix" }),
    );
    const socket = new WebSocket("ws://localhost/api/v1/ws/health", {
      createConnection: () => connect({ path: own(service) }),
    });
    const frame = await new Promise((resolve, reject) => {
      socket.once("message", (data) => resolve(JSON.parse((data as Buffer).toString("utf8"))));
      socket.once("error", reject);
    });
    expect(frame).toHaveProperty("check_id");
    socket.terminate();
  });

  it("are used by the command line, which needs no key then", async () => {
    const hidden = `${service.stateDir}/hidden.key`;
    renameSync(`${service.stateDir}/admin.key`, hidden);
    try {
      const { code, stdout } = await steward(service, ["api", "whoami"]);
      expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ credential: "socket" })]);
      const keyed = await steward(service, ["api", "whoami"], { STEWARD_API_KEY: service.adminKey });
      expect(JSON.parse(keyed.stdout)).toMatchObject({ credential: "key" });
      const wrong = await steward(service, ["api", "whoami"], { STEWARD_API_KEY: "wrong" });
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("UNAUTHORIZED") });
      const named = await steward(service, ["--url", `unix:${own(service)}`, "keys", "list"]);
      expect([named.code, named.stdout]).toEqual([0, expect.stringContaining("admin")]);
      const unkeyed = await steward(service, ["--url", `unix:${members(service)}`, "keys", "list"]);
      expect(unkeyed).toMatchObject({ code: 2, stderr: expect.stringContaining("UNAUTHORIZED") });
    } finally {
      renameSync(hidden, `${service.stateDir}/admin.key`);
    }
    for (const [url, reason] of [
      ["unix:/nowhere/steward.sock", "ENOENT"],
      ["unix:relative", "expected an absolute path"],
      [`unix:${service.stateDir}/keys.db`, "ECONNREFUSED"],
    ] as const)
      expect(await steward(service, ["--url", url, "keys", "list"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(reason),
      });
  });

  it("are not used by the command line where others could have made them", async () => {
    chmodSync(service.stateDir, 0o777);
    try {
      const settings = workspace.path("client.yaml");
      writeFileSync(settings, tls);
      const { code, stdout } = await steward(service, ["api", "whoami"], { STEWARD_CONFIG: settings });
      expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ credential: "key" })]);
    } finally {
      chmodSync(service.stateDir, 0o700);
    }
  });

  it("are removed when the service stops", async () => {
    service.kill("SIGTERM");
    await service.exit;
    expect([own(service), members(service)].filter((path) => existsSync(path))).toEqual([]);
  });
});

describe("a call proposed over a Unix socket", () => {
  it("waits for a key, which the socket does not replace, over a restart too, and decides what a key proposed", async () => {
    const settings = "approvals: { require_for: [health:fix] }\n";
    let service = await startService(workspace, { settings });
    const asAdmin = { "X-API-Key": service.adminKey };
    const silence = (comment: string, headers: Record<string, string> = {}) => {
      const until = new Date(Date.now() + 3_600_000).toISOString();
      const body = { alert: "ServiceDown", until, comment };
      return ask(own(service), "/alerts/silences", { method: "POST", body, headers });
    };
    const approve = (approval: Answer, headers: Record<string, string> = {}) => {
      const path = `/approvals/${String(approval.json["id"])}/approve`;
      return ask(own(service), path, { method: "POST", body: {}, headers });
    };
    const another = { status: 403, json: { error: { details: { reason: "another_key_needed" } } } };
    const ofKey = await silence("by a key", asAdmin);
    expect(ofKey.status).toBe(202);
    expect(await approve(ofKey, asAdmin)).toMatchObject(another);
    const decided = { status: "done", decided_by: { key_id: name } };
    expect(await approve(ofKey)).toMatchObject({ status: 200, json: decided });

    const parked = await silence("by the socket");
    expect(parked).toMatchObject({ status: 202, json: { status: "pending", proposer: { key_id: name, name } } });
    expect(await approve(parked)).toMatchObject(another);
    service.kill("SIGTERM");
    await service.exit;
    service = await startService(workspace, { stateDir: service.stateDir, settings });
    expect(await approve(parked)).toMatchObject(another);
    expect(await approve(parked, asAdmin)).toMatchObject({ status: 200, json: { status: "done" } });
    const { json } = await ask(own(service), "/audit?operation=silenceAlert&limit=1");
    const approvedBy = expect.stringContaining(service.adminKey.slice(4, 12));
    expect(json["entries"]).toMatchObject([{ key_id: name, outcome: "ok", target: { approved_by: approvedBy } }]);
  });
});

describe("a service that makes its Unix sockets", () => {
  it("replaces those of one that was killed, and runs without where the path is too long", async () => {
    const service = await startService(workspace);
    service.kill("SIGKILL");
    await service.exit;
    expect(existsSync(own(service))).toBe(true);
    const next = await startService(workspace, { stateDir: service.stateDir });
    expect((await ask(own(next), "/auth/whoami")).status).toBe(200);
    const long = launchService(workspace, { stateDir: workspace.path("long-".repeat(25)) });
    await logged(long, "ready");
    const line = long.lines().find(({ msg }) => msg === "cannot listen on the Unix sockets");
    expect(JSON.stringify(line)).toContain("more than 107 bytes");
  });

  it.each<[string, (path: string) => Server | undefined, string]>([
    [
      "another program's socket",
      (path) => createServer((socket) => socket.end()).listen({ path }),
      "another program listens",
    ],
    [
      "a file",
      (path) => {
        writeFileSync(path, "mine");
        return undefined;
      },
      "not a socket of this user",
    ],
    [
      "a link",
      (path) => {
        symlinkSync("/dev/null", path);
        return undefined;
      },
      "not a socket of this user",
    ],
  ])("leaves %s in their place alone, and runs without", async (what, put, reason) => {
    const stateDir = workspace.path(`taken-${what.replaceAll(/\W/g, "-")}`);
    mkdirSync(stateDir, { mode: 0o700 });
    const path = join(stateDir, "steward.sock");
    const made = put(path);
    await until("a name", () => existsSync(path) || undefined);
    const before = lstatSync(path);
    const service = await startService(workspace, { stateDir });
    const line = service.lines().find(({ msg }) => msg === "cannot listen on the Unix sockets");
    expect(JSON.stringify(line)).toContain(reason);
    expect(lstatSync(path).ino).toBe(before.ino);
    const health = await fetch(`${service.url}/api/v1/health`, { headers: { "X-API-Key": service.adminKey } });
    expect(await health.json()).toMatchObject({ components: { cli: true } });
    made?.close();
  });
});
