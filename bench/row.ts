import type { Goal, Measure, RatioKind, Summary } from "./harness.ts";
import { alternate, meets, summarise } from "./harness.ts";

/** What a figure is counted in. */
export type Unit = "req/s" | "ms" | "MiB" | "% of a core" | "times";

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

/** What every row is told. */
export interface RowOptions {
  readonly rounds: number;
  /** Told what happens, for a person who waits. */
  readonly say: (text: string) => void;
}

/** A kind of work with its peer; gives one line or several. */
export interface Row {
  readonly name: string;
  readonly summary: string;
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
  { rounds, say }: RowOptions,
): Promise<MeasuredLine> {
  const { ours, peer, notes } = sides;
  const pairs = await alternate({
    rounds,
    ours,
    peer,
    onRound: (pair, round) => {
      const [a, b] = [pair.ours, pair.peer].map((value) => value.toFixed(value < 100 ? 2 : 0));
      say(`${subject.work}: round ${round} of ${rounds}: ours ${a}, peer ${b} ${subject.unit}`);
    },
  });
  const kind = subject.judged === "peer/ours" ? "peer/ours" : "ours/peer";
  return toLine(subject, summarise(pairs, kind), notes?.());
}
