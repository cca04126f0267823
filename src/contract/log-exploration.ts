import { type Static, type TSchema, Type } from "typebox";
import { LogEntry } from "./log-entry.ts";
import { Choice, MayLack, NullableInteger, NullableString, optional, Timestamp } from "./schema.ts";

const Count = Type.Integer({ minimum: 0 });

export const LogHistogram = Type.Object({
  since: Timestamp("Where the window begins."),
  until: Timestamp("Where it ends; both moments are in it."),
  bucket_seconds: Type.Integer({
    minimum: 1,
    description: "How long a bucket is. Buckets begin at multiples of it since 1970, in UTC.",
  }),
  buckets: Type.Array(
    Type.Object({
      at: Timestamp("Where it begins."),
      total: Type.Integer({ minimum: 0, description: "Its entries in the window." }),
      priorities: Type.Record(Type.String({ pattern: "^[0-7]$" }), Count, {
        description:
          "How many entries have each severity, without those that none has; with several the most severe one. Entries without a severity are in `total` only.",
        examples: [{ "3": 2, "6": 140 }],
      }),
    }),
    {
      description:
        "All of the window in their order, also those without entries; the first and the last may reach beyond it.",
    },
  ),
  total: Type.Integer({ minimum: 0, description: "Entries in all buckets." }),
  ...MayLack,
});
export type LogHistogram = Static<typeof LogHistogram>;

/** What entries can be counted by. */
export const logFacets = ["unit", "priority", "identifier", "hostname", "boot", "transport"] as const;
export type LogFacet = (typeof logFacets)[number];
export const isLogFacet = (text: string): text is LogFacet => logFacets.some((name) => name === text);

const ofEachFacet = <T extends TSchema>(schemaOf: (name: LogFacet) => T) =>
  optional(Object.fromEntries(logFacets.map((name) => [name, schemaOf(name)])) as Record<LogFacet, T>);

const facetMeanings: Readonly<Record<LogFacet, string>> = {
  unit: "Units that wrote entries or that these are about, without slices.",
  priority: "Severities, as numbers.",
  identifier: "SYSLOG_IDENTIFIER.",
  hostname: "Hosts that wrote entries.",
  boot: "Ids of boots.",
  transport: "How entries reached the journal: `syslog`, `stdout`, `journal`, `kernel`, `audit`, `driver`.",
};

const FacetValue = Type.Object({
  value: Type.String({ description: "As the journal has it; bytes that are not UTF-8 become U+FFFD." }),
  count: Type.Integer({ minimum: 0, description: "Entries that have it." }),
});

export const LogFacets = Type.Object({
  facets: Type.Object(
    ofEachFacet((name) => Type.Array(FacetValue, { description: facetMeanings[name] })),
    {
      description:
        "For each field that is asked for: its most frequent values, and how many entries have each. An entry with several values counts for each of them: of `unit`, `identifier` and `boot` the count is the `total` of the same query with that value as its filter.",
    },
  ),
  distinct: Type.Object(
    ofEachFacet(() => NullableInteger("How many values there are; null where more than 100 000.")),
    {
      description:
        "How many values each field has. Where they are too many to be told apart, only the first 100 000 of the newest files are counted, each exactly. Values longer than 1024 bytes are left out.",
    },
  ),
  total: Type.Integer({ minimum: 0, description: "Entries that match." }),
  ...MayLack,
});
export type LogFacets = Static<typeof LogFacets>;

/** How a template has changed from one window to the next. */
export const logTemplateStatuses = ["new", "gone", "shifted", "same"] as const;
export type LogTemplateStatus = (typeof logTemplateStatuses)[number];

const LogTemplate = Type.Object({
  id: Type.String({
    pattern: "^[0-9a-f]{16}$",
    description: "Stays the same while the template does.",
    examples: ["9ce8c1cd1fdc361b"],
  }),
  unit: Type.String({
    description:
      "Unit that the entries are about, as in an entry, with `*` for what differs from start to start: `session-*.scope`. A filter for `unit`.",
  }),
  identifier: Type.String({ description: "SYSLOG_IDENTIFIER, with `*` for numbers in it." }),
  origin: Type.String({
    description:
      "What the entries have in common: their MESSAGE_ID, else CODE_FILE:CODE_LINE. Empty where it is the words of their messages.",
  }),
  text: Type.String({ description: "The message, `<*>` for what differs from entry to entry." }),
  priority: NullableInteger("The severity of its most severe entry, 0 to 7; null where its entries state no severity."),
  count: Type.Integer({ minimum: 0, description: "Its entries in the window; with `compare` from that moment on." }),
  first: Timestamp("Of its first entry in the window."),
  last: Timestamp("Of its last entry in the window."),
  cursor: NullableString("Of its last entry; null where that cannot be read any more."),
  ...optional({
    before: Type.Integer({ minimum: 0, description: "With `compare`: its entries in the window before that moment." }),
    status: Choice(
      logTemplateStatuses,
      "With `compare`: `new` since that moment, `gone` since then, `shifted` where it became at least four times as frequent, or a fourth, and has ten entries or more; else `same`.",
    ),
  }),
});

export const LogTemplates = Type.Object({
  templates: Type.Array(LogTemplate, {
    description:
      "The most frequent ones first; with `compare` the new ones, those gone, those that shifted, the others.",
  }),
  distinct: Type.Integer({ minimum: 0, description: "How many templates there are." }),
  other: Type.Integer({
    minimum: 0,
    description:
      "Entries that are of no template: of programs that write too many different messages, or that cannot be read.",
  }),
  total: Type.Integer({ minimum: 0, description: "Entries that match." }),
  ...optional({
    compared_at: Timestamp("With `compare`: the moment between the two windows."),
  }),
  ...MayLack,
});
export type LogTemplates = Static<typeof LogTemplates>;

export const LogContext = Type.Object({
  entries: Type.Array(LogEntry, { description: "Oldest first." }),
  index: Type.Integer({ minimum: 0, description: "Where the entry of the cursor is among them, from 0." }),
});
export type LogContext = Static<typeof LogContext>;
