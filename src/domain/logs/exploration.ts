import { logBuckets, logContextLimit, logFacetLimit, logTemplateLimit } from "#contract/limits.ts";
import { isLogFacet, type LogFacet, type LogFacets, logFacets } from "#contract/log-exploration.ts";
import type { logs } from "#contract/logs.ts";
import type { Context, Handlers } from "#contract/operation.ts";
import { checked, DomainError, invalid, refuseAll } from "#domain/common/error.ts";
import type { notShown } from "#domain/common/page.ts";
import type { JournalExploration, JournalLists, Lacking, ListedEntries, LogFilters } from "#domain/ports/journal.ts";
import { defined } from "#kernel/values.ts";
import { type ComparePorts, comparedAt, compareWith, readCompared } from "./compared.ts";
import type { Reading } from "./reader.ts";
import { orUnread } from "./unread.ts";
import { namesOf, requireCursor, timestampText } from "./window.ts";

type Exploring = "getLogHistogram" | "getLogFacets" | "getLogTemplates" | "getLogContext";

export interface AskedNamespace {
  readonly namespace?: string;
}

/** What an answer lacks. @param answer.isEmpty whether it has no entries. */
export type LackOf = (
  answer: { readonly isEmpty: boolean } & Partial<Lacking>,
  listed: ListedEntries,
  context: Context,
) => Promise<ReturnType<typeof notShown> & Partial<Lacking>>;

/** What a query says of the entries that are counted. */
export type AskedFilters = Readonly<
  Partial<Record<"unit" | "units", string | readonly string[]>> &
    AskedNamespace &
    Partial<Record<"since" | "until" | "boot" | "compare" | "grep" | "template" | "identifier", string>> & {
      readonly priority?: number;
    }
>;

/** The severities that entries have, by their numbers. */
const present = (priorities: readonly number[]): Record<string, number> =>
  Object.fromEntries(priorities.flatMap((count, level) => (count === 0 ? [] : [[String(level), count]])));

interface ExplorationPorts extends ComparePorts {
  readonly journal: JournalExploration & Pick<JournalLists, "boots">;
  readonly readingOf: (context: Context) => Reading;
  /** @throws DomainError for filters that are malformed, or name what the caller may not read. */
  readonly filtersOf: (query: AskedFilters, context: Context) => LogFilters;
  /** All entries that a caller may read. */
  readonly listedOf: (query: AskedNamespace, context: Context) => ListedEntries;
  readonly lackOf: LackOf;
}

/** @throws DomainError for fields that are no facets. */
function facetsIn(text: string | undefined): readonly LogFacet[] {
  const named = text?.split(",") ?? logFacets;
  if (named.every(isLogFacet)) return [...new Set(named)];
  throw invalid("fields", `Must be some of ${logFacets.join(", ")}, separated by commas`);
}

/** How many entries there are, of what kind, and what stands around one. */
export function explorationHandlers(ports: ExplorationPorts): Pick<Handlers<typeof logs>, Exploring> {
  const { reader, journal, readingOf, filtersOf, listedOf, lackOf } = ports;
  /** What searches messages takes the turns of searches. */
  const count = <T>(filters: LogFilters, work: (signal: AbortSignal) => Promise<T>, context: Context): Promise<T> =>
    filters.grep === undefined ? reader.ask(work, readingOf(context)) : reader.search(work, readingOf(context));
  return {
    async getLogHistogram({ query }, context) {
      const filters = filtersOf(query, context);
      const { boot, since: asked, until: end, buckets: most = logBuckets.default } = query;
      const isFitted = {
        since: boot !== undefined && asked === undefined,
        until: boot !== undefined && end === undefined,
      };
      const question = { ...filters, buckets: most, isFitted };
      const { since, until, bucketSeconds, buckets, unread } = await count(
        filters,
        (signal) => journal.histogram(question, signal),
        context,
      );
      const all = buckets.reduce((sum, { total }) => sum + total, 0);
      return {
        since: timestampText(since),
        until: timestampText(until),
        bucket_seconds: bucketSeconds,
        buckets: buckets.map(({ at, total, priorities }) => ({
          at: timestampText(at),
          total,
          priorities: present(priorities),
        })),
        total: all,
        ...(await lackOf({ isEmpty: all === 0, unread }, filters, context)),
      };
    },

    async getLogFacets({ query }, context) {
      const [filters, fields] = checked(
        () => filtersOf(query, context),
        () => facetsIn(query.fields),
      );
      const question = { ...filters, fields, limit: query.limit ?? logFacetLimit.default };
      const { facets, total, unread } = await count(filters, (signal) => journal.facets(question, signal), context);
      return {
        facets: Object.fromEntries(facets.map(({ field, values }) => [field, [...values]])) as LogFacets["facets"],
        distinct: Object.fromEntries(facets.map(({ field, distinct }) => [field, distinct])) as LogFacets["distinct"],
        total,
        ...(await lackOf({ isEmpty: total === 0, unread }, filters, context)),
      };
    },

    async getLogTemplates({ query }, context) {
      const { status, limit = logTemplateLimit.default } = query;
      const isLone = query.compare === undefined && status !== undefined;
      const [, compare, filters] = checked(
        () => refuseAll([isLone && invalid("status", "Must be given together with compare")]),
        () => (query.compare === undefined ? undefined : readCompared(query.compare)),
        () => filtersOf(query, context),
      );
      const comparing = { listed: listedOf(query, context), reading: readingOf(context), context };
      const compared = compare && (await compareWith(compare, filters, ports, comparing));
      const question = { ...filters, ...compared, limit, before: compared?.before, status };
      const found = await count(question, (signal) => journal.templates(question, signal), context);
      const { templates, distinct, other, total, unread } = found;
      return {
        templates: templates.map(({ first, last, before, status: became, ...rest }) => ({
          ...rest,
          first: timestampText(first),
          last: timestampText(last),
          ...defined({ before, status: became }),
        })),
        distinct,
        other,
        total,
        ...(compared && comparedAt(compared)),
        ...(await lackOf({ isEmpty: total === 0, unread }, question, context)),
      };
    },

    async getLogContext({ query }, context) {
      const { cursor, before = logContextLimit.default, after = logContextLimit.default } = query;
      requireCursor("cursor", cursor);
      const fields = query.fields === undefined ? undefined : namesOf(query.fields);
      const question = { cursor, before, after, ...listedOf({ namespace: "*", ...query }, context), fields };
      const found = await reader.ask((signal) => journal.context(question, signal), readingOf(context));
      if (!("unread" in found)) return found;
      throw new DomainError(
        "NOT_FOUND",
        `cannot find the entry of this cursor: the journal has removed it, or it is of another host${orUnread(found)}`,
        { cursor },
      );
    },
  };
}
