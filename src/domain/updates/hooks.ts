import type { Handlers, Plan } from "#contract/operation.ts";
import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import type { updates } from "#contract/updates.ts";
import type { HookSubject, Hooks, PostEvent, PreEvent } from "#domain/common/hooks.ts";
import { askingSteps, refusedBy } from "#domain/common/hooks.ts";
import { isChange } from "#domain/ports/packages.ts";
import type { TransactionInput } from "./apply-steps.ts";
import type { UpdateKind, UpdateWork } from "./verbs.ts";

interface Watched<K extends UpdateKind> {
  readonly pre: PreEvent;
  readonly post: PostEvent;
  /** Completes `cannot …`. */
  readonly what: string;
  readonly subject: (input: UpdateWork[K]["input"]) => HookSubject;
}

const updateSubject = ({
  request,
  takesSnapshot,
  requiresFull = false,
  isGuarded,
  restartsStale = false,
}: TransactionInput): HookSubject => ({
  type: isChange(request) ? request.change : request.type,
  security_only: isChange(request) ? false : request.isSecurityOnly,
  packages: request.names ?? null,
  create_snapshot: requiresFull ? "required" : takesSnapshot,
  guard: isGuarded,
  restart_stale: restartsStale,
});

/** Operations with hooks. Snapshots change nothing that is in use. */
const watched: { readonly [K in UpdateKind]?: Watched<K> } = {
  "updates.apply": {
    pre: "pre_update",
    post: "post_update",
    what: "update",
    subject: updateSubject,
  },
  "packages.change": { pre: "pre_update", post: "post_update", what: "change packages", subject: updateSubject },
  "updates.rollback": {
    pre: "pre_rollback",
    post: "post_rollback",
    what: "roll back",
    subject: ({ snapshotId, etc = "touched", allowDowngrade = [], partial = false }) => ({
      snapshot_id: snapshotId,
      etc,
      allow_downgrade: allowDowngrade,
      partial,
    }),
  },
};

/** Asks the hooks before an operation is recorded. @throws DomainError `FORBIDDEN` where one refuses. */
export async function requireConsent<K extends UpdateKind>(
  hooks: Pick<Hooks, "ask">,
  kind: K,
  input: UpdateWork[K]["input"],
  keyId: string | null,
): Promise<void> {
  const row = watched[kind];
  if (row === undefined) return;
  const veto = await hooks.ask(row.pre, { key_id: keyId, ...row.subject(input) });
  if (veto !== undefined) throw refusedBy(veto, row.what);
}

interface OperationRecord {
  readonly spec: { readonly id: string; readonly kind: string; readonly input: unknown; readonly keyId: string | null };
  readonly state:
    | { readonly status: OperationStatus; readonly result: unknown; readonly error: OperationError | null }
    | undefined;
}

export async function notifyEnd(hooks: Pick<Hooks, "notify">, { spec, state }: OperationRecord): Promise<void> {
  if (state?.status !== "done" && state?.status !== "failed") return;
  const notify = async <K extends UpdateKind>(kind: K): Promise<void> => {
    const row = watched[kind];
    if (row === undefined) return;
    await hooks.notify(row.post, {
      operation_id: spec.id,
      key_id: spec.keyId,
      // The input was checked before it was recorded.
      ...row.subject(spec.input as UpdateWork[K]["input"]),
      status: state.status,
      result: state.result,
      error: state.error,
    });
  };
  if (Object.hasOwn(watched, spec.kind)) await notify(spec.kind as UpdateKind);
}

/** The dry run of a mutation, with the hooks that would be asked before it. */
export const withAsking =
  (hooks: Pick<Hooks, "names">, event: PreEvent) =>
  <T>(answer: T | Plan): T | Plan => {
    const isPlan = typeof answer === "object" && answer !== null && "dry_run" in answer && answer.steps.length > 0;
    return isPlan ? { ...answer, steps: [...askingSteps(hooks, event), ...answer.steps] } : answer;
  };

export function withAskingSteps(
  handlers: Handlers<typeof updates>,
  hooks: Pick<Hooks, "names">,
): Handlers<typeof updates> {
  return {
    ...handlers,
    applyUpdates: async (input, context) =>
      withAsking(hooks, "pre_update")(await handlers.applyUpdates(input, context)),
    rollback: async (input, context) => withAsking(hooks, "pre_rollback")(await handlers.rollback(input, context)),
  };
}
