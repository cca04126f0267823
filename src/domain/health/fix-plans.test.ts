import { describe, expect, it } from "vitest";
import type { UpdateApply } from "#contract/updates.ts";
import { basisOf, essenceOf } from "#domain/common/plan.ts";
import { createSecurityUpdater } from "#domain/updates/security.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeDiskCleanup } from "../../../test/fakes/disk-cleanup.ts";
import { createFakeFileSystems } from "../../../test/fakes/file-systems.ts";
import { createFakeJournalStorage, fakeJournalSize } from "../../../test/fakes/journal.ts";
import { createFakePackageManager, fakeMissingPlan, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createFakeSnapshotBackend } from "../../../test/fakes/snapshot-backend.ts";
import { createFakeTimeSync } from "../../../test/fakes/time-sync.ts";
import { createFakeUnits } from "../../../test/fakes/units.ts";
import type { FixPlan } from "./fix.ts";
import { planOf } from "./fix-result.ts";
import { builtInFixes } from "./fixes-registry.ts";

const { signal } = new AbortController();
const mebibyte = 1024 ** 2;
const names = (count: number, last: string): readonly string[] => [
  ...Array.from({ length: count - 1 }, (_, at) => `name-${at + 10}`),
  last,
];

function createWorld() {
  const packages = createFakePackageManager();
  const simulated = { downloadBytes: 1_000_000 };
  const manager = {
    ...packages,
    plan: async (...asked: Parameters<typeof packages.plan>) => ({
      ...(await packages.plan(...asked)),
      ...simulated,
    }),
  };
  const security = createSecurityUpdater({
    host: () => Promise.resolve({ manager, backend: createFakeSnapshotBackend() }),
    apply: (): Promise<UpdateApply> => Promise.reject(new Error("this is a dry run")),
    takesSnapshot: true,
  });
  const world = {
    clock: createFakeClock(),
    ownUnit: "steward.service",
    packages,
    simulated,
    security,
    units: createFakeUnits(),
    time: createFakeTimeSync({ canSync: true, isEnabled: false, isSynchronised: false, isContainer: false }),
    journal: createFakeJournalStorage(fakeJournalSize({ diskBytes: 160 * mebibyte, archivedBytes: 150 * mebibyte })),
    cleanup: createFakeDiskCleanup(),
    fileSystems: createFakeFileSystems(),
    /** What the check found. */
    details: {} as Readonly<Record<string, unknown>>,
  };
  return world;
}

type World = ReturnType<typeof createWorld>;

interface Moves {
  readonly prepare: (world: World) => void;
  /** Times and sizes, which are no other plan. */
  readonly resize?: (world: World) => void;
  /** Each leads to another plan. Empty for fixes whose steps are always the same. */
  readonly changes: Readonly<Record<string, (world: World) => void>>;
}

const full = { file_systems: [{ path: "/", status: "fail" }] };
const temporary = { kind: "temporary", directory: "/tmp", files: names(12, "z"), bytes: 3e6 } as const;
const foreign = { kind: "packages", directory: "/var/cache/apt/archives", files: ["a.deb"], bytes: 2e6 } as const;
const updates = (all: readonly string[]) => ({ updates: all.map((name) => ({ name, held: false })) });

function offer({ packages }: World, all: readonly string[], version: string): void {
  for (const name of all) {
    packages.packages.set(name, fakePackage(name, "1.0"));
    packages.repository.set(name, { version, isSecurity: true });
  }
}

function failUnits(world: World, all: readonly string[]): void {
  for (const name of all) world.units.become(name, { activeState: "failed", subState: "failed" });
  world.details = { units: all.map((name) => ({ name })) };
}

const installed = (name: string, to: string) => ({ name, architecture: "all", from: null, to });

