import { signal } from "@preact/signals";
import type { OperationEntry } from "#contract/operation-entry.ts";
import type { HealthFrame } from "#contract/streams.ts";
import { refreshOf } from "./resource.ts";
import { openStream } from "./stream.ts";

/** Operations that have not ended. */
export const running = signal<readonly OperationEntry[]>([]);

const hasFields = <T extends object>(frame: unknown, name: keyof T & string): frame is T =>
  typeof frame === "object" && frame !== null && name in frame;

function takeOperation(entry: OperationEntry): void {
  const others = running.peek().filter(({ id }) => id !== entry.id);
  const isOpen = entry.status === "queued" || entry.status === "running";
  const isChange = others.length === running.peek().length || !isOpen;
  running.value = isOpen ? [...others, entry] : others;
  if (isChange) refreshOf("listOperations");
}

/** Follows checks and operations as long as the console is open, so that pages need not ask. @returns what ends it. */
export function follow(): () => void {
  const health = openStream("health", {
    query: () => ({}),
    onFrame: (frame) => {
      if (!hasFields<HealthFrame>(frame, "check_id") || frame.previous_status === frame.status) return;
      // The states of all checks come first; these are no changes.
      if (Date.now() - Date.parse(frame.checked_at) < recentMs) refreshOf("listChecks", "getHealth");
    },
  });
  const operations = openStream("operations", {
    query: () => ({}),
    onFrame: (frame) => {
      if (hasFields<OperationEntry>(frame, "kind")) takeOperation(frame);
    },
    onState: (state) => {
      if (state === "open") running.value = [];
    },
  });
  return () => {
    health.close();
    operations.close();
  };
}

const recentMs = 10_000;
