import type { Verb } from "#domain/operations/task.ts";
import type { UpdateKind, UpdateVerbs } from "#domain/updates/verbs.ts";
import { updateKinds } from "#domain/updates/verbs.ts";

/** As the runner of operations takes them: it knows no kind, and so no type of their inputs. */
export function asVerbs(verbs: UpdateVerbs): Readonly<Record<string, Verb>> {
  const asVerb =
    <K extends UpdateKind>(kind: K): Verb =>
    (input, { id, progress, phase, savePhase, signal }) =>
      // What was written down under this kind was checked when it was asked for.
      verbs[kind](input as Parameters<UpdateVerbs[K]>[0], {
        id,
        progress,
        phase: (phase ?? undefined) as Parameters<UpdateVerbs[K]>[1]["phase"],
        savePhase,
        signal,
      });
  return Object.fromEntries((Object.keys(updateKinds) as UpdateKind[]).map((kind) => [kind, asVerb(kind)]));
}
