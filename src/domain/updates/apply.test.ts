import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PackageFileMissing, type Transactions, TransactionUnseen } from "#domain/ports/packages.ts";
import { committing, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createSnapshotsOf } from "../../../test/fakes/snapshot-backend.ts";
import { fakeStaleProcess } from "../../../test/fakes/stale-code.ts";
import {
  guarded,
  quiet,
  setUp,
  signal,
  versions,
  well,
  withServer,
  work,
} from "../../../test/support/applied-updates.ts";
import { applyUpdates } from "./apply.ts";
import type { ApplyPhase } from "./apply-steps.ts";

describe("an update", () => {
  it("changes nothing while the package manager is in use, and names who uses it", async () => {
    const { manager, ports, wanted } = setUp();
    const input = wanted();
    manager.lockedBy = { pid: 7, program: "apt-get" };
    await expect(applyUpdates(input, ports, work())).rejects.toMatchObject({
      code: "UNAVAILABLE",
      details: { holder: { pid: 7, program: "apt-get" }, retryable: true },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("takes no snapshot when the caller wants none", async () => {
    const { ports, wanted } = setUp();
    expect(await applyUpdates(wanted({ takesSnapshot: false }), ports, work())).toMatchObject({
      success: true,
      snapshot_id: "",
    });
    expect(await ports.backend?.list(signal)).toEqual([]);
  });

  it("succeeds without a snapshot when there is nothing to update, and refuses unknown packages", async () => {
    const { manager, ports, wanted } = setUp();
    manager.repository.clear();
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: true,
      snapshot_id: "",
      packages_updated: 0,
      error: null,
    });
    const request = { type: "packages", isSecurityOnly: false, names: ["nothing"] } as const;
    await expect(applyUpdates(wanted({ request }), ports, work())).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      details: { field: "packages", issue: "nothing is not installed" },
    });
  });
});

describe("configuration files that were changed on the host", () => {
  const dist = { file: "/etc/a.conf", offered: "/etc/a.conf.dpkg-dist", changedAt: 1 };
  const old = { file: "/etc/b.conf", offered: "/etc/b.conf.dpkg-dist", changedAt: 1 };

  it("are named where the update has put a new version beside them, also over an older one", async () => {
    const { manager, ports, wanted, configFiles } = setUp();
    configFiles.list = [dist, old];
    const { commit } = manager.transactions;
    const changing: Transactions["commit"] = (...given) => {
      configFiles.list = [{ ...dist, changedAt: 2 }, old];
      return commit(...given);
    };
    const result = await applyUpdates(wanted(), { ...ports, manager: committing(manager, changing) }, work());
    expect(result).toMatchObject({
      success: true,
      kept_configs: [{ file: "/etc/a.conf", offered: "/etc/a.conf.dpkg-dist" }],
    });
  });

  it("are not mentioned where there are none", async () => {
    const { ports, wanted, configFiles } = setUp();
    configFiles.list = [old];
    expect(await applyUpdates(wanted(), ports, work())).not.toHaveProperty("kept_configs");
  });
});

