import { afterEach, describe, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import { errorsOf, type Operation } from "#contract/operation.ts";
import type { KeyRecord, KeyStore } from "#domain/ports/access.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";
import { createFakeCheckHistory } from "../fakes/check-history.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { errorWith, pathOf, send, startTestService, type TestService } from "./harness.ts";
import { errorCases, provokeError } from "./provoked-errors.ts";

const secretReason = "the disk behind /dev/secret is on fire";
const breaks = (): never => {
  throw new Error(secretReason);
};

/** A port of each kind that breaks, in each way: the rule is the same for all operations. */
type Overrides = Parameters<typeof startTestService>[0];
const broken: Partial<Record<OperationName, () => Overrides>> = {
  getCheckHistory: () => ({ checkHistory: { ...createFakeCheckHistory(), runs: breaks } }),
  getSystemInfo: () => ({ host: { info: () => Promise.reject(new Error(secretReason)) } }),
  listServices: () => ({ units: { ...createFakeUnits(), list: breaks } }),
  restartService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  listLogs: () => ({ journal: { ...createFakeJournal(), query: breaks } }),
  exportLogs: () => ({ journal: { ...createFakeJournal(), export: breaks } }),
  listConnectors: () => ({ loadConnectors: () => Promise.reject(new Error(secretReason)) }),
  listPlugins: () => ({ loadPlugins: () => Promise.reject(new Error(secretReason)) }),
  createKey: () => ({ store: failingAfterFirst("insertKey") }),
  listAudit: () => ({ audit: { ...createFakeAuditLog(), list: () => Promise.reject(new Error(secretReason)) } }),
  getMetrics: () => ({ metrics: { ...createMetrics(), text: () => Promise.reject(new Error(secretReason)) } }),
};

/** A store that takes the admin's key and then no other. */
function failingAfterFirst(method: "insertKey"): KeyStore {
  const store = createFakeKeyStore();
  let calls = 0;
  return {
    ...store,
    [method]: (key: KeyRecord) => {
      calls += 1;
      if (calls > 1) breaks();
      store[method](key);
    },
  };
}

describe("errors of each operation", () => {
  let service: TestService | undefined;
  afterEach(async () => {
    await service?.app.close();
    service = undefined;
  });

  it.each(errorCases)("%s answers %s", async (name, code, given) => {
    const reply = await provokeError([name, code, given], (started) => {
      service = started;
    });
    expect(reply.json).toMatchObject({
      error: { code, message: expect.any(String), ...(given.details && { details: given.details }) },
    });
    expect(reply.status).toBe(errorStatus[code]);
  });

  it.each(Object.entries(broken))(
    "%s answers INTERNAL_ERROR and gives nothing away when a port breaks",
    async (name, overrides) => {
      service = await startTestService(overrides());
      const operation: Operation = operations[name as OperationName];
      const key = service.admin;
      const path = pathOf(operation, { name: "cron", check_id: "plain", id: key.slice(4, 12) });
      const body = name === "createKey" ? { name: "x", scopes: [] } : undefined;
      const reply = await send(service, { method: operation.method, path, key, body });
      expect(reply.status).toBe(500);
      expect(reply.json).toMatchObject({ error: { code: "INTERNAL_ERROR" } });
      expect(reply.text).not.toContain(secretReason);
      expect(reply.text).toContain(String(reply.headers["x-request-id"]));
      const logged = service.logLines().filter(({ level }) => level === "error");
      expect(JSON.stringify(logged)).toContain(secretReason);
    },
  );

  it("UNAVAILABLE is the answer to a call that is aborted by the shutdown", async () => {
    service = await startTestService();
    service.packageManager.repository.set("editor", { version: "1.1", isSecurity: false });
    service.service.abort();
    const path = "/api/v1/updates/apply?dry_run=true";
    const reply = await send(service, { method: "POST", path, key: service.admin });
    expect([reply.status, reply.json]).toMatchObject([503, errorWith("UNAVAILABLE", { retryable: true })]);
  });

  it("each operation lists the errors that its scope and input bring with them", () => {
    for (const [name, operation] of Object.entries<Operation>(operations)) {
      const needsKey = operation.scope !== "public" || operation.session === "signsIn";
      const codes = errorsOf(operation);
      expect([name, codes.includes("UNAUTHORIZED"), codes.includes("INTERNAL_ERROR")]).toEqual([name, needsKey, true]);
    }
  });
});
