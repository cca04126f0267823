import type { Ring } from "#domain/ports/host-samples.ts";
import { createRing } from "./ring.ts";

const fineStepMs = 10_000;
const fineLength = 360;
const coarseStepMs = 300_000;
const coarseLength = 288;
const fineInCoarse = coarseStepMs / fineStepMs;
/** A client has asked for the last hour a while before it is answered. */
const toleranceMs = 60_000;

interface Window {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly points: number;
}

/** NaN for none. */
interface Column<Name> {
  readonly name: Name;
  readonly values: readonly number[];
  /** Undefined where each step is a single sample. */
  readonly max: readonly number[] | undefined;
}

export interface Series<Name extends string> {
  readonly record: (epochMs: number, values: Readonly<Partial<Record<Name, number | undefined>>>) => void;
  /** At most `points` steps, those that begin in the window; the slot of now is in them once it has a sample. */
  readonly read: (
    names: readonly Name[],
    window: Window,
  ) => {
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly stepMs: number;
    readonly columns: readonly Column<Name>[];
  };
  readonly kept: () => readonly Ring[];
}

/**
 * Samples of several figures: of the last hour as they are, and of the last day by five minutes, as the mean and the maximum of the samples.
 */
export function createSeries<Name extends string>(names: readonly Name[], kept: readonly Ring[] = []): Series<Name> {
  const count = names.length;
  const fine = createRing({ stepMs: fineStepMs, length: fineLength, rows: count }, kept[0]);
  // Below the means are the maxima.
  const coarse = createRing({ stepMs: coarseStepMs, length: coarseLength, rows: 2 * count }, kept[1]);

  return {
    record(epochMs, values) {
      const slot = fine.slotAt(epochMs);
      const long = coarse.slotAt(epochMs);
      fine.moveTo(slot);
      coarse.moveTo(long);
      for (const [row, name] of names.entries()) {
        fine.set(row, values[name]);
        const { mean, max } = fine.over(row, long * fineInCoarse, slot);
        coarse.set(row, mean);
        coarse.set(row + count, max);
      }
    },
    read(wanted, { sinceMs, nowMs, points }) {
      const isFine = sinceMs >= nowMs - fineLength * fineStepMs - toleranceMs;
      const ring = isFine ? fine : coarse;
      const now = ring.slotAt(nowMs);
      const last = ring.newest() >= now ? now : now - 1;
      const first = Math.max(Math.ceil(sinceMs / ring.stepMs), last - ring.length + 1);
      const each = Math.max(1, Math.ceil((last - first + 1) / points));
      const begin = Math.ceil(first / each);
      const steps = Math.max(0, Math.floor(last / each) - begin + 1);
      const columns = wanted.map((name): Column<Name> => {
        const row = names.indexOf(name);
        const maxRow = isFine ? row : row + count;
        const found = Array.from({ length: steps }, (_, at) =>
          ring.over(row, (begin + at) * each, Math.min(last, (begin + at + 1) * each - 1), maxRow),
        );
        return {
          name,
          values: found.map(({ mean }) => mean),
          max: isFine && each === 1 ? undefined : found.map(({ max }) => max),
        };
      });
      const stepMs = each * ring.stepMs;
      return { sinceMs: begin * stepMs, untilMs: (begin + steps) * stepMs, stepMs, columns };
    },
    kept: () => [fine.kept(), coarse.kept()],
  };
}

/** How long to wait from a time to the middle of the next slot, where no small delay leads into another one. */
export const untilNextSampleMs = (epochMs: number): number =>
  (Math.floor(epochMs / fineStepMs) + 1.5) * fineStepMs - epochMs;
