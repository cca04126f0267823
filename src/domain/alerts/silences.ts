import { longestSilenceMs } from "#contract/alerts.ts";
import type { AlertStore, Silenced, StoredSilence } from "#domain/ports/alerts.ts";
import type { Clock } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";

export const maxSilences = 100;
/** A clock may be set back by this much without ending the longest silence. */
const clockStepMs = 24 * 60 * 60 * 1000;

export type Silences = ReturnType<typeof createSilences>;

export function createSilences(ports: {
  readonly store: Pick<AlertStore, "silences" | "saveSilence" | "forgetSilence">;
  readonly clock: Pick<Clock, "now">;
  readonly createId: () => string;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { store, clock, createId, onTrouble } = ports;

  let kept: readonly StoredSilence[] = orReport(() => store.silences(), onTrouble) ?? [];

  /** One made while the clock was far ahead would never end, so an end that could not be given now counts as over. */
  const isOver = ({ until }: StoredSilence, now: number): boolean =>
    until <= now || until - now > longestSilenceMs + clockStepMs;

  const current = (): readonly StoredSilence[] => {
    const now = clock.now();
    const ended = kept.filter((silence) => isOver(silence, now));
    if (ended.length === 0) return kept;
    kept = kept.filter((silence) => !isOver(silence, now));
    orReport(() => {
      for (const { id } of ended) store.forgetSilence(id);
    }, onTrouble);
    return kept;
  };

  return {
    list: current,
    isSilenced: ({ alert, check }: Silenced): boolean =>
      current().some((silence) => silence.alert === alert && silence.check === check),
    add: (wanted: Omit<StoredSilence, "id" | "createdAt">): StoredSilence => {
      const silence = { ...wanted, id: createId(), createdAt: clock.now() };
      store.saveSilence(silence);
      kept = [...current(), silence];
      return silence;
    },
    remove: (id: string): void => {
      store.forgetSilence(id);
      kept = kept.filter((silence) => silence.id !== id);
    },
  };
}