/** Of each fix that there is. */
const moves: Readonly<Record<string, Moves>> = {
  disk_cleanup: {
    prepare(world) {
      world.details = full;
      world.cleanup.candidates = [temporary, { ...foreign, foreign: "notes.txt" }];
      for (const at of [18, 19, 20]) {
        const name = `linux-image-6.1.0-${at}-amd64`;
        world.packages.packages.set(name, fakePackage(name, "1", { isManual: false }));
      }
    },
    resize(world) {
      world.cleanup.candidates = world.cleanup.candidates.map((each) => ({ ...each, bytes: each.bytes * 3 }));
      world.journal.now = fakeJournalSize({ diskBytes: 560 * mebibyte, archivedBytes: 550 * mebibyte });
    },
    changes: {
      "another file": ({ cleanup }) => {
        cleanup.candidates = [{ ...temporary, files: names(12, "y") }, ...cleanup.candidates.slice(1)];
      },
      "another directory": ({ cleanup }) => {
        cleanup.candidates = [{ ...temporary, directory: "/var/tmp" }, ...cleanup.candidates.slice(1)];
      },
      "another foreign file": ({ cleanup }) => {
        cleanup.candidates = [temporary, { ...foreign, foreign: "others.txt" }];
      },
      "another version of a kernel": ({ packages }) => {
        const name = "linux-image-6.1.0-18-amd64";
        packages.packages.set(name, fakePackage(name, "2", { isManual: false }));
      },
    },
  },
  vacuum_journal: {
    prepare(world) {
      world.details = { warn_gb: 0.1 };
    },
    resize(world) {
      world.journal.now = fakeJournalSize({ diskBytes: 560 * mebibyte, archivedBytes: 550 * mebibyte });
    },
    changes: {
      "another threshold": (world) => {
        world.details = { warn_gb: 0.05 };
      },
    },
  },
  systemd_restart_failed: {
    prepare: (world) => failUnits(world, ["a.service", "b.service"]),
    changes: {
      "another unit": (world) => failUnits(world, ["a.service", "c.service"]),
      "a unit that is left alone": (world) => failUnits(world, ["a.service", "b.service", "dbus.service"]),
    },
  },
  enable_time_sync: { prepare: () => undefined, changes: {} },
  apt_fix_dpkg: {
    prepare(world) {
      world.details = { unfinished: names(12, "z").map((name) => ({ name, version: "1.0" })) };
    },
    changes: {
      "another package": (world) => {
        world.details = { unfinished: names(12, "y").map((name) => ({ name, version: "1.0" })) };
      },
      "another version": (world) => {
        world.details = { unfinished: names(12, "z").map((name) => ({ name, version: "1.1" })) };
      },
    },
  },
  apt_fix_dependencies: {
    prepare(world) {
      world.details = { unmet_dependencies: [{ name: "needy" }] };
      world.packages.missing = fakeMissingPlan({ changes: [installed("needed", "1.0")], configured: names(12, "z") });
    },
    resize({ packages }) {
      packages.missing = { ...packages.missing, downloadBytes: 5e6 };
    },
    changes: {
      "another version": ({ packages }) => {
        packages.missing = { ...packages.missing, changes: [installed("needed", "1.1")] };
      },
      "another package that is set up": ({ packages }) => {
        packages.missing = { ...packages.missing, configured: names(12, "y") };
      },
    },
  },
  refresh_package_lists: { prepare: () => undefined, changes: {} },
  apply_security_updates: {
    prepare(world) {
      world.details = updates(names(12, "z"));
      offer(world, names(12, "z"), "1.1");
    },
    resize({ simulated }) {
      simulated.downloadBytes = 9_000_000;
    },
    changes: {
      "another version": (world) => offer(world, ["z"], "1.2"),
      "another package": (world) => {
        world.details = updates(names(12, "y"));
        offer(world, ["y"], "1.1");
      },
    },
  },
};

/** What a plan of now is compared by: at once, and right before something changes. */
async function compared(fixId: string, world: World) {
  const fix = builtInFixes(world).find(({ id }) => id === fixId);
  if (fix === undefined) throw new Error(`there is no fix ${fixId}`);
  const plan: FixPlan = await fix.plan({ status: "fail", message: "", details: world.details }, signal);
  expect(plan.steps).not.toEqual([]);
  const shown = planOf(fix, plan, ["ask the hook before"]);
  return { essence: essenceOf(shown), transaction: [...(basisOf(shown).transaction ?? [])].sort() };
}

function prepared(fixId: string): World {
  const world = createWorld();
  moves[fixId]?.prepare(world);
  return world;
}

it("plans are compared for each built-in fix", () => {
  expect(Object.keys(moves)).toEqual(builtInFixes(createWorld()).map(({ id }) => id));
});

describe.each(Object.entries(moves))("the plan of %s", (fixId, { resize, changes }) => {
  if (resize !== undefined) {
    it("is the same for other sizes", async () => {
      const world = prepared(fixId);
      const before = await compared(fixId, world);
      resize(world);
      expect(await compared(fixId, world)).toEqual(before);
    });
  }

  it("includes its hooks", async () => {
    expect((await compared(fixId, prepared(fixId))).essence).toContain("ask the hook before");
  });

  it.each(Object.keys(changes))("differs for %s", async (change) => {
    const world = prepared(fixId);
    const before = await compared(fixId, world);
    changes[change]?.(world);
    const after = await compared(fixId, world);
    expect(after.essence).not.toBe(before.essence);
    expect(after.transaction).not.toEqual(before.transaction);
  });
});
