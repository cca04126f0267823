import { logQueryLimit } from "#contract/limits.ts";
import type { logs } from "#contract/logs.ts";
import type { Caller, Handlers } from "#contract/operation.ts";
import { invalid, missingScope } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { checkExpression } from "./expression.ts";
import type { LogReader } from "./reader.ts";
import { canonicalUnit, isWithin } from "./unit-pattern.ts";
import { isCursor, logWindow } from "./window.ts";

/** The least severe: asking for it is asking for everything, entries without a severity included, as with `journalctl -p`. */
const leastSevere = 7;
/** Boots are counted to no more than this many digits. */
const bootOffset = /^[+-]?\d{1,9}$/;
const bootId = /^[0-9a-f]{32}$/;

/** @throws DomainError when the text is neither a boot id nor an offset. */
function parseBoot(text: string): string {
  if (bootOffset.test(text)) return String(Number(text));
  const id = text.replaceAll("-", "").toLowerCase();
  if (bootId.test(id)) return id;
  throw invalid("boot", "Must be a boot id of 32 hex digits or an offset such as 0 or -1");
}

/** The logs part: queries over the journal. */
export function logsHandlers(ports: {
  reader: LogReader;
  clock: Pick<Clock, "now">;
  /** Names and patterns of the units whose entries a caller may see. */
  unitsOf: (caller: Caller) => "all" | readonly string[];
}): Handlers<typeof logs> {
  const { reader, clock, unitsOf } = ports;

  /** The units to look for; undefined: all. A caller who may see some only gets those. */
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
      const { cursor, boot, grep, priority } = query;
      if (cursor !== undefined && !isCursor(cursor)) throw invalid("cursor", "Not the cursor of an entry");
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
      };
      return reader.read(request, { owner: context.caller?.keyId ?? "", signal: context.signal() });
    },
  };
}
