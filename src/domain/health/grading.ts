import type { CheckLevel, CheckStatus, Severity } from "#contract/checks.ts";
import type { CheckSettings, Outcome } from "./check.ts";

/**
 * The rule by which figures do not flap: one that entered a state at a threshold leaves it only when it is beyond the threshold by a
 * margin. It holds for every figure that a {@link Grader} grades.
 */

/** How far beyond a threshold a figure has to go back to leave the state that it entered there, in percent of the threshold. */
const defaultMarginPercent = 2.5;
/** What is remembered between runs, at most: it travels to root's side and back. */
const mostObjects = 100;
const longestName = 512;

type Grade = "pass" | "warn" | "fail";

interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

/** @throws RangeError: a comparison with it is false, so that it would pass. */
function requireNumber(value: number, object: string): void {
  if (Number.isNaN(value)) throw new RangeError(`cannot grade ${object === "" ? "a figure" : object}: not a number`);
}

type Reaches = (threshold: number, isHeld: boolean) => boolean;

function gradeBy(reaches: Reaches, { warn, fail }: Thresholds, before: Grade): Grade {
  if (reaches(fail, before === "fail")) return "fail";
  return reaches(warn, before !== "pass") ? "warn" : "pass";
}

/** A figure with its unit, for messages. */
export type FormatFigure = (value: number) => string;

const figure = (value: number): number => Number(value.toPrecision(4));
const percent: FormatFigure = (value) => `${figure(value)} %`;
/** Figures in a unit that has a name. */
export const inUnit =
  (unit: string): FormatFigure =>
  (value) =>
    `${figure(value)} ${unit}`;

export interface Grader {
  /** Grades a figure, the greater the worse. @param object whose figure it is, where a check has several. */
  readonly grade: (value: number, thresholds: Thresholds, object?: string) => Grade;
  /** Grades a figure of which little is bad, such as free space: it enters a state below a threshold. */
  readonly gradeLow: (value: number, thresholds: Thresholds, object: string, formatLow: FormatFigure) => Grade;
  /** The outcome with what the next run has to know, and with what is held where something is. */
  readonly finish: (outcome: Outcome) => Outcome;
}

/** Grades the figures of one run of a check, by those of the run before. @param format their unit, percent unless given. */
export function createGrader(settings: Pick<CheckSettings, "margin" | "previous">, format = percent): Grader {
  const { margin = defaultMarginPercent, previous } = settings;
  const share = margin / 100;
  const graded = new Map<string, Exclude<Grade, "pass">>();
  const held: { readonly object: string; readonly status: Grade; readonly until: string }[] = [];

  const before = (object: string): Grade => {
    const { status = "pass", objects } = previous ?? {};
    if (objects !== undefined) return Object.hasOwn(objects, object) ? (objects[object] ?? "pass") : "pass";
    return status === "skip" ? "pass" : status;
  };
  const remember = (object: string, status: Grade): Grade => {
    if (status !== "pass" && graded.size < mostObjects && object.length <= longestName) graded.set(object, status);
    return status;
  };

  return {
    grade(value, thresholds, object = "") {
      requireNumber(value, object);
      const leaving = (threshold: number): number => threshold * (1 - share);
      const reaches: Reaches = (threshold, isHeld) => value >= (isHeld ? leaving(threshold) : threshold);
      const status = gradeBy(reaches, thresholds, before(object));
      if (status !== "pass" && value < thresholds[status])
        held.push({ object, status, until: `below ${format(leaving(thresholds[status]))}` });
      return remember(object, status);
    },
    gradeLow(value, thresholds, object, formatLow) {
      requireNumber(value, object);
      const leaving = (threshold: number): number => threshold * (1 + share);
      const reaches: Reaches = (threshold, isHeld) => value < (isHeld ? leaving(threshold) : threshold);
      const status = gradeBy(reaches, thresholds, before(object));
      if (status !== "pass" && value >= thresholds[status])
        held.push({ object, status, until: `at least ${formatLow(leaving(thresholds[status]))}` });
      return remember(object, status);
    },
    finish(outcome) {
      const [first] = held;
      const result = graded.size === 0 ? outcome : { ...outcome, graded: Object.fromEntries(graded) };
      if (first === undefined) return result;
      const subject = first.object === "" ? "this check" : first.object;
      return {
        ...result,
        message: `${outcome.message} (${subject} stays at ${first.status} until ${first.until})`,
        details: { ...outcome.details, held: held.map(({ object, status, until }) => ({ object, status, until })) },
      };
    },
  };
}

