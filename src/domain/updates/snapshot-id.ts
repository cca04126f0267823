import type { Clock } from "#kernel/clock.ts";
import type { SnapshotBackend } from "./ports.ts";

const secondMs = 1_000;

/** `YYYYMMDD-HHMMSS`, in UTC. */
export const snapshotIdAt = (epochMs: number): string =>
  new Date(epochMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");

/** Whether a text has the form of an id; anything else is never looked for. */
export const isSnapshotId = (text: string): boolean => /^\d{8}-\d{6}$/.test(text);

/** The id for a snapshot that is taken now: of two in one second, the later one gets a later second. */
export async function freeSnapshotId(
  backend: Pick<SnapshotBackend, "list">,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<string> {
  const taken = new Set((await backend.list(signal)).map(({ id }) => id));
  let atMs = clock.now();
  while (taken.has(snapshotIdAt(atMs))) atMs += secondMs;
  return snapshotIdAt(atMs);
}
