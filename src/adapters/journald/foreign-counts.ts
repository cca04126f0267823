import { anyEntries, type HistogramQuery } from "#domain/ports/journal.ts";
import { isBootNumber } from "./boots.ts";
import type { Engine } from "./engine.ts";
import type { CountAnswer, CountQuestion } from "./exploration.ts";
import { mergeFacets, withAllValues } from "./facets.ts";
import { countForeignFiles } from "./foreign-files.ts";
import { fitTo, mergeCounts } from "./histogram.ts";
import type { Journalctl } from "./journalctl.ts";
import type { Fault } from "./registry.ts";

interface Ports {
  readonly engine: Pick<Engine, "count" | "foreign" | "holds">;
  readonly journalctl: Journalctl;
  readonly onDamage: (fault: Fault) => void;
}

/** No entry is of it. */
const noBoot = "none";

/** The id of the boot, counted over all files. */
async function bootOf(
  { query }: CountQuestion,
  journalctl: Journalctl,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { boot, units, namespace } = query;
  if (boot === undefined || !isBootNumber(boot)) return boot;
  const resolved = await journalctl.resolveBoot({ ...anyEntries, units, namespace, boot, limit: 1 }, signal);
  return resolved?.boot ?? noBoot;
}

/** The window of a histogram of a boot, from its first to its last entry in any file. */
async function fitted(query: HistogramQuery, journalctl: Journalctl, signal: AbortSignal): Promise<HistogramQuery> {
  const { units, namespace, boot, isFitted } = query;
  if (boot === undefined || (!isFitted.since && !isFitted.until)) return query;
  const listed = await journalctl.list({ what: "boots", units, namespace }, signal);
  const found = (listed.what === "boots" ? listed.boots : []).filter(({ id }) => id === boot);
  const moments = found.flatMap(({ first, last }) => [first, last]);
  return { ...fitTo(query, moments), isFitted: { since: false, until: false } };
}

/** Counts where some files are read by journalctl. @throws LogQueryRefused, JournalUnavailable */
export async function countAll(
  asked: CountQuestion,
  signal: AbortSignal,
  { engine, journalctl, onDamage }: Ports,
): Promise<CountAnswer> {
  const boot = await bootOf(asked, journalctl, signal);
  const ports = { journalctl, holds: engine.holds, onDamage };
  // What journalctl reads is of no template.
  const foreign = asked.query.template === undefined ? engine.foreign : () => [];
  if (asked.what === "histogram") {
    const question = { ...asked, query: await fitted({ ...asked.query, boot }, journalctl, signal) };
    const ours = engine.count(question);
    const others = await countForeignFiles(foreign(), { question, signal }, ports);
    const [first, ...rest] = [ours, ...others].flatMap((each) => (each.what === "histogram" ? [each.counts] : []));
    if (first === undefined) throw new Error("the journal's files gave no counts");
    return { what: "histogram", counts: mergeCounts([first, ...rest]) };
  }
  if (asked.what === "templates") {
    const ours = engine.count({ ...asked, query: { ...asked.query, boot } });
    let more = 0;
    for (const window of [{ boot }, ...(asked.query.before === undefined ? [] : [asked.query.before])]) {
      const question = { what: "facets", query: { ...asked.query, ...window, fields: [], limit: 1 } } as const;
      const others = await countForeignFiles(foreign(), { question, signal }, ports);
      more += others.reduce((sum, { what, counts }) => sum + (what === "facets" ? counts.total : 0), 0);
    }
    if (ours.what !== "templates") throw new Error("the journal's files gave no templates");
    const { total, other } = ours.counts;
    return { what: "templates", counts: { ...ours.counts, total: total + more, other: other + more } };
  }
  const question = { ...asked, query: withAllValues({ ...asked.query, boot }) };
  const ours = engine.count(question);
  const others = await countForeignFiles(foreign(), { question, signal }, ports);
  const counts = [ours, ...others].flatMap((each) => (each.what === "facets" ? [each.counts] : []));
  return { what: "facets", counts: mergeFacets(counts, asked.query) };
}
