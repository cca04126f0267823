import { type Static, type TSchema, Type } from "typebox";
import { LogEntry, MayLackEntries, templateIdPattern, UnreadFiles } from "./log-entry.ts";
import { Choice, NullableInteger, NullableString, optional, Timestamp } from "./schema.ts";

const Count = Type.Integer({ minimum: 0 });

export const LogHistogram = Type.Object({
  since: Timestamp("Start of the window."),
  until: Timestamp("End of the window; start and end are included."),
  bucket_seconds: Type.Integer({
    minimum: 1,
    description: "Length of a bucket in seconds. Buckets start at multiples of it since 1970, in UTC.",
  }),
  buckets: Type.Array(
    Type.Object({
      at: Timestamp("Start of the bucket."),
      total: Type.Integer({ minimum: 0, description: "Number of its entries in the window." }),
      priorities: Type.Record(Type.String({ pattern: "^[0-7]$" }), Count, {
        description:
          "Number of entries by severity, without severities that do not occur. An entry with several severities counts as the most severe. Entries without a severity are in `total` only.",
        examples: [{ "3": 2, "6": 140 }],
      }),
    }),
    {
      description:
        "All buckets of the window in order, including empty ones; the first and the last may extend beyond it.",
    },
  ),
  total: Type.Integer({ minimum: 0, description: "Number of entries in all buckets." }),
  ...MayLackEntries,
});
export type LogHistogram = Static<typeof LogHistogram>;

/** What entries can be counted by. */
export const logFacets = ["unit", "priority", "identifier", "hostname", "boot", "transport"] as const;
export type LogFacet = (typeof logFacets)[number];
export const isLogFacet = (text: string): text is LogFacet => logFacets.some((name) => name === text);

const ofEachFacet = <T extends TSchema>(schemaOf: (name: LogFacet) => T) =>
  optional(Object.fromEntries(logFacets.map((name) => [name, schemaOf(name)])) as Record<LogFacet, T>);

const facetMeanings: Readonly<Record<LogFacet, string>> = {
  unit: "Units that wrote the entries, or that the entries are about; without slices.",
  priority: "Severities, as numbers.",
  identifier: "SYSLOG_IDENTIFIER.",
  hostname: "Hosts that wrote entries.",
  boot: "Boot ids.",
  transport: "How entries reached the journal: `syslog`, `stdout`, `journal`, `kernel`, `audit`, `driver`.",
};

const FacetValue = Type.Object({
  value: Type.String({ description: "The value as stored in the journal; bytes that are not UTF-8 become U+FFFD." }),
  count: Type.Integer({ minimum: 0, description: "Number of entries that have it." }),
});

export const LogFacets = Type.Object({
  facets: Type.Object(
    ofEachFacet((name) => Type.Array(FacetValue, { description: facetMeanings[name] })),
    {
      description:
        "For each requested field: its most frequent values, and the number of entries with each. An entry with several values counts for each of them. For `unit`, `identifier` and `boot` the count equals the `total` of the same query with that value as filter.",
    },
  ),
  distinct: Type.Object(
    ofEachFacet(() => NullableInteger("Number of distinct values; null if more than 100 000.")),
    {
      description:
        "Number of distinct values of each field. If there are more than 100 000, only the first 100 000 in the newest files are counted, each exactly. Values longer than 1024 bytes are left out.",
    },
  ),
  total: Type.Integer({ minimum: 0, description: "Number of matching entries." }),
  ...MayLackEntries,
});
export type LogFacets = Static<typeof LogFacets>;

/** How a template has changed from one window to the next. */
export const logTemplateStatuses = ["new", "gone", "shifted", "same"] as const;
export type LogTemplateStatus = (typeof logTemplateStatuses)[number];

const LogTemplate = Type.Object({
  id: Type.String({
    pattern: templateIdPattern,
    description: "Id; it stays the same as long as the template does. Can be used as a filter for `template`.",
    examples: ["9ce8c1cd1fdc361b"],
  }),
  unit: Type.String({
    description:
      "Unit that the entries are about, as in an entry, with `*` for the part that differs with each start: `session-*.scope`. Can be used as a filter for `unit`.",
  }),
  identifier: Type.String({ description: "SYSLOG_IDENTIFIER, with `*` for numbers in it." }),
  origin: Type.String({
    description:
      "What the entries have in common: their MESSAGE_ID, else CODE_FILE:CODE_LINE. Empty if it is the words of their messages.",
  }),
  text: Type.String({ description: "The message, with `<*>` for parts that differ between entries." }),
  priority: NullableInteger("Severity of the most severe entry, 0 to 7; null if its entries have none."),
  count: Type.Integer({
    minimum: 0,
    description: "Number of its entries in the window; with `compare`, in the later or compared one.",
  }),
  first: Timestamp("Timestamp of its first entry in the window."),
  last: Timestamp("Timestamp of its last entry in the window."),
  cursor: NullableString("Message of its last entry; null if it can no longer be read."),
  ...optional({
    before: Type.Integer({
      minimum: 0,
      description: "With `compare`: number of its entries before that time, or in the window or boot that it names.",
    }),
    status: Choice(
      logTemplateStatuses,
      "With `compare`: `new` if it appears only since that time, `gone` if only before it, or in the window or boot that it names, `shifted` if its frequency rose or fell by a factor of at least four and it has ten entries or more; else `same`.",
    ),
  }),
});

export const LogTemplates = Type.Object({
  templates: Type.Array(LogTemplate, {
    description: "The most frequent first; with `compare` in the order new, gone, shifted, same.",
  }),
  distinct: Type.Integer({ minimum: 0, description: "Number of templates." }),
  other: Type.Integer({
    minimum: 0,
    description:
      "Number of entries without a template: from programs that write too many different messages, or unreadable ones.",
  }),
  total: Type.Integer({ minimum: 0, description: "Number of matching entries; with `compare`, of both windows." }),
  ...optional({
    compared_at: Timestamp(
      "With `compare`: the time that separates the two windows; absent if they are two boots or have bounds of their own.",
    ),
  }),
  ...MayLackEntries,
});
export type LogTemplates = Static<typeof LogTemplates>;

export const LogContext = Type.Object({
  entries: Type.Array(LogEntry, { description: "Oldest first." }),
  index: Type.Integer({ minimum: 0, description: "Index of the entry with the cursor, from 0." }),
  ...optional({ unread: UnreadFiles }),
});
export type LogContext = Static<typeof LogContext>;