/** What a check says of one of its objects. */
export interface Finding {
  readonly status: "pass" | "warn" | "fail";
  /** A clause for the message; not shown where it passes. */
  readonly problem: string;
}

export const passing: Finding = { status: "pass", problem: "" };

const mostProblems = 4;

/** The worst of the findings, with the problems of all that are not healthy, the worst first. */
export function combineFindings(
  findings: readonly Finding[],
  healthyMessage: string,
  details: Outcome["details"],
): Outcome {
  const of = (status: Finding["status"]): readonly Finding[] => findings.filter((each) => each.status === status);
  const failing = of("fail");
  const problems = [...failing, ...of("warn")].map(({ problem }) => problem);
  if (problems.length === 0) return { status: "pass", message: healthyMessage, details };
  const more = problems.length > mostProblems ? `; and ${problems.length - mostProblems} more` : "";
  const message = problems.slice(0, mostProblems).join("; ") + more;
  return { status: failing.length > 0 ? "fail" : "warn", message, details };
}

export const levelOf = (status: CheckStatus): CheckLevel => (status === "skip" ? "pass" : status);

/**
 * The state of a check in the words of Nagios: a new status is soft until it has been seen in `attempts` runs in a row, then
 * hard. A problem that becomes another one, and a check that passes again, are hard at once.
 */
export interface HardState {
  /** The last hard state. */
  readonly hard: CheckLevel;
  /** Runs in a row with what is not hard yet; 0 when there is nothing of the kind. */
  readonly attempt: number;
}

export const noProblem: HardState = { hard: "pass", attempt: 0 };

/** Until a problem counts, unless settings or the check say otherwise. */
const defaultAttempts = 3;
/** What is inspected less often than this does not flap within minutes, and hours would pass until it counted. */
const seldomMs = 5 * 60_000;

/** How many runs in a row make a status hard. */
export function attemptsFor(
  check: { readonly severity: Severity; readonly intervalMs: number; readonly attempts: number | undefined },
  status: CheckStatus,
  usual: number = defaultAttempts,
): number {
  if (check.attempts !== undefined) return check.attempts;
  if (status === "fail" && check.severity === "critical") return 1;
  return check.intervalMs > seldomMs ? 1 : usual;
}

/**
 * Takes a run. A problem that is skipped from then on is over once that is hard: its subject is gone.
 * @param isRepeated whether it follows another so soon, because somebody asked, that both are one attempt.
 */
export function hardened(state: HardState, status: CheckStatus, attempts: number, isRepeated = false): HardState {
  const { hard, attempt } = state;
  const level = levelOf(status);
  if (level === hard) return { hard, attempt: 0 };
  const isAtOnce = status === "pass" || (hard !== "pass" && level !== "pass");
  if (isAtOnce) return { hard: level, attempt: 0 };
  if (isRepeated && attempt > 0) return state;
  return attempt + 1 >= attempts ? { hard: level, attempt: 0 } : { hard, attempt: attempt + 1 };
}

/**
 * The state of a check that an earlier process has left in a status, from how long it had been in it: of a soft one the runs so
 * far are not known.
 */
export function restored(status: CheckStatus, heldMs: number, intervalMs: number, attempts: number): HardState {
  const level = levelOf(status);
  const isHard = level === "pass" || heldMs >= (attempts - 1) * intervalMs;
  return isHard ? { hard: level, attempt: 0 } : { hard: "pass", attempt: 1 };
}

interface Transition {
  readonly status: CheckStatus;
  /** Epoch milliseconds. */
  readonly checkedAt: number;
}

/**
 * The state of a check that an earlier process has left skipped: the problem that it had before, until it has been skipped often enough.
 * @param transitions oldest first, up to the first of those runs.
 * @param skips how often it has been skipped in a row.
 */
export function restoredSkipped(
  transitions: readonly Transition[],
  skips: number,
  intervalMs: number,
  attempts: (status: CheckStatus) => number,
): HardState {
  const end = transitions.findLastIndex(({ status }) => status !== "skip");
  const last = transitions[end];
  if (last === undefined || last.status === "pass" || skips >= attempts("skip")) return noProblem;
  const begin = transitions.findLastIndex(({ status }, at) => at < end && levelOf(status) === "pass") + 1;
  const heldMs = (transitions[end + 1]?.checkedAt ?? 0) - (transitions[begin]?.checkedAt ?? 0);
  const runs = Math.max(1, Math.round(heldMs / intervalMs));
  return runs >= attempts(last.status) ? { hard: levelOf(last.status), attempt: Math.max(1, skips) } : noProblem;
}
