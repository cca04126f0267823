import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { auditDirectory, verifyAudit } from "#adapters/audit/index.ts";
import type { AuditRecord } from "#contract/audit.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { exchange } from "./support/raw-socket.ts";
import {
  launchService,
  logged,
  mainFile,
  type RunningService,
  startService,
  writeSettings,
} from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const environment = { STEWARD_RATE_LIMITS: "off" };

const linesOf = (stateDir: string): readonly string[] =>
  readdirSync(auditDirectory(stateDir))
    .sort()
    .flatMap((name) =>
      readFileSync(join(auditDirectory(stateDir), name), "utf8")
        .trimEnd()
        .split("\n"),
    );
const recordsOf = (stateDir: string): readonly AuditRecord[] =>
  linesOf(stateDir).map((line) => JSON.parse(line) as AuditRecord);

/** Makes keys as fast as it can. @returns the request ids of those whose answer arrived, and the end of all of it. */
function makeKeys({ url, adminKey }: RunningService, atOnce: number) {
  const acknowledged: string[] = [];
  const headers = { "x-api-key": adminKey, "content-type": "application/json" };
  const one = (): Promise<boolean> =>
    new Promise((resolve) => {
      const call = request(`${url}/api/v1/auth/keys`, { method: "POST", headers }, (answer) => {
        // The first byte of the answer is enough: it was promised then.
        if (answer.statusCode === 201) acknowledged.push(String(answer.headers["x-request-id"]));
        answer.resume();
        answer.once("close", () => resolve(answer.complete));
      });
      call.once("error", () => resolve(false));
      call.end(JSON.stringify({ name: "n", scopes: [] }));
    });
  const many = async (): Promise<void> => {
    while (await one());
  };
  return { acknowledged, ended: Promise.all(Array.from({ length: atOnce }, many)) };
}

describe("a service that is killed", () => {
  it("loses no audit entry of a mutation that was acknowledged, and leaves an intact chain", async () => {
    const { fraction: random } = createRandom(seed);
    const stateDir = workspace.path("killed");
    const settings = "updates: { enabled: false }\nconnectors: { discover: false }\n";
    const all: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const service = await startService(workspace, { stateDir, environment, settings });
      const { acknowledged, ended } = makeKeys(service, 8);
      const enough = 1 + Math.floor(random() * 60);
      await until("some keys are made", () => (acknowledged.length >= enough ? true : undefined));
      service.kill("SIGKILL");
      await service.exit;
      await ended;
      all.push(...acknowledged);
      const known = new Set(recordsOf(stateDir).map(({ request_id: id }) => id));
      expect(all.filter((id) => !known.has(id))).toEqual([]);
    }
    expect(await verifyAudit(auditDirectory(stateDir), [])).toMatchObject({ broken: undefined });
    expect(recordsOf(stateDir).filter(({ operation }) => operation === "service.started")).toHaveLength(3);
  });
});

describe("steward audit", () => {
  const steward = (stateDir: string, ...argv: readonly string[]) =>
    runProgram(workspace, [process.execPath, mainFile, "audit", ...argv], {
      environment: { STEWARD_STATE_DIR: stateDir, STEWARD_CONFIG: writeSettings(workspace, "log: { level: warn }\n") },
    });

  it("verifies and lists the log of this host without the service, and fails where it is broken or missing", async () => {
    const service = await startService(workspace, { environment });
    const verified = await steward(service.stateDir, "verify", "--no-journal");
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^intact: entries 1 to 2 in 1 file\nhead: 2:[0-9a-f]{64}\n$/),
    });
    const head = /head: (.*)/.exec(verified.stdout)?.[1] ?? "";
    service.kill("SIGTERM");
    await service.exit;
    const later = await steward(service.stateDir, "verify", "--no-journal", "--head", head, "--json");
    expect([later.code, JSON.parse(later.stdout)]).toMatchObject([0, { whole: true, headsFound: 1, entries: 3 }]);
    const listed = await steward(service.stateDir, "list", "--offline", "--limit", "2");
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/service\.stopped.*\n.*key\.made/) });
    const path = join(auditDirectory(service.stateDir), "audit-000000000001.log");
    writeFileSync(path, readFileSync(path, "utf8").replace('"name":"admin"', '"name":"nobody"'));
    expect(await steward(service.stateDir, "verify", "--no-journal")).toMatchObject({
      code: 1,
      stdout: `broken: ${path}:2: entry 2 was changed: its hash does not fit\n1 entry before it can be relied upon\n`,
    });
    // A journal that cannot be read.
    symlinkSync(workspace.path("loop"), workspace.path("loop"));
    const loop = { STEWARD_STATE_DIR: workspace.path("killed"), STEWARD_JOURNAL_DIR: workspace.path("loop") };
    expect(await runSteward(workspace, ["audit", "verify"], loop)).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^not verified: not all heads in the journal could be read: .*ELOOP/),
    });
    expect(await steward(workspace.path("nowhere"), "verify", "--no-journal")).toMatchObject({ code: 2, stdout: "" });
    expect((await steward(service.stateDir, "verify", "--head", "x")).code).toBe(2);
  });
});

describe("the audit log of a service", () => {
  it("has its start, its first key, malformed calls and its end, and logs its checkpoints at any level", async () => {
    const service = await startService(workspace, { environment });
    await exchange(service.port, "NONSENSE\r\n\r\n", { localAddress: "127.0.9.1" });
    await exchange(service.port, "CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", {
      localAddress: "127.0.9.2",
    });
    service.kill("SIGTERM");
    await service.exit;
    const records = recordsOf(service.stateDir);
    expect(records).toMatchObject([
      { seq: 1, operation: "service.started" },
      { operation: "key.made", target: { name: "admin", id: service.adminKey.slice(4, 12) } },
      { operation: "calls.refused", error: "VALIDATION_ERROR", remote_address: "127.0.9.1", path: null },
      { operation: "calls.refused", error: "UNAUTHORIZED", remote_address: "127.0.9.2" },
      { operation: "service.stopped", seq: 5 },
    ]);
    const heads = service.lines().filter(({ msg }) => msg === "audit checkpoint");
    expect(heads.map(({ seq, hash }) => [seq, hash])).toEqual([
      [1, records[0]?.hash],
      [5, records[4]?.hash],
    ]);
    const terse = launchService(workspace, { settings: "log: { level: warn }\n" });
    expect(await logged(terse, "audit checkpoint")).toMatchObject({ level: "info", seq: 1 });
  });
});
