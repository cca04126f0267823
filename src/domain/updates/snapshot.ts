import type { Snapshot } from "#contract/updates.ts";
import { toTimestamp } from "#kernel/clock.ts";
import type { StoredSnapshot } from "./ports.ts";

/** A snapshot as callers see it. */
export const toSnapshot = (stored: StoredSnapshot): Snapshot => ({
  id: stored.id,
  description: stored.description,
  created_at: toTimestamp(stored.createdAt),
  size_bytes: stored.sizeBytes,
  kind: stored.kind,
  backend: stored.backend,
  protected: stored.isProtected,
  packages_count: stored.packagesCount,
});
