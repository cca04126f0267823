import { expect, it } from "vitest";
import type { SecurityUpdater } from "./apply-security-updates.ts";
import { applySecurityUpdatesFix } from "./apply-security-updates.ts";

const { signal } = new AbortController();
const found = (...updates: readonly { name: string; held: boolean }[]) =>
  ({ status: "warn", message: "", details: { updates } }) as const;

function make(plan: Partial<Awaited<ReturnType<SecurityUpdater["plan"]>>> = {}) {
  const asked: unknown[] = [];
  const fix = applySecurityUpdatesFix({
    security: {
      plan(names) {
        asked.push(["plan", ...names]);
        const changes = names.map((name) => `update ${name} from 1.0 to 1.1`);
        return Promise.resolve({ packages: names, changes, downloadBytes: 2_000_000, isGuarded: true, ...plan });
      },
      apply(names, { changes }) {
        asked.push(["apply", ...names, ...changes]);
        return Promise.resolve("2 packages updated");
      },
    },
  });
  return { fix, asked };
}

it("apply_security_updates installs the reported updates, without held packages", async () => {
  const { fix, asked } = make();
  const { steps, packages, downloadBytes } = await fix.plan(
    found({ name: "libtls", held: false }, { name: "kept", held: true }, { name: "shell", held: false }),
    signal,
  );
  expect(steps.map(({ action }) => action)).toEqual([
    "install 2 security updates (1.9 MiB): libtls from 1.0 to 1.1, shell from 1.0 to 1.1, behind a snapshot, and return to it when the host is worse afterwards",
  ]);
  expect([packages, downloadBytes]).toEqual([["libtls", "shell"], 2_000_000]);
  expect(await steps[0]?.run(signal)).toBe("2 packages updated");
  expect(asked).toEqual([
    ["plan", "libtls", "shell"],
    ["apply", "libtls", "shell", "update libtls from 1.0 to 1.1", "update shell from 1.0 to 1.1"],
  ]);
});

it("apply_security_updates does nothing without an installable update", async () => {
  const { fix } = make({ packages: [] });
  expect(await fix.plan(found({ name: "kept", held: true }), signal)).toMatchObject({ steps: [], reason: /held/ });
  expect(await fix.plan(found({ name: "libtls", held: false }), signal)).toMatchObject({ steps: [] });
  expect(await fix.plan({ status: "warn", message: "", details: {} }, signal)).toMatchObject({ steps: [] });
});
