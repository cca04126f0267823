import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
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

describe.each([
  ["off", ""],
  ["on", "tls: auto\n"],
])("the Unix sockets of a service that somebody runs, with TLS %s,", (_, tls) => {
  let service: RunningService;
  beforeAll(async () => {
    const settings = `${tls}updates: { enabled: false }\nconnectors: { discover: false }\n`;
    service = await startService(workspace, { checks: true, settings });
  });

  it("are for its user alone", () => {
    for (const path of [own(service), members(service)]) {
      const { mode, uid } = lstatSync(path);
      expect([path, mode & 0o777, uid]).toEqual([path, 0o600, process.getuid?.()]);
    }
  });

  it("say by themselves who asks, where no credential does", async () => {
    expect(await ask(own(service), "/auth/whoami")).toMatchObject({
      status: 200,
      json: { key_id: name, name, credential: "socket", expires_at: null },
    });
    expect((await ask(members(service), "/auth/whoami")).status).toBe(401);
    const key = { "X-API-Key": service.adminKey };
    for (const path of [own(service), members(service)])
      expect((await ask(path, "/auth/whoami", { headers: key })).json).toMatchObject({ credential: "key" });
  });

  it("let a credential decide, and a wrong one be refused", async () => {
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

  it.each([
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "CF-Connecting-IP",
    "Origin",
    "Sec-Fetch-Site",
  ])("do not take a proxy or a browser for the administrator: %s", async (header) => {
    const value = header === "Origin" ? "http://localhost" : header === "Sec-Fetch-Site" ? "none" : "192.0.2.1";
    const headers = { [header]: value, Host: "localhost" };
    expect((await ask(own(service), "/auth/whoami", { headers })).status).toBe(401);
    const keyed = { ...headers, "X-API-Key": service.adminKey };
    expect((await ask(own(service), "/auth/whoami", { headers: keyed })).status).toBe(200);
  });

  it("serve other names as little as TCP does", async () => {
    expect((await ask(own(service), "/health", { headers: { Host: "evil.example" } })).status).toBe(403);
  });

  it("have no tokens to give to somebody without a key, and no limit of requests", async () => {
    const { status, json } = await ask(own(service), "/auth/tokens", { method: "POST", body: {} });
    expect([status, json]).toEqual([400, { error: expect.objectContaining({ code: "VALIDATION_ERROR" }) }]);
    const statuses = new Set<number>();
    for (let count = 0; count < 110; count += 1) statuses.add((await ask(own(service), "/auth/whoami")).status);
    expect([...statuses]).toEqual([200]);
  });

  it("answer the same request again, and list what was done as done by whoever may open them", async () => {
    const headers = { "Idempotency-Key": `once-${tls.length}` };
    const first = await ask(own(service), "/health/checks/disk_space/fix", { method: "POST", body: {}, headers });
    const again = await ask(own(service), "/health/checks/disk_space/fix", { method: "POST", body: {}, headers });
    expect(again.json).toEqual(first.json);
    const { json } = await ask(own(service), "/audit?limit=5");
    expect(json["entries"]).toContainEqual(
      expect.objectContaining({ operation: "fixCheck", key_id: name, key_name: name, remote_address: "unix" }),
    );
  });

  it("carry streams", async () => {
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

  it("are what the command line uses, whose key is not needed", async () => {
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

  it("are not used by the command line where others could have put them", async () => {
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

  it("are gone with it", async () => {
    service.kill("SIGTERM");
    await service.exit;
    expect([own(service), members(service)].filter((path) => existsSync(path))).toEqual([]);
  });
});

describe("calls of a Unix socket that others have to approve", () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(workspace, { settings: "approvals: { require_for: [health:fix] }\n" });
  });

  const asAdmin = () => ({ "X-API-Key": service.adminKey });
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

  it("wait like those of keys, for another than the socket", async () => {
    const parked = await silence("by the socket");
    expect(parked).toMatchObject({ status: 202, json: { status: "pending", proposer: { key_id: name, name } } });
    expect(await approve(parked)).toMatchObject(another);
    expect(await approve(parked, asAdmin())).toMatchObject({ status: 200, json: { status: "done" } });
    const { json } = await ask(own(service), "/audit?operation=silenceAlert&limit=1");
    const adminId = service.adminKey.slice(4, 12);
    expect(json["entries"]).toMatchObject([
      { key_id: name, outcome: "ok", target: { approved_by: expect.stringContaining(adminId) } },
    ]);
  });

  it("are approved by it where a key has proposed them, and not by that key over the socket", async () => {
    const parked = await silence("by a key", asAdmin());
    expect(parked.status).toBe(202);
    expect(await approve(parked, asAdmin())).toMatchObject(another);
    expect(await approve(parked)).toMatchObject({
      status: 200,
      json: { status: "done", decided_by: { key_id: name } },
    });
  });

  it("are said beforehand to wait, and what no socket may do is said to be refused", async () => {
    const can = async (operation: string) => (await ask(own(service), `/auth/can?operation=${operation}`)).json;
    expect(await can("silenceAlert")).toMatchObject({
      allowed: true,
      because: [{ kind: "scope" }, { kind: "approval" }],
    });
    for (const [operation, path] of [
      ["createToken", "/auth/tokens"],
      ["createCode", "/auth/codes"],
    ] as const) {
      const { json } = await ask(own(service), path, { method: "POST" });
      const { message } = json["error"] as { message: string };
      expect(await can(operation)).toMatchObject({ allowed: false, because: [{ kind: "policy", message }] });
    }
  });

  it("are carried out after a restart as proposed by it", async () => {
    const parked = await silence("before the restart");
    service.kill("SIGTERM");
    await service.exit;
    const { stateDir } = service;
    service = await startService(workspace, { stateDir, settings: "approvals: { require_for: [health:fix] }\n" });
    expect(await approve(parked)).toMatchObject(another);
    expect(await approve(parked, asAdmin())).toMatchObject({ status: 200, json: { status: "done" } });
  });
});

describe("a service that makes its Unix sockets", () => {
  it("takes the place of one that was killed", async () => {
    const service = await startService(workspace);
    service.kill("SIGKILL");
    await service.exit;
    expect(existsSync(own(service))).toBe(true);
    const next = await startService(workspace, { stateDir: service.stateDir });
    expect((await ask(own(next), "/auth/whoami")).status).toBe(200);
  });

  it.each([
    [
      "another program that listens there",
      (path: string) => {
        const server = createServer((socket) => socket.end());
        server.listen({ path });
        return () => server.close();
      },
      "another program listens",
    ],
    [
      "a file",
      (path: string) => {
        writeFileSync(path, "mine");
        return () => undefined;
      },
      "not a socket of this user",
    ],
    [
      "a link",
      (path: string) => {
        symlinkSync("/dev/null", path);
        return () => undefined;
      },
      "not a socket of this user",
    ],
  ])("leaves %s alone, and runs without", async (what, put, reason) => {
    const stateDir = workspace.path(`taken-${what.replaceAll(" ", "-")}`);
    mkdirSync(stateDir, { mode: 0o700 });
    const end = put(join(stateDir, "steward.sock"));
    await until("a name", () => existsSync(join(stateDir, "steward.sock")) || undefined);
    const before = lstatSync(join(stateDir, "steward.sock"));
    const service = await startService(workspace, { stateDir });
    expect(JSON.stringify(service.lines().find(({ msg }) => msg === "cannot listen on the Unix sockets"))).toContain(
      reason,
    );
    expect(lstatSync(join(stateDir, "steward.sock")).ino).toBe(before.ino);
    const { components } = (await (
      await fetch(`${service.url}/api/v1/health`, { headers: { "X-API-Key": service.adminKey } })
    ).json()) as { components: Record<string, boolean> };
    expect(components["cli"]).toBe(true);
    end();
  });

  it("runs without where the path is too long for one", async () => {
    const stateDir = workspace.path("long-".repeat(25));
    const service = launchService(workspace, { stateDir });
    await logged(service, "ready");
    const line = service.lines().find(({ msg }) => msg === "cannot listen on the Unix sockets");
    expect(JSON.stringify(line)).toContain("more than 107 bytes");
  });
});
