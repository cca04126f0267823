import { configDefaults, defineConfig } from "vitest/config";

const long = "test/**/*.long.test.ts";
const exclude = [...configDefaults.exclude, long];
/**
 * How long a test may take until it counts as hanging: several times what the slowest takes on two cores that have much else to do.
 * A test that needs more says so itself, with the reason.
 */
const limits = (testMs: number, pollMs: number) => ({
  testTimeout: testMs,
  hookTimeout: Math.max(testMs, 60_000),
  expect: { poll: { timeout: pollMs } },
});
const shared = { pool: "forks" as const, exclude, setupFiles: ["test/support/setup.ts"] };
const quick = { ...shared, ...limits(20_000, 10_000) };
const onProgram = { ...shared, ...limits(60_000, 30_000), globalSetup: "test/process/prepare.ts" };
const onHosts = { ...shared, ...limits(120_000, 60_000), globalSetup: "test/host/prepare.ts" };
/** Those that replace a module (`vi.mock`), which others of the same process have loaded already. */
const withModulesReplaced = ["test/ports/journal-snapshot.test.ts"];
const setupFiles = [...shared.setupFiles, "test/api/setup.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...quick,
          name: "pure",
          // What keeps no state needs no process of its own for each file.
          isolate: false,
          include: [
            "src/**/*.test.ts",
            "web/**/*.test.ts",
            "bench/**/*.test.ts",
            "demo/**/*.test.ts",
            "scripts/**/*.test.ts",
          ],
        },
      },
      // Readers and checks on inputs that real machines made; skipped where those are not at hand.
      { test: { ...quick, name: "field", isolate: false, include: ["test/field/**/*.test.ts"] } },
      // For nearly all of these a process of their own takes more work than the tests in it.
      {
        test: {
          ...onProgram,
          name: "ports",
          isolate: false,
          include: ["test/ports/**/*.test.ts"],
          exclude: [...exclude, ...withModulesReplaced],
        },
      },
      { test: { ...onProgram, name: "replaced", include: withModulesReplaced } },
      { test: { ...quick, name: "api", isolate: false, setupFiles, include: ["test/api/**/*.test.ts"] } },
      { test: { ...quick, name: "invariants", isolate: false, include: ["test/invariants/**/*.test.ts"] } },
      { test: { ...onProgram, name: "process", isolate: false, include: ["test/process/**/*.test.ts"] } },
      { test: { ...onProgram, name: "security", isolate: false, include: ["test/security/**/*.test.ts"] } },
      // Two machines at a time: each waits for its systemd and its package manager much of the time.
      { test: { ...onHosts, name: "host", include: ["test/host/**/*.host.test.ts"], maxWorkers: 2 } },
      // The rest is what npm run test:all runs, part by part.
      {
        test: {
          ...onHosts,
          name: "long",
          // Several guarded updates, each with minutes of waiting, are one test.
          ...limits(600_000, 60_000),
          setupFiles,
          globalSetup: ["test/process/prepare.ts", "test/host/prepare.ts"],
          // These do more here than in `npm test`.
          include: [
            long,
            "test/ports/journal-{differential,paging}.test.ts",
            "test/ports/{operation-store,snapshot-backend,trace-store}.test.ts",
            "test/security/hostile-texts.test.ts",
            "test/api/replays.api.test.ts",
            "test/host/logs.host.test.ts",
          ],
          env: { STEWARD_TESTS: "all" },
          exclude: configDefaults.exclude,
          maxWorkers: 2,
        },
      },
      { test: { ...onHosts, name: "sid", include: ["test/host/**/*.sid.test.ts"], maxWorkers: 1 } },
      // A machine is emulated, and one of them takes both cores.
      {
        test: {
          ...shared,
          ...limits(1_800_000, 300_000),
          name: "machine",
          globalSetup: "test/machine/prepare.ts",
          include: ["test/machine/**/*.machine.test.ts"],
          maxWorkers: 1,
        },
      },
      { test: { ...quick, name: "demo", include: ["test/host/**/*.demo.test.ts"] } },
    ],
  },
});
