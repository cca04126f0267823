import { createHash } from "node:crypto";
import { redact } from "#domain/common/redact.ts";
import type { Clock } from "#kernel/clock.ts";
import { toTimestamp } from "#kernel/clock.ts";

export const recordMessage = "root request";

/** `begun`: before anything is done. `refused`: it is not permitted, or not known. `left`: nothing was done, for there was nothing to do. */
type RootPhase = "begun" | "done" | "failed" | "refused" | "left";

/** What root records, in its own words: nothing of it is the service's but the input. */
export interface RootRecord {
  /** Of the request, as the service has chosen it, or of the operation; of the connection where there is none. */
  readonly id: string;
  /** Kind of the operation, or name of what is asked; empty where that is not known. */
  readonly request: string;
  readonly phase: RootPhase;
}

export type RecordRoot = (record: RootRecord & { readonly input?: unknown; readonly error?: string }) => void;

const maxTextLength = 200;
const maxItems = 20;
const maxInputLength = 4096;

function bounded(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redact(value).text.slice(0, maxTextLength);
  if (typeof value !== "object" || value === null) return value;
  if (depth > 3) return "…";
  if (Array.isArray(value)) return value.slice(0, maxItems).map((each: unknown) => bounded(each, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, maxItems)
      .map(([name, each]) => [
        name.slice(0, maxTextLength),
        // What a plugin reads may be anything.
        name === "stdin" && typeof each === "string" ? `${each.length} characters` : bounded(each, depth + 1),
      ]),
  );
}

function inputMembers(input: unknown): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(input) ?? "";
  const shown = bounded(input);
  const isShort = JSON.stringify(shown).length <= maxInputLength;
  return { input: isShort ? shown : "…", input_sha256: createHash("sha256").update(text).digest("hex") };
}

/** Lines of its own unit, which journald vouches for. @param write before it returns, a line is written. */
export function createRootRecord({
  write,
  clock,
}: {
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, "now">;
}): RecordRoot {
  return ({ id, request, phase, input, error }) => {
    const members = {
      level: phase === "refused" ? "warn" : "info",
      time: toTimestamp(clock.now()),
      id,
      request: request.slice(0, maxTextLength),
      phase,
      ...(input !== undefined && inputMembers(input)),
      ...(error !== undefined && { error: redact(error).text.slice(0, maxTextLength) }),
      msg: recordMessage,
    };
    write(`${JSON.stringify(members)}\n`);
  };
}
