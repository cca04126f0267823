import { expect, it } from "vitest";
import type { GuardVerdict, UpdateApply } from "#contract/updates.ts";
import { createFakePackageManager, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createFakeSnapshotBackend } from "../../../test/fakes/snapshot-backend.ts";
import type { ApplyInput } from "./apply-steps.ts";
import { createSecurityUpdater } from "./security.ts";

const { signal } = new AbortController();
const updated: UpdateApply = {
  success: true,
  snapshot_id: "20260101-000000",
  packages_updated: 1,
  requires_reboot: false,
  operation_id: "op",
  packages: [],
  requires_restart: [],
  error: null,
};

function setUp({ takesSnapshot = true, answer = updated }) {
  const manager = createFakePackageManager([fakePackage("library", "1.0")]);
  manager.repository.set("library", { version: "1.1", isSecurity: true });
  const inputs: ApplyInput[] = [];
  const agreed: (readonly string[])[] = [];
  const updater = createSecurityUpdater({
    host: () => Promise.resolve({ manager, backend: createFakeSnapshotBackend() }),
    apply({ input, planned }) {
      inputs.push(input);
      agreed.push(planned);
      return Promise.resolve(answer);
    },
    takesSnapshot,
  });
  return { updater, inputs, agreed };
}

it.each([
  ["guarded where a snapshot can be taken", {}, true],
  ["not guarded where settings forbid the snapshot", { takesSnapshot: false }, false],
])("a security update by the fix of its check is %s", async (_, options, isGuarded) => {
  const { updater, inputs, agreed } = setUp(options);
  const planned = await updater.plan(["library"], signal);
  expect(planned).toMatchObject({ packages: ["library"], isGuarded });
  await updater.apply(["library"], planned, signal);
  expect(agreed).toEqual([["update library from 1.0 to 1.1"]]);
  expect(inputs).toMatchObject([{ isGuarded, request: { isSecurityOnly: true, names: ["library"] } }]);
});

it("a security update by the fix of its check reports what the guard found", async () => {
  const guard: GuardVerdict = { outcome: "kept", message: "nothing is worse than before", worse: [] };
  const kept = setUp({ answer: { ...updated, guard } });
  expect(await kept.updater.apply(["library"], { changes: [] }, signal)).toBe(
    "1 package updated behind the snapshot 20260101-000000; nothing is worse than before",
  );
  const error = "rolled_back: unit web.service failed";
  const back = setUp({ answer: { ...updated, success: false, packages_updated: 0, error } });
  await expect(back.updater.apply(["library"], { changes: [] }, signal)).rejects.toThrow(error);
});
