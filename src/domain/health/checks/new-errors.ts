import type { Journal } from "#domain/ports/journal.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, grade, type Outcome, skip } from "../check.ts";
import { windowHours, withUnread } from "../journal-checks.ts";

const windowMs = windowHours * 3_600_000;
const usualLearningMs = 7 * 24 * 3_600_000;
const mostListed = 20;
const shownChars = 160;

type RememberedErrors = Awaited<ReturnType<Journal["rememberedErrors"]>>;

function judge(
  { knownSince, errors }: RememberedErrors,
  { warn = 1, fail, ignore, learningMs = usualLearningMs }: CheckSettings,
  nowMs: number,
): Outcome {
  if (knownSince === null) return skip("The journal has not been read to its start yet");
  const learnedAtMs = knownSince / 1000 + learningMs;
  const details = { known_since: toTimestamp(knownSince / 1000), window_hours: windowHours };
  if (learnedAtMs > nowMs)
    return skip(`Until ${toTimestamp(learnedAtMs)} it is learned which errors are usual`, details);
  const isIgnored = createIgnore(ignore);
  const found = errors
    .filter(({ id, unit, firstError }) => firstError >= learnedAtMs * 1000 && !isIgnored(unit) && !isIgnored(id))
    .toSorted((left, right) => right.firstError - left.firstError);
  const status = grade(found.length, { warn, fail: fail ?? Infinity });
  const figures = {
    details: {
      ...details,
      count: found.length,
      errors: found.slice(0, mostListed).map(({ id, unit, text, firstError }) => ({
        template: id,
        unit,
        text: text.slice(0, shownChars),
        first_at: toTimestamp(firstError / 1000),
      })),
    },
    thresholds: { count: { warn, ...(fail !== undefined && { fail }) } },
  };
  if (found.length === 0)
    return { status, message: `No error was logged for the first time in ${windowHours} h`, ...figures };
  const names = found.map(({ unit, text }) => `${unit === "" ? "" : `${unit}: `}${text.slice(0, shownChars)}`);
  return {
    status,
    message: `${counted(found.length, "kind")} of errors logged for the first time in ${windowHours} h: ${listNames(names)}`,
    ...figures,
  };
}

export function newErrorsCheck(ports: {
  journal: Pick<Journal, "size" | "rememberedErrors">;
  clock: Pick<Clock, "now">;
}): BuiltInCheck {
  const { journal, clock } = ports;
  return {
    id: "new_errors",
    name: "Errors never logged before",
    category: "system",
    severity: "medium",
    about:
      "Kinds of errors in the journal of the last 24 hours that this host had never logged before, of severity " +
      "`err` and worse: by default one warns, and none fails. It is skipped until the logs that are known reach " +
      "back for the time of `learning`, by default 7 days. `ignore` takes names of units, and ids of templates.",
    meaning: "A program logs an error that this host has never logged before.",
    remedy:
      "Read the entries (steward logs --template ID --since -1d) and what stands around them; what is harmless " +
      "goes into `ignore`, by its id or unit.",
    intervalMs: 5 * 60_000,
    async run(settings, signal) {
      if ((await journal.size(signal)) === undefined) return skip("There is no journal to read errors from");
      const nowMs = clock.now();
      const remembered = await journal.rememberedErrors((nowMs - windowMs) * 1000, signal);
      return withUnread(judge(remembered, settings, nowMs), remembered.unread);
    },
  };
}
