import { statusCheckId } from "#domain/health/checks/package-status.ts";
import { builtInCheckIds } from "#domain/health/registry.ts";
import { packageManagers } from "#domain/ports/packages.ts";

/** Of settings for these a service on Debian says that there is no such check. */
const elsewhere = ["package_status", ...packageManagers.filter((name) => name !== "apt").map(statusCheckId)];

/** Settings that leave out all built-in checks but these, in one line. */
export function checksOff(kept: readonly string[] = []): string {
  const off = builtInCheckIds.filter((id) => !kept.includes(id) && !elsewhere.includes(id));
  return `health: ${JSON.stringify({ checks: Object.fromEntries(off.map((id) => [id, { enabled: false }])) })}\n`;
}
