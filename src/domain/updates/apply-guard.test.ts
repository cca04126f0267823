import { describe, expect, it } from "vitest";
import { type Transactions, UpdateRefused } from "#domain/ports/packages.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeJournal, unreadFile } from "../../../test/fakes/journal.ts";
import { committing } from "../../../test/fakes/package-manager.ts";
import { createSnapshotsOf } from "../../../test/fakes/snapshot-backend.ts";
import {
  guarded,
  quiet,
  setUp,
  signal,
  unitsWhenWell,
  versions,
  well,
  withServer,
  work,
} from "../../../test/support/applied-updates.ts";
import { applyUpdates } from "./apply.ts";
import type { ApplyPhase } from "./apply-steps.ts";
import { createNewErrors } from "./new-errors.ts";

describe("a guarded update", () => {
  it("is rolled back when the host can no longer be inspected", async () => {
    const { manager, ports, wanted } = setUp();
    const look = () =>
      versions(manager)["server"] === "3.1" ? Promise.reject(new Error("gone")) : Promise.resolve(well);
    const unreachable = { ...ports, condition: { ...ports.condition, look } };
    expect(await applyUpdates(wanted(guarded), unreachable, work())).toMatchObject({
      success: false,
      guard: { outcome: "rolled_back", worse: ["the host cannot be inspected"] },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("does not watch forever failures that move from unit to unit", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let looks = 0;
    becomes(() => {
      looks += 1;
      if (looks > 1000) throw new Error("watched for ever");
      if (versions(manager)["server"] !== "3.1") return well;
      return fakeCondition({ units: { ...unitsWhenWell, [`unit-${looks}.service`]: "failed" } });
    });
    const result = await applyUpdates(wanted(guarded), ports, work());
    expect(result.guard).toMatchObject({ outcome: "rolled_back", worse: [expect.stringMatching(/^unit unit-\d+/)] });
    expect(looks).toBeLessThan(1000);
  });

  it("reports a rollback that failed, and the packages as they are", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    const backend = {
      ...createSnapshotsOf(manager),
      verify: () => Promise.reject(new SnapshotUnusable("it is damaged")),
    };
    expect(await applyUpdates(wanted(guarded), { ...ports, backend }, work())).toMatchObject({
      success: false,
      snapshot_id: "20260101-000000",
      packages_updated: 2,
      guard: {
        outcome: "rollback_failed",
        message: "the update failed: cannot configure server: cannot return to 20260101-000000: it is damaged",
      },
    });
  });

  it("reports what is worse where there is no snapshot to return to", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let server = "active";
    becomes(() => {
      if (versions(manager)["server"] === "3.1") server = "failed";
      return withServer(server);
    });
    const result = await applyUpdates(wanted({ ...guarded, takesSnapshot: false }), ports, work());
    const worse = ["unit server.service: was active (running), now failed, result exit-code"];
    expect(result).toMatchObject({
      success: false,
      snapshot_id: "",
      packages_updated: 3,
      guard: { outcome: "rollback_failed", worse, restarted: ["server.service"], remaining: worse },
    });
    expect(result.guard?.message).toBe(
      `${worse[0]}: there is no snapshot to return to; still worse than before: ${worse[0]}`,
    );
  });

  it("reports a rollback that is complete only after a reboot", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    const later = { isDone: true, reason: "", packages: [], filesRestored: 0, filesLeft: [], requiresReboot: true };
    const backend = { ...createSnapshotsOf(manager), rollback: () => Promise.resolve(later) };
    expect(await applyUpdates(wanted(guarded), { ...ports, backend }, work())).toMatchObject({
      guard: { outcome: "rolled_back" },
      requires_reboot: true,
      packages_updated: 2,
    });
  });

  it("rolls nothing back when nothing was changed", async () => {
    const { manager, ports, wanted } = setUp();
    const commit = () => Promise.reject(new UpdateRefused("there is no space"));
    expect(
      await applyUpdates(wanted(guarded), { ...ports, manager: committing(manager, commit) }, work()),
    ).toMatchObject({
      success: false,
      error: "there is no space",
      guard: { outcome: "kept", message: "nothing was changed" },
    });
    expect(await ports.backend?.list(signal)).toHaveLength(1);
  });

  it("tolerates a short failure", async () => {
    const { ports, wanted, becomes } = setUp();
    let looks = 0;
    becomes(() => {
      looks += 1;
      return looks === 3 ? withServer("failed") : well;
    });
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: true,
      guard: { outcome: "kept" },
    });
  });

  it("is compared with the host as it is right before packages change", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let isReady = false;
    becomes(() => {
      expect(isReady || versions(manager)["server"] === "3.1").toBe(true);
      return well;
    });
    const { commit } = manager.transactions;
    const slow: Transactions["commit"] = (plan, options, stop) => {
      const ready = async () => {
        isReady = true;
        await options.ready?.();
      };
      return commit(plan, { ...options, ready }, stop);
    };
    const result = await applyUpdates(wanted(guarded), { ...ports, manager: committing(manager, slow) }, work());
    expect(result).toMatchObject({ success: true, guard: { outcome: "kept" } });
    expect(isReady).toBe(true);
  });

  it("is kept where the host was not inspected before, which it reports", async () => {
    const { manager, ports, wanted } = setUp();
    const { commit } = manager.transactions;
    const blind: Transactions["commit"] = (plan, { id, progress }, stop) => commit(plan, { id, progress }, stop);
    expect(
      await applyUpdates(wanted(guarded), { ...ports, manager: committing(manager, blind) }, work()),
    ).toMatchObject({
      success: true,
      guard: { outcome: "kept", message: expect.stringContaining("was not inspected before") },
    });
  });

  it("starts what ran before once it is rolled back, and inspects the host again", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let server = "active";
    becomes(() => {
      if (versions(manager)["server"] === "3.1") server = "inactive";
      return withServer(server);
    });
    const restart = (unit: string) => {
      expect([unit, versions(manager)["server"]]).toEqual(["server.service", "3.0"]);
      server = "active";
      return Promise.resolve();
    };
    expect(
      await applyUpdates(wanted(guarded), { ...ports, condition: { ...ports.condition, restart } }, work()),
    ).toMatchObject({
      success: false,
      guard: {
        outcome: "rolled_back",
        worse: ["unit server.service: was active (running), now inactive"],
        restarted: ["server.service"],
        remaining: [],
      },
    });
  });

  it("reports what is still worse after its rollback", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let server = "active";
    becomes(() => {
      if (versions(manager)["server"] === "3.1") server = "failed";
      return withServer(server);
    });
    const restart = () => Promise.reject(new Error("its start ended with failed"));
    const lines: string[] = [];
    const reported = { ...work(), progress: { ...quiet, line: (text: string) => void lines.push(text) } };
    const result = await applyUpdates(
      wanted(guarded),
      { ...ports, condition: { ...ports.condition, restart } },
      reported,
    );
    const remaining = ["unit server.service: was active (running), now failed, result exit-code"];
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: { outcome: "rolled_back_still_worse", restarted: [], remaining },
    });
    expect(result.error).toContain("still worse than before: unit server.service");
    expect(lines).toContain("cannot start server.service: its start ended with failed");
  });

  it("is rolled back when the transaction fails", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: false,
      guard: { outcome: "rolled_back", worse: ["the update failed: cannot configure server"] },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });
});

