import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { LogList } from "#contract/logs.ts";
import { groupClasses } from "#domain/logs/templates/group.ts";
import { createMasking } from "#domain/logs/templates/mask.ts";
import { identifierPattern, unitPattern } from "#domain/logs/templates/names.ts";
import type { CountedTemplate, LogQuery, MessageClass } from "#domain/ports/journal.ts";
import { exported, splitExport } from "./exported.ts";
import { cursorsOf, identityOf } from "./known.ts";
import { type KnownEntry, matchingEntries, namedUnits } from "./oracle.ts";
import { decoded, never, type Reader } from "./reader.ts";

const masking = createMasking(1);
const grouped = new WeakMap<readonly KnownEntry[], ReadonlyMap<KnownEntry, string>>();
const longestPlace = 255;

function classOf({ fields }: KnownEntry): MessageClass {
  const first = (name: string): string => fields.get(name)?.[0] ?? "";
  const message = Buffer.from(first("MESSAGE"));
  masking.read(message, 0, message.length, 1);
  const id = first("MESSAGE_ID").toLowerCase();
  const [file, line] = [first("CODE_FILE"), first("CODE_LINE")];
  const place = file === "" || line === "" ? "" : `${file}:${line}`.slice(-longestPlace);
  return {
    unit: unitPattern(namedUnits(fields)[0] ?? ""),
    identifier: identifierPattern(first("SYSLOG_IDENTIFIER")),
    origin: /^[0-9a-f]{32}$/.test(id) ? id : place,
    text: masking.text(),
  };
}

/** The id of the template of each entry of a journal, from the entries alone. */
function templatesOf(all: readonly KnownEntry[]): ReadonlyMap<KnownEntry, string> {
  const known = grouped.get(all);
  if (known !== undefined) return known;
  const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
  const { templates, templateOf } = groupClasses(all.map(classOf), digest);
  const made = new Map(all.map((each, at) => [each, templates[templateOf[at] ?? 0]?.id ?? ""]));
  grouped.set(all, made);
  return made;
}

const recordOf = (counts: Iterable<readonly [string, number]>): Readonly<Record<string, number>> =>
  Object.fromEntries(counts);

/** Of so many templates of an answer the entries are asked for. */
const mostListed = 3;

/** As many entries are listed, counted and exported of a template as its count says. @returns the cursors of those listed. */
async function entriesOf(journal: Reader["journal"], query: LogQuery, { id, count }: CountedTemplate) {
  const asked = { ...query, template: id, cursor: undefined, entry: undefined };
  const page = { ...asked, order: "asc", isFromOldest: true, limit: count + 1 } as const;
  const { logs, total } = decoded<LogList>((await journal.query(page, never)).bytes);
  const isFitted = { since: false, until: false };
  const { buckets } = await journal.histogram({ ...asked, buckets: 10, isFitted }, never);
  const facets = await journal.facets({ ...asked, fields: [], limit: 1 }, never);
  const again = await journal.templates({ ...asked, limit: 10, before: undefined, status: undefined }, never);
  const exporting = { ...asked, format: "journal", all: true, position: undefined } as const;
  const written = splitExport(await exported({ journal }, exporting));
  expect({
    query,
    id,
    total,
    listed: logs.length,
    counted: buckets.reduce((sum, bucket) => sum + bucket.total, 0),
    faceted: facets.total,
    templates: again.templates.map((each) => [each.id, each.count]),
    exported: written.length,
  }).toEqual({
    query,
    id,
    total: count,
    listed: count,
    counted: count,
    faceted: count,
    templates: [[id, count]],
    exported: count,
  });
  return logs.map(({ cursor }) => cursor);
}

/**
 * Each entry that is found is of one template, the same that its fields give, and is found by it.
 * @param hasCopies whether files have copies of entries, of which any may be listed.
 */
export async function expectTemplates(
  journal: Reader["journal"],
  all: readonly KnownEntry[],
  query: LogQuery,
  hasCopies: boolean,
): Promise<void> {
  const found = matchingEntries(all, query);
  const asked = { ...query, limit: 100_000, before: undefined, status: undefined };
  const { templates, total, other, distinct } = await journal.templates(asked, never);
  expect([query, total, distinct]).toEqual([query, found.length, templates.length]);
  const sum = templates.reduce((counted, { count }) => counted + count, other);
  expect([query, sum]).toEqual([query, total]);
  const listed = new Map<string, readonly string[]>();
  for (const template of templates.slice(0, mostListed))
    listed.set(template.id, await entriesOf(journal, query, template));
  // Which entries are of no template does not follow from their fields.
  if (other > 0) return;
  const named = (cursors: readonly string[]) => (hasCopies ? cursors.map(identityOf).sort() : cursors);
  const ids = templatesOf(all);
  const wanted = Map.groupBy(found, (each) => ids.get(each) ?? "");
  // Bytes that are not text have been decoded here, so that a message has another length.
  const isText = (text = ""): boolean => !text.includes("\ufffd");
  const isReadable = (those: readonly KnownEntry[] = []): boolean =>
    those.every((each) => isText(each.fields.get("MESSAGE")?.[0]) && isText(classOf(each).text));
  const counted = recordOf(
    templates
      .filter(({ id, text }) => isText(text) && isReadable(wanted.get(id)))
      .map(({ id, count }) => [id, count] as const),
  );
  for (const [id, cursors] of listed) {
    const those = wanted.get(id) ?? [];
    const text = templates.find((template) => template.id === id)?.text;
    if (isText(text) && isReadable(those)) expect(named(cursors)).toEqual(named(cursorsOf(those)));
  }
  const readable = [...wanted].filter(([, those]) => isReadable(those));
  expect([query, counted]).toEqual([query, recordOf(readable.map(([id, those]) => [id, those.length] as const))]);
}
