import type { HealthCheckResult } from "#contract/checks.ts";
import { checkHistoryKeptMs, checkHistoryWindowMs } from "#contract/limits.ts";
import type { Caller, Context } from "#contract/operation.ts";
import { redact } from "#domain/common/redact.ts";
import type { Subjects } from "#domain/ports/runbooks.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { utf8Length } from "#kernel/text.ts";

import { type Advice, adviceOn } from "./advice.ts";
import { type JournalLine, journalLines, nothing, type Part } from "./journal-lines.ts";
import { type ExplainSources, episodeLine, episodesOf, type PastRun, type UnitFacts } from "./sources.ts";
import { namedTemplates, subjectsOf } from "./subjects.ts";
import { surroundings } from "./surroundings.ts";
import { beginningOf, cutTo, inert } from "./text.ts";

/** Limits in bytes; with 24 KiB of journal lines, 4 KiB of runbooks and the surrounding words, all stays below 68 KiB. */
const mostOf = {
  message: 1024,
  details: 6 * 1024,
  history: 3 * 1024,
  units: 4 * 1024,
  episodes: 1536,
  around: 8 * 1024,
  each: 2 * 1024,
  unit: 400,
  run: 300,
} as const;
const mostChanges = 50;
const mostEpisodes = 10;
/** How many times the shown text is checked for secrets: removing them makes space. */
const lookedAt = 4;

export interface Bundle extends Omit<Part, "lines"> {
  readonly check: readonly string[];
  readonly history: readonly string[];
  readonly units: readonly string[];
  /** What else is known of the host, by title. */
  readonly around: readonly { readonly title: string; readonly lines: readonly string[] }[];
  readonly journal: readonly JournalLine[];
  readonly runbooks: Pick<Advice, "ids" | "text">;
}

interface SafeText {
  readonly text: string;
  readonly redactions: number;
}

const redactionsIn = (each: readonly Pick<SafeText, "redactions">[]): number =>
  each.reduce((sum, { redactions }) => sum + redactions, 0);

/** @param rest what is said where some lines had to be left out. */
const partOf = (kept: readonly SafeText[], isAll: boolean, rest: string): Part => ({
  lines: kept.map(({ text }) => text),
  redactions: redactionsIn(kept),
  omitted: isAll ? [] : [`${rest} (size limit)`],
});
/** Without secrets: errors may repeat what was read. */
const redactedMessage = (error: unknown): string => safeText(errorMessage(error), mostOf.run).text;

function safeText(text: string, most: number): SafeText {
  const redacted = redact(beginningOf(text, most * lookedAt).join("\n"));
  return { text: cutTo(inert(redacted.text), most), redactions: redacted.count };
}

function checkPart(result: HealthCheckResult): Part {
  const { details, message, name } = result;
  const reported = safeText(message, mostOf.message);
  // On one line, so that a secret stays next to its name.
  const figures = safeText(JSON.stringify(details), mostOf.details);
  const calm = safeText(name, mostOf.run);
  return {
    lines: [
      `id: ${result.check_id}`,
      `name: ${calm.text}`,
      `category: ${result.category}, severity: ${result.severity}`,
      `status: ${result.status} since ${result.since}, checked at ${result.checked_at}`,
      `failures in a row: ${result.consecutive_failures}`,
      `fix: ${result.fix_id ?? "none"}${result.fixable ? "" : " (not for what was found)"}`,
      `message: ${reported.text}`,
      `details: ${figures.text}`,
    ],
    redactions: reported.redactions + figures.redactions + calm.redactions,
    omitted: figures.text.endsWith("bytes cut off]") ? ["details of the check: the rest (size limit)"] : [],
  };
}

/** Runs with another status than the one before. */
const changesIn = (runs: readonly PastRun[]): readonly PastRun[] =>
  runs.filter(({ status }, at) => status !== runs[at - 1]?.status);

interface Past {
  readonly changes: Part;
  readonly episodes: Part;
}

function historyParts(history: ExplainSources["history"], checkId: string, nowMs: number): Past {
  let runs: readonly PastRun[];
  try {
    runs = history(checkId, nowMs - checkHistoryKeptMs);
  } catch (error) {
    const reason = `history of the check: it cannot be read (${redactedMessage(error)})`;
    return { changes: nothing(reason), episodes: nothing() };
  }
  const changes = changesIn(runs.filter(({ checkedAt }) => checkedAt >= nowMs - checkHistoryWindowMs));
  const written = changes.slice(-mostChanges).map(({ checkedAt, status, message }) => {
    const reported = safeText(message, mostOf.run);
    return { text: `${toTimestamp(checkedAt)} ${status}: ${reported.text}`, redactions: reported.redactions };
  });
  const kept = newest(written, mostOf.history);
  const episodes = episodesOf(runs);
  const reported = newest(
    episodes.slice(-mostEpisodes).map((episode) => safeText(episodeLine(episode), mostOf.run)),
    mostOf.episodes,
  );
  return {
    changes: partOf(kept, kept.length === changes.length, "history of the check: earlier changes"),
    episodes: partOf(reported, reported.length === episodes.length, "earlier episodes of the check: more of them"),
  };
}

