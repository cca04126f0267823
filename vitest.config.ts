import { configDefaults, defineConfig } from "vitest/config";

const long = "test/**/*.long.test.ts";
const shared = {
  pool: "forks" as const,
  // Says that a test hangs, not that the machine is busy.
  testTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  hookTimeout: 180_000,
  exclude: [...configDefaults.exclude, long],
};
/** Those that replace a module (`vi.mock`), which others of the same process have loaded already. */
const withModulesReplaced = ["test/ports/journal-snapshot.test.ts"];
const onProgram = { ...shared, globalSetup: "test/process/prepare.ts" };
const onHosts = { ...shared, globalSetup: "test/host/prepare.ts", hookTimeout: 300_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "pure",
          // What keeps no state needs no process of its own for each file.
          isolate: false,
          include: ["src/**/*.test.ts", "bench/**/*.test.ts", "demo/**/*.test.ts", "scripts/**/*.test.ts"],
        },
      },
      // For nearly all of these a process of their own takes more work than the tests in it.
      {
        test: {
          ...onProgram,
          name: "ports",
          isolate: false,
          include: ["test/ports/**/*.test.ts"],
          exclude: [...shared.exclude, ...withModulesReplaced],
        },
      },
      { test: { ...onProgram, name: "replaced", include: withModulesReplaced } },
      {
        test: {
          ...shared,
          name: "api",
          isolate: false,
          setupFiles: "test/api/setup.ts",
          include: ["test/api/**/*.test.ts"],
        },
      },
      { test: { ...shared, name: "invariants", isolate: false, include: ["test/invariants/**/*.test.ts"] } },
      { test: { ...onProgram, name: "process", isolate: false, include: ["test/process/**/*.test.ts"] } },
      { test: { ...onProgram, name: "security", isolate: false, include: ["test/security/**/*.test.ts"] } },
      {
        test: {
          ...onHosts,
          name: "host",
          include: ["test/host/**/*.host.test.ts"],
          // Three machines at a time: each waits for its systemd and its package manager most of the time.
          maxWorkers: 3,
        },
      },
      // Commands of their own, for they take minutes: npm test -- --project long, npm test -- --project demo
      {
        test: {
          ...onHosts,
          name: "long",
          // Several guarded updates, each with minutes of waiting, are one test.
          testTimeout: 600_000,
          setupFiles: "test/api/setup.ts",
          globalSetup: ["test/process/prepare.ts", "test/host/prepare.ts"],
          // These do more here than in `npm test`.
          include: [
            long,
            "test/ports/journal-{copies,differential,export,paging}.test.ts",
            "test/ports/{operation-store,snapshot-backend,trace-store}.test.ts",
            "test/security/hostile-texts.test.ts",
            "test/api/replays.api.test.ts",
            "test/host/{logs,processes-listed}.host.test.ts",
          ],
          env: { STEWARD_TESTS: "all", STEWARD_JOURNAL_TESTS: process.env["STEWARD_JOURNAL_TESTS"] ?? "more" },
          exclude: configDefaults.exclude,
          // Most of these are machines, which wait most of the time, and nothing else runs beside them.
          maxWorkers: 4,
        },
      },
      // On a Debian that changes each day, so no gate: npm test -- --project sid
      {
        test: { ...onHosts, name: "sid", include: ["test/host/**/*.sid.test.ts"], maxWorkers: 1 },
      },
      { test: { ...shared, name: "demo", include: ["test/host/**/*.demo.test.ts"] } },
    ],
  },
});