describe("an update that is hindered", () => {
  const failing = () => Promise.reject(new Error("no more files"));

  it("changes nothing without its snapshot", async () => {
    const { manager, ports, wanted } = setUp();
    const lines: string[] = [];
    const reported = { ...work(), progress: { ...quiet, line: (text: string) => void lines.push(text) } };
    const without = (error: Error) => ({
      ...ports,
      backend: { ...createSnapshotsOf(manager), create: () => Promise.reject(error) },
    });
    await expect(applyUpdates(wanted(), without(new Error("ENOSPC: /var/x")), reported)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot take the snapshot: the log of the operation says why; nothing was changed",
      details: { missing: "snapshot", retryable: true },
    });
    expect(lines).toContain("ENOSPC: /var/x");
    const gone = new PackageFileMissing("editor 1.0 is not available");
    await expect(applyUpdates(wanted(), without(gone), reported)).rejects.toMatchObject({
      message: "cannot take the snapshot: editor 1.0 is not available; nothing was changed",
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("reports what it did although it cannot be inspected", async () => {
    const { manager, ports, wanted } = setUp();
    const blind = {
      ...ports,
      manager: { ...manager, transactions: { ...manager.transactions, audit: failing }, restartNeeds: failing },
    };
    expect(await applyUpdates(wanted(), blind, work())).toMatchObject({
      success: false,
      snapshot_id: "20260101-000000",
      packages_updated: 3,
      error:
        "cannot determine what is left half-done: no more files; cannot determine what must be restarted: no more files",
    });
  });

  it("counts nothing when installed packages cannot be listed", async () => {
    const { manager, ports, wanted } = setUp();
    const blind = { ...ports, manager: { ...manager, installed: failing } };
    expect(await applyUpdates(wanted(), blind, work())).toMatchObject({
      success: false,
      packages_updated: 0,
      packages: [],
      error: "cannot determine which packages are installed: no more files",
    });
  });

  it("reports what an earlier process has changed although the package manager is in use by now", async () => {
    const { manager, ports, wanted } = setUp();
    const plan = await manager.plan(wanted().request, signal);
    const phase: ApplyPhase = { is: "committing", plan, snapshotId: "" };
    manager.packages.set("editor", fakePackage("editor", "1.1"));
    manager.lockedBy = { pid: 7, program: "apt-get" };
    expect(await applyUpdates(wanted(), ports, work(phase))).toMatchObject({
      success: false,
      packages_updated: 1,
      error: "the lock is held by apt-get",
    });
  });

  it("can be resumed when it is stopped together with the package manager", async () => {
    const { manager, ports, wanted } = setUp();
    const stop = new AbortController();
    let saved: ApplyPhase | undefined;
    const commit = () => {
      stop.abort(new Error("stopped"));
      return Promise.resolve({ isDone: false, reason: "it was ended by SIGTERM" });
    };
    const stopped = { ...work(undefined, (next) => (saved = next)), signal: stop.signal };
    await expect(applyUpdates(wanted(), { ...ports, manager: committing(manager, commit) }, stopped)).rejects.toThrow(
      "stopped",
    );
    expect(saved?.is).toBe("committing");
  });

  it("waits for a transaction whose end was not seen, and does the rest", async () => {
    const { manager, ports, wanted } = setUp();
    const asked: string[] = [];
    const commit: typeof manager.transactions.commit = (plan, during, ...rest) => {
      asked.push(plan.changes.map(({ name }) => name).join());
      if (asked.length > 1) return manager.transactions.commit(plan, during, ...rest);
      manager.packages.set("editor", fakePackage("editor", "1.1"));
      return Promise.reject(new TransactionUnseen("systemd did not say how it ended"));
    };
    const settle: typeof manager.transactions.settle = () => Promise.resolve(void asked.push("settle"));
    const stubborn = { ...ports, manager: { ...manager, transactions: { ...manager.transactions, commit, settle } } };
    expect(await applyUpdates(wanted(), stubborn, work())).toMatchObject({ success: true, packages_updated: 3 });
    expect(asked).toEqual(["editor,library,server", "settle", "library,server"]);
  });
});

describe("an interrupted update", () => {
  /** Ends the process at the so-manieth call of anything outside. */
  function mortal<T extends object>(port: T, tick: () => void): T {
    return new Proxy(port, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return async (...words: unknown[]) => {
          tick();
          const answer: unknown = await Reflect.apply(member, target, words);
          tick();
          return answer;
        };
      },
    });
  }

  it("ends as it would have without interruptions, at whichever step they are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        async (deaths, isGuarded, isWorse) => {
          const { manager, ports, wanted, becomes } = setUp();
          if (isWorse) becomes(() => (manager.packages.get("server")?.version === "3.1" ? withServer("failed") : well));
          const input = wanted(isGuarded ? guarded : {});
          let phase: ApplyPhase | undefined;
          const attempt = async (left: number) => {
            let calls = left;
            const tick = (): void => {
              calls -= 1;
              if (calls <= 0) throw new Error("killed");
            };
            const backend = ports.backend && mortal(ports.backend, tick);
            return applyUpdates(
              input,
              { ...ports, manager: mortal(manager, tick), backend },
              work(phase, (next) => {
                phase = next;
                tick();
              }),
            );
          };
          for (const death of deaths) await attempt(death).catch(() => undefined);
          const result = await attempt(Number.POSITIVE_INFINITY);
          const isBack = isGuarded && isWorse;
          expect(versions(manager)).toEqual(
            isBack
              ? { editor: "1.0", library: "2.0", server: "3.0" }
              : { editor: "1.1", library: "2.1", server: "3.1" },
          );
          expect(result).toMatchObject({ success: !isBack, packages_updated: isBack ? 0 : 3 });
          expect(result.guard?.outcome).toBe(isGuarded ? (isWorse ? "rolled_back" : "kept") : undefined);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a purge of what was removed before", () => {
  it("is resumed after an interruption, and fails while the configuration is left", async () => {
    const { manager, ports } = setUp();
    const left = { ...fakePackage("old", "1.0"), state: "configuration" as const };
    manager.files.packages = [left];
    const change = {
      name: "old",
      architecture: "amd64",
      from: "1.0",
      to: null,
      isSecurity: false,
      isLeftover: true,
    } as const;
    const plan = { changes: [change], downloadBytes: 0, diskBytes: 0, isPurge: true } as const;
    const phase = { is: "committing", plan, snapshotId: "" } as const;
    const request = { change: "purge", names: ["old"], removesOnlyNamed: false } as const;
    const input = { request, takesSnapshot: false, isGuarded: false };
    const stuck = committing(manager, () => Promise.resolve({ isDone: false, reason: "apt-get was killed" }));
    expect(await applyUpdates(input, { ...ports, manager: stuck }, work(phase))).toMatchObject({
      success: false,
      packages_updated: 0,
      packages: [],
      error: "apt-get was killed",
    });
    const purging = committing(manager, ({ changes, isPurge }) => {
      expect([changes, isPurge]).toEqual([[change], true]);
      manager.files.packages = [];
      return Promise.resolve({ isDone: true, reason: "" });
    });
    expect(await applyUpdates(input, { ...ports, manager: purging }, work(phase))).toMatchObject({
      success: true,
      packages_updated: 1,
      packages: [{ name: "old", from: "1.0", to: null }],
    });
  });
});

describe("an update that restarts services with replaced code", () => {
  const stale = { restartsStale: true } as const;

  it("restarts them once packages have changed, and reports them", async () => {
    const { ports, wanted, units, staleCode } = setUp();
    staleCode.processes = [fakeStaleProcess("web.service")];
    const result = await applyUpdates(wanted(stale), ports, work());
    expect(result).toMatchObject({ success: true, restarted: [{ unit: "web.service", success: true }] });
    expect(units.actions).toEqual(["restart web.service"]);
    // Nothing changed, so nothing is restarted.
    staleCode.processes = [fakeStaleProcess("other.service")];
    expect(await applyUpdates(wanted(stale), ports, work())).toMatchObject({ success: true, restarted: [] });
    expect(units.actions).toEqual(["restart web.service"]);
  });

  it("fails where a service does not start, and where processes cannot be inspected", async () => {
    const { ports, wanted, staleCode } = setUp();
    staleCode.processes = [fakeStaleProcess("frail.service")];
    expect(await applyUpdates(wanted(stale), ports, work())).toMatchObject({
      success: false,
      packages_updated: 3,
      restarted: [{ unit: "frail.service", success: false }],
      error: "cannot restart frail.service: its job ended with: failed; it is failed",
    });
    const other = setUp();
    const code = { find: () => Promise.reject(new Error("no processes here")) };
    const blind = { ...other.ports, stale: { ...other.ports.stale, code } };
    expect(await applyUpdates(other.wanted(stale), blind, work())).toMatchObject({
      success: false,
      packages_updated: 3,
      error: "cannot restart what runs replaced code: no processes here",
    });
  });

  it("restarts them before the guard inspects the host, and again after a rollback", async () => {
    const { ports, wanted, becomes, manager, units, staleCode } = setUp();
    const code = { find: () => Promise.resolve({ processes: staleCode.processes, hidden: 0 }) };
    staleCode.processes = [fakeStaleProcess("web.service")];
    becomes(() => {
      const isWorse = manager.packages.get("server")?.version === "3.1" && units.actions.length > 0;
      return isWorse ? withServer("failed") : well;
    });
    const guardedPorts = { ...ports, stale: { ...ports.stale, code } };
    const result = await applyUpdates(wanted({ ...guarded, ...stale }), guardedPorts, work());
    expect(result.guard?.outcome).toBe("rolled_back");
    expect(units.actions).toEqual(["restart web.service", "restart web.service"]);
  });
});