function newest(lines: readonly SafeText[], most: number): readonly SafeText[] {
  let used = 0;
  const from = lines.findLastIndex(({ text }) => {
    used += utf8Length(text) + 1;
    return used > most;
  });
  return lines.slice(from + 1);
}

const stateOf = (unit: UnitFacts): string =>
  [
    `${unit.name}: ${unit.activeState} (${unit.subState})`,
    `since ${toNullableTimestamp(unit.since) ?? "the start"}`,
    `result ${unit.result}`,
    `restarts ${unit.restarts}`,
    `unit file ${unit.unitFileState === "" ? "none" : unit.unitFileState}`,
    ...(["loaded", ""].includes(unit.loadState) ? [] : [`load state ${unit.loadState}`]),
    ...(unit.description === unit.name ? [] : [unit.description]),
  ].join(", ");

async function unitsPart(sources: ExplainSources, names: readonly string[], caller: Caller): Promise<Part> {
  const services = names.filter((name) => name.endsWith(".service"));
  if (services.length === 0) return nothing();
  if (!sources.seesUnits(caller)) return nothing("state of units: this key lacks the scope system:read");
  let all: readonly UnitFacts[];
  try {
    all = await sources.units();
  } catch (error) {
    return nothing(`state of units: it cannot be read (${redactedMessage(error)})`);
  }
  const found = all.filter(({ name }) => services.includes(name));
  const written = found.map((unit) => safeText(stateOf(unit), mostOf.unit)).reverse();
  const kept = [...newest(written, mostOf.units)].reverse();
  return partOf(kept, kept.length === written.length, "state of units: more of them");
}

const episodesTitle = "Earlier episodes of this check in the last 30 days";

interface Around extends Part {
  readonly title: string;
  /** Units that have to do with the finding. */
  readonly units?: readonly string[];
}

/** What stands around a finding, as far as the caller may read it; the first ones get space first. */
async function aroundPart(
  { reads, maySee }: Pick<ExplainSources, "reads" | "maySee">,
  result: HealthCheckResult,
  context: Context,
): Promise<readonly Around[]> {
  let space = mostOf.around;
  const reported: Around[] = [];
  for (const { title, scope, read } of surroundings.filter(({ concerns }) => concerns(result))) {
    const name = title.toLowerCase();
    if (!maySee(context, scope)) {
      reported.push({ title, ...nothing(`${name}: this key lacks the scope ${scope}`) });
      continue;
    }
    try {
      const { lines: found, units = [] } = await read(reads, result, context);
      const lines = found.map((line) => safeText(line, mostOf.run));
      const kept = [...newest(lines.toReversed(), Math.min(space, mostOf.each))].reverse();
      space -= kept.reduce((sum, { text }) => sum + utf8Length(text) + 1, 0);
      reported.push({ title, units, ...partOf(kept, kept.length === lines.length, `${name}: more of them`) });
    } catch (error) {
      reported.push({ title, ...nothing(`${name}: it cannot be read (${redactedMessage(error)})`) });
    }
  }
  return reported;
}

async function advicePart(
  { runbooks, maySee, isWithin }: Pick<ExplainSources, "runbooks" | "maySee" | "isWithin">,
  about: Subjects,
  context: Context,
): Promise<Advice> {
  if (maySee(context, "health:read")) return adviceOn(await runbooks(context.signal()), about, isWithin);
  return { ids: [], text: "", redactions: 0, omitted: ["runbooks: this key lacks the scope health:read"] };
}

/** Collects what the caller may see of a check, without secrets, in bounded size. */
export async function makeBundle(
  sources: ExplainSources,
  { result, nowMs, caller, context }: { result: HealthCheckResult; nowMs: number; caller: Caller; context: Context },
): Promise<Bundle> {
  const signal = context.signal();
  const check = checkPart(result);
  const { changes, episodes } = historyParts(sources.history, result.check_id, nowMs);
  const around = [{ title: episodesTitle, ...episodes }, ...(await aroundPart(sources, result, context))];
  const subjects = subjectsOf(
    result,
    around.flatMap(({ units: related = [] }) => related),
  );
  const units = await unitsPart(sources, subjects.units, caller);
  const journal = await journalLines(sources, { subjects, sinceMs: Date.parse(result.since), nowMs, caller }, signal);
  const about = { checks: [result.check_id], units: subjects.units, templates: namedTemplates(result) };
  const advice = await advicePart(sources, about, context);
  const parts = [check, changes, units, ...around, journal, advice];
  return {
    check: check.lines,
    history: changes.lines,
    units: units.lines,
    around: around.map(({ title, lines }) => ({ title, lines })),
    journal: journal.lines,
    runbooks: { ids: advice.ids, text: advice.text },
    redactions: redactionsIn(parts),
    omitted: parts.flatMap(({ omitted }) => omitted),
  };
}
