import { defineConfig } from "vitest/config";

const shared = { pool: "forks" as const, testTimeout: 20_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "pure",
          include: ["src/**/*.test.ts", "bench/**/*.test.ts", "demo/**/*.test.ts", "scripts/**/*.test.ts"],
        },
      },
      { test: { ...shared, name: "ports", include: ["test/ports/**/*.test.ts"] } },
      { test: { ...shared, name: "api", include: ["test/api/**/*.test.ts"] } },
      { test: { ...shared, name: "invariants", include: ["test/invariants/**/*.test.ts"], testTimeout: 120_000 } },
      { test: { ...shared, name: "process", include: ["test/process/**/*.test.ts"], testTimeout: 120_000 } },
      { test: { ...shared, name: "security", include: ["test/security/**/*.test.ts"], testTimeout: 120_000 } },
      {
        test: {
          ...shared,
          name: "host",
          include: ["test/host/**/*.host.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // Two machines at a time: each waits for its systemd and its package manager most of the time.
          maxWorkers: 2,
        },
      },
      // A command of its own, for it takes minutes: npm test -- --project demo
      { test: { ...shared, name: "demo", include: ["test/host/**/*.demo.test.ts"] } },
    ],
  },
});
