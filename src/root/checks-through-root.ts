import type { Check, CheckSettings, Outcome, PreviousGrades } from "#domain/health/check.ts";
import { FileSystemsUnseen } from "#domain/ports/storage.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { RequestRoot } from "./request.ts";
import { fileSystemCheckIds, rootCheckIds, separateRootCheckIds } from "./tasks.ts";

/** What decides near a threshold: a check that passed, with nothing held, needs nothing said. */
const isHolding = ({ status, objects }: PreviousGrades): boolean =>
  objects === undefined ? status === "warn" || status === "fail" : Object.keys(objects).length > 0;

function outcomeIn(outcomes: Readonly<Record<string, Outcome>>, id: string): Outcome {
  const outcome = outcomes[id];
  if (outcome === undefined) throw new Error("root's side does not have this check, or has it switched off");
  return outcome;
}

/** Checks that need root run together where they are asked for together: who asks later gets a later look. */
export function checksThroughRoot(
  checks: readonly Check[],
  request: RequestRoot,
  clock: Pick<Clock, "monotonicMs">,
  /** Monitoring plugins that root's settings give to root. */
  pluginIds: readonly string[] = [],
): readonly Check[] {
  const isSeparate = (id: string): boolean => separateRootCheckIds.some((each) => each === id);
  const isPlugin = (id: string): boolean => pluginIds.includes(id);
  const ids = rootCheckIds.filter((id) => !isSeparate(id) && checks.some((check) => check.id === id));
  type Round = Promise<Readonly<Record<string, Outcome>>>;
  let latest: { readonly atMs: number; readonly round: Round; readonly left: Set<string> } | undefined;
  /** What each check said last, for rounds that another one begins. */
  const known = new Map<string, PreviousGrades | undefined>();
  /** Checks of file systems that the service could look at the last time. */
  const seenHere = new Set<string>();
  const ask = async (asked: readonly (typeof rootCheckIds)[number][], signal: AbortSignal) => {
    const held = asked.flatMap((id) => {
      const previous = known.get(id);
      return previous !== undefined && isHolding(previous) ? [[id, previous] as const] : [];
    });
    const { outcomes } = await request(
      "checks.run",
      { check_ids: [...asked], ...(held.length > 0 && { previous: Object.fromEntries(held) }) },
      signal,
    );
    for (const id of asked) {
      const { status, graded = status === "pass" ? {} : known.get(id)?.objects } = outcomes[id] ?? {};
      if (status !== undefined && known.has(id)) known.set(id, { status, ...defined({ objects: graded }) });
    }
    return outcomes;
  };
  const outcomeOf = async (
    id: string,
    { previous }: CheckSettings,
    askedAtMs = clock.monotonicMs(),
  ): Promise<Outcome> => {
    // After a start only the check itself knows what it said before: the round of another was asked for without it.
    if (!known.has(id) && previous !== undefined && isHolding(previous)) latest?.left.delete(id);
    known.set(id, previous);
    if (latest === undefined || latest.atMs < askedAtMs || !latest.left.delete(id)) {
      // Of more checks than the one that begins it, so that no signal of one of them ends it.
      const { signal } = new AbortController();
      const asked = ids.filter((each) => !seenHere.has(each));
      const round = ask(asked, signal);
      latest = { atMs: clock.monotonicMs(), round, left: new Set(asked.filter((each) => each !== id)) };
    }
    return outcomeIn(await latest.round, id);
  };

  /** Undefined where the service cannot look at every file system of the host: only then root is asked. */
  const outcomeHere = async (check: Check, settings: CheckSettings, signal: AbortSignal) => {
    if (!fileSystemCheckIds.some((id) => id === check.id)) return undefined;
    try {
      const outcome = await check.run(settings, signal);
      seenHere.add(check.id);
      return outcome;
    } catch (error) {
      if (!(error instanceof FileSystemsUnseen)) throw error;
      seenHere.delete(check.id);
      return undefined;
    }
  };

  return checks.map((check): Check => {
    if (ids.some((id) => id === check.id))
      return {
        ...check,
        group: "root",
        run: async (settings, signal, askedAtMs) =>
          (await outcomeHere(check, settings, signal)) ?? outcomeOf(check.id, settings, askedAtMs),
      };
    const separate = separateRootCheckIds.find((id) => id === check.id && !isPlugin(id));
    if (separate !== undefined)
      return {
        ...check,
        async run({ previous }, signal) {
          known.set(separate, previous);
          return outcomeIn(await ask([separate], signal), separate);
        },
      };
    if (!isPlugin(check.id)) return check;
    // By itself: nobody else is to wait for it.
    const run = async (signal: AbortSignal): Promise<Outcome> =>
      (await request("monitoring.run", { check_id: check.id }, signal)).outcome;
    return { ...check, run: (_, signal) => run(signal) };
  });
}
