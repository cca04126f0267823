import { logQueryLimit } from "#contract/limits.ts";
import type { logs } from "#contract/logs.ts";
import type { Caller, Context, Handlers } from "#contract/operation.ts";
import { checked, invalid, refuseAll, type ScopeLack } from "#domain/common/error.ts";
import { notShown } from "#domain/common/page.ts";
import type {
  JournalExploration,
  JournalExport,
  JournalLists,
  JournalStorage,
  ListedEntries,
  LogFilters,
} from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import type { ComparePorts } from "./compared.ts";
import { type AskedFilters, type AskedNamespace, explorationHandlers, type LackOf } from "./exploration.ts";
import { exportHandlers } from "./export.ts";
import { checkExpression } from "./expression.ts";
import { listHandlers } from "./lists.ts";
import type { LogReader } from "./reader.ts";
import { canonicalUnit, isWithin } from "./unit-pattern.ts";
import { namesUnread } from "./unread.ts";
import { logWindow, namesOf, requireCursor } from "./window.ts";

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
  journal: JournalExploration & JournalExport & JournalLists & Pick<JournalStorage, "size">;
  clock: Pick<Clock, "now" | "sleep">;
  /** Names and patterns of the units whose entries a caller may read. */
  unitsOf: (caller: Caller) => "all" | readonly string[];
  scopeLack: ScopeLack;
  snapshotTime: ComparePorts["snapshotTime"];
  seesSnapshots: ComparePorts["seesSnapshots"];
}): Handlers<typeof logs> {
  const { reader, journal, clock, unitsOf, scopeLack } = ports;

  /** The units to search, undefined for all; narrowed to those that the caller may read. */
  function visibleUnits(
    { unit = [], units = [] }: Readonly<Partial<Record<"unit" | "units", string | readonly string[]>>>,
    caller: Caller | undefined,
  ): readonly string[] | undefined {
    const named = checked(...[unit, units].flat().map((each) => () => canonicalUnit(each)));
    const wanted = named.length === 0 ? undefined : named;
    const granted = caller === undefined ? [] : unitsOf(caller);
    if (granted === "all") return wanted;
    const refused = wanted?.find((unit) => !granted.some((pattern) => isWithin(unit, pattern)));
    if (refused !== undefined) throw scopeLack(caller, "logs:read", refused);
    return wanted ?? granted;
  }

  const readingOf = (context: Context) => ({ owner: context.caller?.keyId ?? "", signal: context.signal() });

  /** A unit may write to a namespace of its own, and systemd writes of it in the default one. */
  const listedOf = (query: Parameters<typeof visibleUnits>[0] & AskedNamespace, { caller }: Context): ListedEntries => {
    const units = visibleUnits(query, caller);
    return { units, namespace: query.namespace ?? (units === undefined ? undefined : "*") };
  };

  const filtersOf = (query: AskedFilters & Parameters<typeof logWindow>[0], context: Context): LogFilters => {
    const [listed, window, boot, grep] = checked(
      () => listedOf(query, context),
      () => logWindow(query, clock.now()),
      () => (query.boot === undefined ? undefined : parseBoot(query.boot)),
      () => (query.grep === undefined ? undefined : checkExpression(query.grep)),
    );
    const priority = query.priority === leastSevere ? undefined : query.priority;
    return { ...listed, ...window, priority, identifier: query.identifier, boot, grep, template: query.template };
  };

  /** An answer says which files could not be read; and one without entries, where there is no journal that could have any. */
  const lackOf: LackOf = async ({ isEmpty, unread = [] }, listed, context) => {
    if (!isEmpty) return namesUnread({ unread });
    const reason = await reader.ask((signal) => journal.missing(listed, signal), readingOf(context));
    return { ...notShown("entries", reason), ...namesUnread({ unread }) };
  };

  const { snapshotTime, seesSnapshots } = ports;
  const common = { reader, journal, readingOf, listedOf, lackOf, scopeLack };

  return {
    ...listHandlers(common),
    ...explorationHandlers({ ...common, filtersOf, snapshotTime, seesSnapshots }),
    ...exportHandlers({ ...common, filtersOf, clock }),

    async listLogs({ query }, context) {
      const { cursor, entry, offset = 0 } = query;
      const isLone = entry === undefined && query.offset !== undefined;
      const [, , , filters] = checked(
        () => requireCursor("cursor", cursor),
        () => requireCursor("entry", entry),
        () => refuseAll([isLone && invalid("offset", "Must be given together with entry")]),
        () => filtersOf(query, context),
      );
      const request = {
        ...filters,
        // A cursor names its entry whatever namespace that is of.
        namespace: query.namespace ?? (entry === undefined ? filters.namespace : "*"),
        cursor,
        order: query.order ?? "asc",
        limit: query.limit ?? logQueryLimit.default,
        entry: entry === undefined ? undefined : { cursor: entry, offset },
        isFromOldest: query.from === "oldest",
        fields: query.fields === undefined ? undefined : namesOf(query.fields),
      };
      return reader.read(request, readingOf(context));
    },
  };
}
