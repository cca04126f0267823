import { logFieldValuesLimit } from "#contract/limits.ts";
import type { LogFieldValues, logs } from "#contract/logs.ts";
import type { Context, Handlers } from "#contract/operation.ts";
import type { ScopeLack } from "#domain/common/error.ts";
import { pageOf, wholeList } from "#domain/common/page.ts";
import type { JournalLists, JournalStorage, ListedEntries } from "#domain/ports/journal.ts";
import type { AskedNamespace, LackOf } from "./exploration.ts";
import type { LogReader, Reading } from "./reader.ts";
import { timestampText } from "./window.ts";

type FieldValue = LogFieldValues["values"][number];

const valueText = ({ text, base64 }: FieldValue): string => (text === undefined ? `b${base64 ?? ""}` : `t${text}`);
const maxKeyLength = 300;
/** Values may be long, cursors not. */
const valueKey = (value: FieldValue): string => {
  const text = valueText(value);
  return `${text.length}.${text.slice(0, maxKeyLength).toWellFormed()}`;
};

/** Values in an order that a cursor can continue in, which they do not have by themselves. */
function pageOfValues(
  { values, truncated }: Pick<LogFieldValues, "values" | "truncated">,
  { limit, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
): LogFieldValues {
  const isWhole = limit === undefined && cursor === undefined;
  const texts = new Map(values.map((value) => [value, valueText(value)]));
  const ordered = isWhole ? values : values.toSorted((a, b) => ((texts.get(a) ?? "") < (texts.get(b) ?? "") ? -1 : 1));
  const page = pageOf(ordered, { limit: limit ?? logFieldValuesLimit.maximum, cursor }, valueKey);
  const { total, next_cursor } = page.shape;
  // Of what is truncated nobody knows how many there are.
  return { values: [...page.items], truncated, ...(!truncated && { total }), limit: limit ?? null, next_cursor };
}

/** What the journal says beside its entries: boots, fields and sizes. */
export function listHandlers(ports: {
  readonly reader: LogReader;
  readonly journal: JournalLists & Pick<JournalStorage, "size">;
  readonly readingOf: (context: Context) => Reading;
  /** All entries that a caller may read. */
  readonly listedOf: (query: AskedNamespace, context: Context) => ListedEntries;
  readonly lackOf: LackOf;
  readonly scopeLack: ScopeLack;
}): Pick<Handlers<typeof logs>, "listLogBoots" | "listLogFields" | "listLogFieldValues" | "getLogUsage"> {
  const { reader, journal, readingOf, listedOf, lackOf, scopeLack } = ports;
  return {
    async listLogBoots({ query }, context) {
      const listed = listedOf(query, context);
      const { boots, unread } = await reader.ask((signal) => journal.boots(listed, signal), readingOf(context));
      return {
        boots: boots.map(({ index, id, first, last }) => ({
          index,
          boot_id: id,
          first: timestampText(first),
          last: timestampText(last),
        })),
        ...wholeList(boots.length),
        ...(await lackOf({ isEmpty: boots.length === 0, unread }, listed, context)),
      };
    },
    async listLogFields({ query }, context) {
      const listed = listedOf(query, context);
      const { names, unread } = await reader.ask((signal) => journal.fieldNames(listed, signal), readingOf(context));
      const lack = await lackOf({ isEmpty: names.length === 0, unread }, listed, context);
      return { names: [...names], ...wholeList(names.length), ...lack };
    },
    async listLogFieldValues({ params: { name }, query }, context) {
      const listed = listedOf(query, context);
      const found = await reader.ask((signal) => journal.fieldValues(name, listed, signal), readingOf(context));
      const lack = await lackOf({ isEmpty: found.values.length === 0, unread: found.unread }, listed, context);
      return { ...pageOfValues(found, query), ...lack };
    },
    async getLogUsage(_, context) {
      if (listedOf({}, context).units !== undefined) throw scopeLack(context.caller, "logs:read");
      const size = await reader.ask(journal.size, readingOf(context));
      return {
        disk_bytes: size?.diskBytes ?? 0,
        memory_bytes: size?.memoryBytes ?? 0,
        files: size?.files ?? 0,
        ...(await lackOf({ isEmpty: size === undefined }, { units: undefined, namespace: "*" }, context)),
      };
    },
  };
}
