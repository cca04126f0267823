import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { unreadNames } from "#domain/common/page.ts";
import { anyEntries, type Journal } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { type Outcome, skip } from "./check.ts";

export const windowHours = 24;
const windowMicros = windowHours * 3_600_000_000;
const mostLines = 1000;

export interface KernelLogPorts {
  readonly journal: Pick<Journal, "query" | "size">;
  readonly clock: Pick<Clock, "now">;
}

/** An outcome that names the journal files that could not be read: what the check looks for may be in them. */
export function withUnread(outcome: Outcome, unread: UnreadFiles = []): Outcome {
  if (unread.length === 0) return outcome;
  return {
    ...outcome,
    message: `${outcome.message}; not read: ${unreadNames(unread)}`,
    details: { ...outcome.details, unread },
  };
}

/**
 * What is said of the kernel's messages of the last day; skipped where there is no journal.
 * @param wanted an expression for the messages.
 * @param judge is given the newest of them, oldest first.
 */
export async function judgeKernelLog(
  { journal, clock }: KernelLogPorts,
  wanted: string,
  judge: (lines: readonly LogEntry[]) => Outcome | Promise<Outcome>,
  signal: AbortSignal,
): Promise<Outcome> {
  if ((await journal.size(signal)) === undefined) return skip("There is no journal to read kernel messages from");
  const window = { since: clock.now() * 1000 - windowMicros, until: Number.MAX_SAFE_INTEGER };
  const ofKernel = { units: ["kernel"], namespace: undefined, grep: wanted, limit: mostLines };
  const { bytes } = await journal.query({ ...anyEntries, ...window, ...ofKernel }, signal);
  const { logs, unread } = JSON.parse(new TextDecoder().decode(bytes)) as LogList;
  return withUnread(await judge(logs), unread);
}
