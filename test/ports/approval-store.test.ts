import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openApprovalStore } from "#adapters/approvals/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { ApprovalRecord, ApprovalStore } from "#domain/ports/approvals.ts";
import type { Dispose } from "#kernel/clock.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";

let stateDir: string;
let troubles: string[];
const open: Dispose[] = [];
const close = (): void => {
  for (const dispose of open.splice(0)) dispose();
};
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-approvals-"));
  troubles = [];
});
afterEach(() => {
  close();
  rmSync(stateDir, { recursive: true, force: true });
});

/** As a service that is started anew. */
function openStore(folder = stateDir): ApprovalStore {
  close();
  const onTrouble = (_: Error, aside?: string): void => void troubles.push(aside ?? "memory");
  const store = openApprovalStore({ stateDir: folder, onTrouble });
  open.push(store.dispose);
  return store;
}

const record = (id: string, rest: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  id,
  revision: 1,
  status: "pending",
  operation: "restartService",
  input: { params: { name: "web.service" } },
  inputDigest: "",
  needs: [{ scope: "services:restart", resource: "web.service" }],
  plan: {
    dry_run: true,
    steps: ["restart web.service"],
    units: ["web.service"],
    packages: [],
    bytes: 0,
    requires_reboot: false,
  },
  digest: "d",
  changed: null,
  proposer: { keyId: "k", keyName: "n", credential: "key", granted: ["propose:services:restart"], expiresAt: null },
  reason: null,
  idempotencyKey: null,
  createdAt: 1,
  expiresAt: 2,
  required: 1,
  approvals: [],
  decidedBy: null,
  finishedAt: null,
  override: null,
  operationId: null,
  result: null,
  error: null,
  ...rest,
});

describe.each([
  ["fake", createFakeApprovalStore],
  ["sqlite", () => openStore()],
] as const)("approval store: %s", (_, make: () => ApprovalStore) => {
  it("keeps what is saved, the newest of each, oldest first", () => {
    const store = make();
    expect(store.list()).toEqual([]);
    store.save(record("b", { createdAt: 2 }));
    store.save(record("a"));
    store.save(record("b", { createdAt: 2, status: "denied", revision: 3 }));
    expect(store.list()).toEqual([record("a"), record("b", { createdAt: 2, status: "denied", revision: 3 })]);
  });

  it("removes records by id, and ignores unknown ids", () => {
    const store = make();
    for (const id of ["a", "b", "c"]) store.save(record(id));
    store.remove(["a", "c", "nothing"]);
    expect(store.list().map(({ id }) => id)).toEqual(["b"]);
  });
});

it("keeps approvals over a restart, for its user alone", () => {
  openStore().save(record("a", { input: { body: { text: "ü\n\u0000" } } }));
  expect(openStore().list()).toEqual([record("a", { input: { body: { text: "ü\n\u0000" } } })]);
  expect(statSync(join(stateDir, "approvals.db")).mode & 0o777).toBe(0o600);
});

it("has none where its file is damaged, and keeps the next", () => {
  openStore().save(record("a"));
  close();
  writeFileSync(join(stateDir, "approvals.db"), "damaged".repeat(1000));
  const store = openStore();
  expect(store.list()).toEqual([]);
  store.save(record("b"));
  expect(openStore().list()).toEqual([record("b")]);
  expect(troubles).toEqual([join(stateDir, "approvals.db.damaged")]);
});

it("refuses to keep anything where there is nothing but the memory", () => {
  const store = openStore(join(stateDir, "missing"));
  expect(() => store.save(record("a"))).toThrow(HostUnavailable);
});
