import { describe, expect, it } from "vitest";
import { PackageFileMissing, TransactionUnseen } from "#domain/ports/packages.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeConfigFiles } from "../../../test/fakes/config-files.ts";
import { createFakeFileSystems } from "../../../test/fakes/file-systems.ts";
import { createFakePackageManager, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createFakeRebootNeed } from "../../../test/fakes/reboot-need.ts";
import { createFakeSnapshotBackend } from "../../../test/fakes/snapshot-backend.ts";
import { createFakeStaleCode, fakeStaleProcess } from "../../../test/fakes/stale-code.ts";
import { createFakeUnits } from "../../../test/fakes/units.ts";
import { downgradeRules } from "./downgrades.ts";
import type { RollbackPhase } from "./rollback.ts";
import { updateVerbs } from "./verbs.ts";

const { signal } = new AbortController();

function setUp(change: (backend: SnapshotBackend) => Partial<SnapshotBackend> = () => ({})) {
  const clock = createFakeClock();
  const manager = createFakePackageManager([fakePackage("editor", "1.0")]);
  manager.repository.set("editor", { version: "1.1", isSecurity: false });
  const fake = createFakeSnapshotBackend({}, clock);
  const backend = { ...fake, ...change(fake) };
  const staleCode = createFakeStaleCode();
  const units = createFakeUnits([
    { name: "web.service", activeState: "active", subState: "running" },
    { name: "cron.service", activeState: "active", subState: "running" },
  ]);
  const condition = { look: () => Promise.resolve(fakeCondition()), restart: () => Promise.resolve() };
  const verbs = updateVerbs({
    manager,
    backend,
    condition,
    newErrors: { between: () => Promise.resolve({ errors: [], unread: [] }) },
    clock,
    guard: { guardMs: 0, enoughMs: 0 },
    configFiles: createFakeConfigFiles(),
    keepSnapshots: 1,
    stale: { code: staleCode, units, reboot: createFakeRebootNeed() },
    rules: downgradeRules(),
    fileSystems: createFakeFileSystems(),
  });
  const lines: string[] = [];
  const progress = { step: () => undefined, line: (text: string) => void lines.push(text) };
  const work = { id: "op", progress, phase: undefined, savePhase: () => undefined, signal };
  return { clock, fake, manager, units, staleCode, verbs, work, lines };
}
const input = {
  request: { type: "packages", isSecurityOnly: false, names: undefined },
  takesSnapshot: true,
  isGuarded: false,
} as const;

describe("a snapshot of a package whose file is not available", () => {
  it("is refused, and so is a rollback without its safety snapshot", async () => {
    const { verbs, work } = setUp((backend) => ({
      create: (options, each) =>
        options.kind === "manual" && options.description === ""
          ? backend.create(options, each)
          : Promise.reject(new PackageFileMissing("editor 1.0 is nowhere")),
    }));
    const refusal = {
      code: "UNAVAILABLE",
      message: "cannot take the snapshot: editor 1.0 is nowhere; nothing was touched",
      details: { missing: "snapshot" },
    };
    await expect(verbs["snapshots.create"]({ description: "mine" }, work)).rejects.toMatchObject(refusal);
    const { id: snapshotId } = await verbs["snapshots.create"]({ description: "" }, work);
    await expect(verbs["updates.rollback"]({ snapshotId }, work)).rejects.toMatchObject(refusal);
  });
});

describe("the progress of a rollback", () => {
  it("never goes back, whatever its parts report", async () => {
    const { verbs, work } = setUp((backend) => ({
      create: (options, each) => {
        for (const percent of [0, 80]) options.progress.step(percent, "keep");
        return backend.create(options, each);
      },
      rollback: (id, options, each) => {
        for (const percent of [0, 100]) options.progress.step(percent, "return");
        return backend.rollback(id, options, each);
      },
    }));
    const { id: snapshotId } = await verbs["snapshots.create"]({ description: "" }, work);
    const seen: number[] = [];
    const progress = { ...work.progress, step: (percent: number) => void seen.push(percent) };
    await verbs["updates.rollback"]({ snapshotId }, { ...work, progress });
    expect(seen).toEqual([0, 15, 15, 35, 40, 40, 100]);
  });
});

