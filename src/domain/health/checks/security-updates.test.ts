import { expect, it } from "vitest";
import type { SecurityUpdate } from "#domain/ports/packages.ts";
import { createFakePackageManager, fakeSecurityUpdate } from "../../../../test/fakes/package-manager.ts";
import { securityUpdatesCheck } from "./security-updates.ts";

const day = 24 * 60 * 60_000;
const now = Date.parse("2026-01-15T12:00:00Z");

const run = (
  updates: readonly SecurityUpdate[] | undefined,
  ageMs: number | undefined = day,
  settings: { warn?: number; fail?: number; ignore?: readonly string[]; isIsolated?: boolean } = {},
) =>
  securityUpdatesCheck({
    packages:
      updates &&
      Object.assign(createFakePackageManager(), {
        securityUpdates: updates,
        listsAt: ageMs === undefined ? null : now - ageMs,
      }),
    clock: { now: () => now },
  }).run({ ignore: [], ...settings }, new AbortController().signal);

const one = fakeSecurityUpdate();
const held = fakeSecurityUpdate({ name: "nginx", isHeld: true });

it("security_updates passes without updates, warns of one by name, and skips without a package manager", async () => {
  expect(await run(undefined)).toMatchObject({ status: "skip" });
  expect(await run([])).toMatchObject({
    status: "pass",
    message: "No security update is pending",
    details: { pending: 0, lists_age_days: 1, lists_refreshed_at: "2026-01-14T12:00:00.000Z" },
  });
  expect(await run([one])).toMatchObject({
    status: "warn",
    fixId: "apply_security_updates",
    message: "1 security update is not installed: openssl",
    details: {
      pending: 1,
      pending_held: 0,
      updates: [
        {
          name: "openssl",
          architecture: "amd64",
          installed: "3.0.1",
          candidate: "3.0.2",
          suites: ["stable-security"],
          held: false,
        },
      ],
    },
  });
  expect(await run([], -day)).toMatchObject({ status: "pass", details: { lists_age_days: 0 } });
});

it("security_updates counts held packages, takes thresholds, and bounds its list", async () => {
  expect(await run([one, held])).toMatchObject({
    status: "warn",
    message: "2 security updates are not installed: openssl, nginx (1 of held packages, which are not updated)",
    details: { pending_held: 1 },
  });
  expect(await run([one, held], day, { fail: 2 })).toMatchObject({ status: "fail", fixId: "apply_security_updates" });
  expect(await run([held])).toMatchObject({ status: "warn", fixId: null });
  expect(await run([one], day, { warn: 2, fail: 3 })).toMatchObject({
    status: "pass",
    message: expect.stringContaining("openssl"),
  });
  expect(await run([one, held], day, { ignore: ["ngin*", "openssl"] })).toMatchObject({
    status: "pass",
    details: { pending: 0 },
  });
  const many = Array.from({ length: 250 }, (_, at) => fakeSecurityUpdate({ name: `package-${at}` }));
  const { details } = await run(many);
  expect(details["updates"]).toHaveLength(100);
  expect(details).toMatchObject({ pending: 250 });
});

it.each([
  [7 * day, "pass"],
  [7 * day + 1, "warn"],
])("security_updates with lists that are %d ms old is %s", async (ageMs, status) => {
  expect(await run([], ageMs)).toMatchObject({ status });
});

it("security_updates warns of old or missing lists, with the updates that they show", async () => {
  expect(await run([], 8 * day)).toMatchObject({
    message: "The package lists are 8 days old: it is unknown which security updates are missing",
    fixId: "refresh_package_lists",
  });
  expect(await run([one], 8 * day, { fail: 1 })).toMatchObject({
    status: "fail",
    message:
      "The package lists are 8 days old: it is unknown which security updates are missing, but 1 security update is not installed: openssl",
    fixId: "refresh_package_lists",
  });
  const packages = Object.assign(createFakePackageManager(), { listsAt: null });
  const check = securityUpdatesCheck({ packages, clock: { now: () => now } });
  expect(await check.run({ ignore: [] }, new AbortController().signal)).toMatchObject({
    status: "warn",
    message: "There are no package lists: it is unknown which security updates are missing",
    fixId: "refresh_package_lists",
    details: { lists_refreshed_at: null, lists_age_days: null },
  });
});

it("security_updates goes by the lists of the security archive, and warns where that never answered", async () => {
  const runAt = (securityAgeMs: number | undefined) => {
    const securityAt = securityAgeMs === undefined ? undefined : now - securityAgeMs;
    const refreshedAt = (of?: "security") => Promise.resolve(of === undefined ? now : securityAt);
    const packages = createFakePackageManager();
    Object.assign(packages.lists, { refreshedAt });
    return securityUpdatesCheck({ packages, clock: { now: () => now } }).run(
      { ignore: [] },
      new AbortController().signal,
    );
  };
  expect(await runAt(9 * day)).toMatchObject({
    status: "warn",
    message: "The package lists are 9 days old: it is unknown which security updates are missing",
    details: { lists_age_days: 9 },
  });
  expect(await runAt(undefined)).toMatchObject({
    status: "warn",
    message: "There are no package lists of a security archive: it is unknown which security updates are missing",
  });
  expect(await runAt(0)).toMatchObject({ status: "pass" });
});

it("security_updates skips with old lists on an isolated host", async () => {
  const isolated = { isIsolated: true };
  expect(await run([], 9 * day, isolated)).toMatchObject({
    status: "skip",
    fixId: null,
    message:
      "The package lists are 9 days old, as expected on an isolated host: it is unknown which security updates are missing",
  });
  const packages = Object.assign(createFakePackageManager(), { listsAt: null });
  const check = securityUpdatesCheck({ packages, clock: { now: () => now } });
  expect(await check.run({ ignore: [], ...isolated }, new AbortController().signal)).toMatchObject({
    status: "skip",
    message: expect.stringMatching(/^There are no package lists, as expected on an isolated host/),
  });
  expect(await run([one], 9 * day, isolated)).toMatchObject({
    status: "warn",
    fixId: "apply_security_updates",
    message: "1 security update is not installed: openssl",
  });
  expect(await run([], day, isolated)).toMatchObject({ status: "pass" });
});
