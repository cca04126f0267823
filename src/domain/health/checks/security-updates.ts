import type { PackageManager } from "#domain/ports/packages.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { asIsolated, type BuiltInCheck, createIgnore, grade, skip, thresholdsFor } from "../check.ts";

const dayMs = 24 * 60 * 60_000;
/** Archives of security updates are renewed at least this often. */
const listsKeptMs = 7 * dayMs;
/** Items in the details; the counts are of all. */
const mostListed = 100;

const limits = { warn: 1, fail: Number.POSITIVE_INFINITY };

export function securityUpdatesCheck(ports: {
  readonly packages: Pick<PackageManager, "lists"> | undefined;
  readonly clock: Pick<Clock, "now">;
}): BuiltInCheck {
  const { packages, clock } = ports;
  return {
    id: "security_updates",
    name: "Security updates",
    category: "security",
    severity: "high",
    thresholds: limits,
    about:
      "Pending security updates by the package lists on disk, also of held packages. One warns; settings may say " +
      "how many fail. Missing lists, or ones older than a week, warn as well, but not with `isolated: true`: then " +
      "it goes by what they say, and is skipped where that is nothing. `ignore` takes names and patterns of " +
      "packages.",
    meaning: "Known vulnerabilities are not fixed, or the package lists are too old to tell.",
    remedy: "Install the security updates; if the lists are old, find out why they are not refreshed.",
    intervalMs: 30 * 60_000,
    fixes: ["apply_security_updates", "refresh_package_lists"],
    async run({ ignore, isIsolated = false, ...settings }, signal) {
      const { warn, fail } = thresholdsFor(limits, settings);
      const offered = await packages?.lists.security(signal);
      if (packages === undefined || offered === undefined)
        return skip("No package manager of this host reports security updates");
      const isIgnored = createIgnore(ignore);
      const pending = offered.filter(({ name }) => !isIgnored(name));
      const held = pending.filter(({ isHeld }) => isHeld);
      const refreshedAt = await packages.lists.refreshedAt("security");
      const ageMs = refreshedAt === undefined ? undefined : clock.now() - refreshedAt;
      const details = {
        pending: pending.length,
        pending_held: held.length,
        updates: pending.slice(0, mostListed).map(({ isHeld, ...update }) => ({ ...update, held: isHeld })),
        lists_refreshed_at: refreshedAt === undefined ? null : toTimestamp(refreshedAt),
        lists_age_days: ageMs === undefined ? null : Math.max(0, Math.round(ageMs / (dayMs / 10)) / 10),
      };
      const figures = { details, thresholds: { pending: { warn, fail } } };
      const isOne = pending.length === 1;
      const ofHeld = held.length === 0 ? "" : ` (${held.length} of held packages, which are not updated)`;
      const found = `${counted(pending.length, "security update")} ${isOne ? "is" : "are"} not installed: ${listNames(pending.map(({ name }) => name))}${ofHeld}`;
      const status = grade(pending.length, { warn, fail });
      const isOld = ageMs === undefined || ageMs > listsKeptMs;
      const ofSome = ageMs === undefined && (await packages.lists.refreshedAt()) !== undefined;
      const age =
        ageMs === undefined
          ? `There are no package lists${ofSome ? " of a security archive" : ""}`
          : `The package lists are ${Math.floor(ageMs / dayMs)} days old`;
      if (isOld && isIsolated && pending.length === 0)
        return {
          ...skip(`${age}, ${asIsolated}: it is unknown which security updates are missing`),
          ...figures,
          fixId: null,
        };
      if (isOld && !isIsolated) {
        const message = `${age}: it is unknown which security updates are missing${pending.length === 0 ? "" : `, but ${found}`}`;
        return { status: status === "fail" ? "fail" : "warn", message, ...figures, fixId: "refresh_package_lists" };
      }
      if (status === "pass") {
        const message = pending.length === 0 ? "No security update is pending" : found;
        return { status, message, ...figures };
      }
      // Updates do not install held packages.
      const fixId = held.length === pending.length ? null : "apply_security_updates";
      return { status, message: found, ...figures, fixId };
    },
  };
}
