import type { Work } from "./rollback.ts";
import { type UpdateKind, type UpdateVerbs, updateKinds } from "./verbs.ts";

type TaskVerb = (input: unknown, work: Work<unknown>) => Promise<unknown>;

/** The verbs for the runner of operations, which does not know the types of their inputs. */
export function asVerbs(verbs: UpdateVerbs): Readonly<Record<string, TaskVerb>> {
  const asVerb =
    <K extends UpdateKind>(kind: K): TaskVerb =>
    (input, { phase, ...work }) =>
      // The input was checked before it was recorded.
      verbs[kind](input as Parameters<UpdateVerbs[K]>[0], {
        ...work,
        phase: (phase ?? undefined) as Parameters<UpdateVerbs[K]>[1]["phase"],
      });
  return Object.fromEntries((Object.keys(updateKinds) as UpdateKind[]).map((kind) => [kind, asVerb(kind)]));
}
