import { builtInCheckIds, packageManagers, statusCheckId } from "#contract/check-meanings.ts";

/** Of settings for these a service on Debian says that there is no such check. */
const elsewhere = ["package_status", ...packageManagers.filter((name) => name !== "apt").map(statusCheckId)];

/** Settings that leave out all built-in checks but these, in one line. */
export function checksOff(kept: readonly string[] = []): string {
  const off = builtInCheckIds.filter((id) => !kept.includes(id) && !elsewhere.includes(id));
  return `health: ${JSON.stringify({ checks: Object.fromEntries(off.map((id) => [id, { enabled: false }])) })}\n`;
}