describe("the residue of an interrupted rollback", () => {
  it.each(["updates.apply", "updates.rollback", "snapshots.create", "snapshots.delete"] as const)(
    "is removed after %s, once its transaction is over",
    async (kind) => {
      const { fake, manager, verbs, work } = setUp();
      const { id: snapshotId } = await verbs["snapshots.create"]({ description: "" }, work);
      fake.interrupted.add("gone");
      const settled: string[] = [];
      Object.assign(manager.transactions, {
        settle(id: string) {
          settled.push(id);
          return Promise.resolve();
        },
      });
      const kinds = {
        "updates.apply": () => verbs["updates.apply"](input, work),
        "updates.rollback": () => verbs["updates.rollback"]({ snapshotId }, work),
        "snapshots.create": () => verbs["snapshots.create"]({ description: "" }, work),
        "snapshots.delete": () => verbs["snapshots.delete"]({ snapshotId }, work),
      };
      await kinds[kind]();
      const own = kind === "updates.rollback" ? [work.id] : [];
      expect([settled, [...fake.interrupted]]).toEqual([["gone", ...own], []]);
    },
  );

  it("is reported and left where it cannot be removed, and the result stands", async () => {
    const { verbs, work, lines } = setUp(() => ({ tidy: () => Promise.reject(new Error("read-only")) }));
    expect(await verbs["updates.apply"](input, work)).toMatchObject({ success: true });
    expect(lines).toContain("cannot remove leftovers of rollbacks: read-only");
  });
});

describe("an approved plan", () => {
  const refusal = { code: "CONFLICT", details: { reason: "plan_changed" } };

  it("is done exactly by an update, or nothing is done", async () => {
    const { fake, manager, verbs, work } = setUp();
    const planned = ["update editor from 1.0 to 1.05"];
    await expect(verbs["updates.apply"](input, { ...work, planned })).rejects.toMatchObject({
      ...refusal,
      details: { added: ["update editor from 1.0 to 1.1"], missing: planned },
    });
    expect([manager.packages.get("editor")?.version, await fake.list(signal)]).toEqual(["1.0", []]);
    const agreed = { ...work, planned: ["update editor from 1.0 to 1.1"] };
    expect(await verbs["updates.apply"](input, agreed)).toMatchObject({ success: true, packages_updated: 1 });
  });

  it("is done exactly by a rollback, or nothing is done", async () => {
    const { clock, fake, verbs, work } = setUp();
    fake.host.packages = [fakePackage("editor", "1.0")];
    const { id: snapshotId } = await verbs["snapshots.create"]({ description: "" }, work);
    fake.host.packages = [fakePackage("editor", "1.2")];
    await clock.advance(1000);
    const planned = ["return editor from 1.1 to 1.0"];
    await expect(verbs["updates.rollback"]({ snapshotId }, { ...work, planned })).rejects.toMatchObject(refusal);
    expect(fake.host.packages[0]?.version).toBe("1.2");
    const agreed = { ...work, planned: ["return editor from 1.2 to 1.0"] };
    expect(await verbs["updates.rollback"]({ snapshotId }, agreed)).toMatchObject({ success: true });
  });

  it("is done exactly by a restart of services, or nothing is done", async () => {
    const { units, staleCode, verbs, work } = setUp();
    staleCode.processes = [fakeStaleProcess("web.service"), fakeStaleProcess("cron.service")];
    const planned = ["restart web.service"];
    await expect(verbs["updates.restart_stale"]({}, { ...work, planned })).rejects.toMatchObject({
      ...refusal,
      details: { added: ["restart cron.service"], missing: [] },
    });
    expect(units.actions).toEqual([]);
  });
});