describe("errors that the host had not logged before a guarded update", () => {
  const setUpLogging = () => {
    const set = setUp();
    const journal = createFakeJournal();
    const { now } = set.ports.clock;
    const log = (message: string, priority = 3, agoMs = 0) =>
      void journal.write({ message, priority, unit: "server.service", time: (now() - agoMs) * 1000 });
    log("row 7 is late", 3, 60_000);
    const ports = { ...set.ports, newErrors: createNewErrors(journal) };
    /** What the new version logs at the first look after the update, and what it has a unit be. */
    const logs = (messages: readonly string[], server = "active"): void => {
      let left = messages;
      set.becomes(() => {
        if (versions(set.manager)["server"] !== "3.1") return well;
        for (const message of left) log(message);
        left = [];
        return withServer(server);
      });
    };
    return { ...set, ports, journal, log, logs };
  };
  const fresh = {
    template: expect.stringMatching(/^[0-9a-f]{16}$/),
    unit: "server.service",
    text: "cannot open table <*>",
    priority: 3,
    count: 2,
  };

  it("are named in its verdict, and are no reason to roll back", async () => {
    const { ports, wanted, log, logs } = setUpLogging();
    logs(["cannot open table 3", "row 8 is late", "cannot open table 4"]);
    log("took 3 rows", 6);
    const { success, guard } = await applyUpdates(wanted(guarded), ports, work());
    expect([success, guard]).toEqual([
      true,
      {
        outcome: "kept",
        message:
          "nothing is worse than before; 1 kind of errors never logged before: server.service: cannot open table <*>",
        worse: [],
        new_errors: [fresh],
      },
    ]);
  });

  it("are those until the decision to roll back, also where another process continues", async () => {
    const { ports, wanted, log, logs } = setUpLogging();
    logs(["cannot open table 3", "cannot open table 4"], "failed");
    const { rollback } = ports.backend;
    const backend = {
      ...ports.backend,
      rollback: (...given: Parameters<typeof rollback>) => {
        void ports.clock.sleep(1_000, signal);
        log("going back");
        return rollback(...given);
      },
    };
    let rolling: ApplyPhase | undefined;
    const result = await applyUpdates(
      wanted(guarded),
      { ...ports, backend },
      work(undefined, (phase) => {
        if (phase.is === "rolling_back") rolling ??= phase;
      }),
    );
    expect(result.guard).toMatchObject({ outcome: "rolled_back", new_errors: [fresh] });
    expect(result.guard?.message).toContain("never logged before: server.service: cannot open table <*>");
    const resumed = await applyUpdates(wanted(guarded), ports, work(rolling));
    expect(resumed.guard).toMatchObject({ outcome: "rolled_back", new_errors: [fresh] });
  });

  it("may not be all where files of the journal cannot be read, which the verdict names", async () => {
    const { ports, wanted, journal } = setUpLogging();
    journal.unread = [unreadFile];
    const { success, guard } = await applyUpdates(wanted(guarded), ports, work());
    expect([success, guard]).toEqual([
      true,
      {
        outcome: "kept",
        message: `nothing is worse than before; which errors are new is not certain, cannot read ${unreadFile.path} (it is damaged: at byte 8)`,
        worse: [],
        new_errors: [],
      },
    ]);
  });

  it("are not reported where the journal cannot be read, and the update is as good", async () => {
    const { ports, wanted, journal, logs } = setUpLogging();
    logs(["cannot open table 3"]);
    journal.available = false;
    const lines: string[] = [];
    const reported = { ...work(), progress: { ...quiet, line: (text: string) => void lines.push(text) } };
    const { success, guard } = await applyUpdates(wanted(guarded), ports, reported);
    expect([success, guard]).toEqual([true, { outcome: "kept", message: "nothing is worse than before", worse: [] }]);
    expect(lines).toContain("cannot determine which errors are new: permission denied");
  });
});
