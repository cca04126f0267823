import { logQueryLimit } from "#contract/limits.ts";
import type { logs } from "#contract/logs.ts";
import type { Caller, Handlers } from "#contract/operation.ts";
import { invalid, missingScope } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { checkExpression } from "./expression.ts";
import type { LogReader } from "./reader.ts";
import { canonicalUnit, isWithin } from "./unit-pattern.ts";
import { isCursor, logWindow } from "./window.ts";

/** Asking for the least severe means all entries, also those without a severity, as with `journalctl -p`. */
const leastSevere = 7;
/** An offset of boots has at most this many digits. */
const bootOffset = /^[+-]?\d{1,9}$/;
const bootId = /^[0-9a-f]{32}$/;

/** @throws DomainError for anything else than a boot id or an offset. */
function parseBoot(text: string): string {
  if (bootOffset.test(text)) return String(Number(text));
  const id = text.replaceAll("-", "").toLowerCase();
  if (bootId.test(id)) return id;
  throw invalid("boot", "Must be a boot id of 32 hex digits or an offset such as 0 or -1");
}

export function logsHandlers(ports: {
  reader: LogReader;
  clock: Pick<Clock, "now">;
  /** Names and patterns of the units whose entries a caller may read. */
  unitsOf: (caller: Caller) => "all" | readonly string[];
}): Handlers<typeof logs> {
  const { reader, clock, unitsOf } = ports;

  /** The units to search, undefined for all; narrowed to those that the caller may read. */
  function visibleUnits(text: string | undefined, caller: Caller | undefined): readonly string[] | undefined {
    const wanted = text === undefined ? undefined : canonicalUnit(text);
    const granted = caller === undefined ? [] : unitsOf(caller);
    if (granted === "all") return wanted === undefined ? undefined : [wanted];
    if (wanted === undefined) return granted;
    if (granted.some((pattern) => isWithin(wanted, pattern))) return [wanted];
    throw missingScope(`logs:read:${wanted}`, caller?.scopes ?? []);
  }

  return {
    async listLogs({ query }, context) {
      const { cursor, boot, entry, grep, offset = 0, priority } = query;
      for (const [field, value] of Object.entries({ cursor, entry })) {
        if (value !== undefined && !isCursor(value)) throw invalid(field, "Not the cursor of an entry");
      }
      if (entry === undefined && query.offset !== undefined) throw invalid("offset", "Goes with entry only");
      const request = {
        units: visibleUnits(query.unit, context.caller),
        ...logWindow(query, clock.now()),
        priority: priority === leastSevere ? undefined : priority,
        identifier: query.identifier,
        boot: boot === undefined ? undefined : parseBoot(boot),
        grep: grep === undefined ? undefined : checkExpression(grep),
        cursor,
        order: query.order ?? "asc",
        limit: query.limit ?? logQueryLimit.default,
        entry: entry === undefined ? undefined : { cursor: entry, offset },
      };
      return reader.read(request, { owner: context.caller?.keyId ?? "", signal: context.signal() });
    },
  };
}