describe("a rollback that is resumed", () => {
  it("reports what the first process has changed, whenever that was killed", async () => {
    const { clock, fake, verbs, work } = setUp();
    fake.host.packages = [fakePackage("editor", "1.0")];
    const { id: snapshotId } = await verbs["snapshots.create"]({ description: "" }, work);
    fake.host.packages = [fakePackage("editor", "1.1")];
    await clock.advance(1000);
    let phase: RollbackPhase | undefined;
    const savePhase = (next: RollbackPhase): void => {
      phase = next;
    };
    const killed = new Error("killed");
    const attempt = () => verbs["updates.rollback"]({ snapshotId }, { ...work, phase, savePhase });
    const kill = (): never => {
      throw killed;
    };
    // Before the end of the rollback is written down.
    await expect(
      verbs["updates.rollback"](
        { snapshotId },
        { ...work, savePhase: (next) => (next.result ? kill() : savePhase(next)) },
      ),
    ).rejects.toBe(killed);
    expect(fake.host.packages).toEqual([fakePackage("editor", "1.0")]);
    const result = await attempt();
    expect(result).toMatchObject({ success: true, packages_changed: 1, packages: [{ name: "editor", to: "1.0" }] });
    // After what it has left was taken away.
    expect([...fake.interrupted]).toEqual([]);
    expect(await attempt()).toEqual(result);
  });
});

describe("a rollback in which the end of a transaction was not seen", () => {
  const unseen = (times: number) => {
    let asked = 0;
    const host = setUp((backend) => ({
      async rollback(...given) {
        const outcome = await backend.rollback(...given);
        asked += 1;
        if (asked <= times) throw new TransactionUnseen("systemd did not say how it ended");
        return outcome;
      },
    }));
    const prepare = async (): Promise<string> => {
      host.fake.host.packages = [fakePackage("editor", "1.0")];
      const { id } = await host.verbs["snapshots.create"]({ description: "" }, host.work);
      host.fake.host.packages = [fakePackage("editor", "1.1")];
      await host.clock.advance(1000);
      return id;
    };
    return { ...host, prepare };
  };

  it("continues from what that has left, and reports all changes", async () => {
    const { verbs, work, lines, fake, prepare } = unseen(1);
    const snapshotId = await prepare();
    expect(await verbs["updates.rollback"]({ snapshotId }, work)).toMatchObject({
      success: true,
      packages: [{ name: "editor", from: "1.1", to: "1.0" }],
    });
    expect(fake.host.packages).toEqual([fakePackage("editor", "1.0")]);
    expect(lines).toContain("systemd did not say how it ended; waiting for its end");
  });

  it("fails where that happens again", async () => {
    const { verbs, work, prepare } = unseen(2);
    const snapshotId = await prepare();
    await expect(verbs["updates.rollback"]({ snapshotId }, work)).rejects.toThrow(TransactionUnseen);
  });
});

describe("retention after the work", () => {
  it("keeps the result when snapshots cannot be listed", async () => {
    let isAfter = false;
    const { verbs, work, lines } = setUp((backend) => ({
      async create(options, each) {
        isAfter = true;
        return backend.create(options, each);
      },
      list: (each) => (isAfter ? Promise.reject(new Error("no more files")) : backend.list(each)),
    }));
    expect(await verbs["updates.apply"](input, work)).toMatchObject({ success: true, packages_updated: 1 });
    expect(lines).toContain("cannot remove old snapshots: no more files");
  });

  it("removes no snapshot that the result names", async () => {
    const { clock, fake, verbs, work } = setUp();
    const { id: oldest } = await verbs["snapshots.create"]({ description: "" }, work);
    await clock.advance(1000);
    const result = await verbs["updates.rollback"]({ snapshotId: oldest }, work);
    expect(result.success).toBe(true);
    expect((await fake.list(signal)).map(({ id }) => id)).toEqual([oldest, result.safety_snapshot_id]);
    await clock.advance(1000);
    const { id: newest } = await verbs["snapshots.create"]({ description: "" }, work);
    expect((await fake.list(signal)).map(({ id }) => id)).toEqual([newest]);
  });
});
