import type { Goal, Measure, Pair, RatioKind, Summary } from "./harness.ts";
import { alternate, meets, summarise } from "./harness.ts";

/** What a figure is counted in. */
export type Unit = "req/s" | "frames/s" | "ms" | "KiB" | "MiB" | "%" | "% of a core" | "times";

/** One line of the table that was measured. */
export interface MeasuredLine {
  readonly work: string;
  readonly peer: string;
  readonly unit: Unit;
  /** What the goal speaks of: the ratio of both sides, or our figure alone. */
  readonly judged: RatioKind | "ours";
  readonly summary: Summary;
  readonly goal: Goal | undefined;
  readonly isMet: boolean | undefined;
  /** What a reader needs to know to believe the figure. */
  readonly notes: readonly string[];
}

/** One line that cannot be measured on this machine. */
export interface SkippedLine {
  readonly work: string;
  readonly peer: string;
  readonly skipped: string;
}

export type Line = MeasuredLine | SkippedLine;

/** What every row is given. */
export interface RowOptions {
  readonly rounds: number;
  /** Called with what happens, for a person who waits. */
  readonly say: (text: string) => void;
}

/** A kind of work with its peer; gives one line or several. */
export interface Row {
  readonly name: string;
  readonly summary: string;
  /** Whether it takes so long that it runs only where it is named. */
  readonly isOnlyNamed?: true;
  readonly measure: (options: RowOptions) => Promise<readonly Line[]>;
}

/** What stands in a line besides its figures. */
export interface Subject {
  readonly work: string;
  readonly peer: string;
  readonly unit: Unit;
  readonly judged: MeasuredLine["judged"];
  readonly goal?: Goal;
}

/** The line that these figures make. */
export function toLine(subject: Subject, summary: Summary, notes: readonly string[] = []): MeasuredLine {
  const { goal, judged } = subject;
  const figure = judged === "ours" ? summary.ours : summary.ratio;
  return { ...subject, goal, summary, isMet: goal && meets(goal, figure), notes };
}

/** Measures both sides in turn and gives the line. `notes` is asked when all rounds are over. */
export async function compare(
  subject: Subject,
  sides: { ours: Measure; peer: Measure; notes?: () => readonly string[] },
  options: RowOptions,
): Promise<MeasuredLine> {
  const { ours, peer, notes } = sides;
  const [line] = await compareAll(
    [subject],
    { ours: async () => [await ours()], peer: async () => [await peer()], notes },
    options,
  );
  if (line === undefined) throw new Error(`cannot measure ${subject.work}: there is no line`);
  return line;
}

/**
 * Measures both sides in turn where one measurement gives several figures: one for each subject, in their order.
 * `notes` stand with the first line.
 */
export async function compareAll(
  subjects: readonly Subject[],
  sides: {
    ours: Measure<readonly number[]>;
    peer: Measure<readonly number[]>;
    notes?: (() => readonly string[] | Promise<readonly string[]>) | undefined;
  },
  { rounds, say }: RowOptions,
): Promise<readonly MeasuredLine[]> {
  const { ours, peer, notes } = sides;
  const figure = (values: readonly number[], at: number): number => {
    const value = values[at];
    if (value === undefined) throw new Error(`cannot measure ${subjects[at]?.work}: there is no figure`);
    return value;
  };
  const pairOf = (pair: Pair<readonly number[]>, at: number): Pair => ({
    ours: figure(pair.ours, at),
    peer: figure(pair.peer, at),
  });
  const pairs = await alternate({
    rounds,
    ours,
    peer,
    onRound: (round, number) => {
      for (const [at, { work, unit }] of subjects.entries()) {
        const pair = pairOf(round, at);
        const [a, b] = [pair.ours, pair.peer].map((value) => value.toFixed(value < 100 ? 2 : 0));
        say(`${work}: round ${number} of ${rounds}: ours ${a}, peer ${b} ${unit}`);
      }
    },
  });
  const noted = await notes?.();
  return subjects.map((subject, at) => {
    const kind = subject.judged === "peer/ours" ? "peer/ours" : "ours/peer";
    const summary = summarise(
      pairs.map((pair) => pairOf(pair, at)),
      kind,
    );
    return toLine(subject, summary, at === 0 ? noted : undefined);
  });
}
