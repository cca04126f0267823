import type { FixResult, FixStepReport, HealthCheckResult } from "#contract/checks.ts";
import { scopesOf } from "#contract/effects.ts";
import { fixTimeoutMs } from "#contract/limits.ts";
import type { Plan } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { DomainError, invalid, missingScope } from "#domain/common/error.ts";
import { askingSteps, type Hooks, refusedBy } from "#domain/common/hooks.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Outcome } from "./check.ts";
import type { Fix, FixPlan, OnOperation } from "./fix.ts";
import { carryOutSteps, type During } from "./fix-steps.ts";
import type { CheckRunner } from "./runner.ts";

/** A fix that has ended. */
export interface FixRun {
  readonly operationId: string;
  readonly checkId: string;
  readonly result: FixResult;
  readonly durationMs: number;
}

/** What the scopes of a caller allow. */
export interface Rights {
  /** Without a resource: on all of them. */
  readonly allows: (granted: readonly string[], scope: Scope, resource?: string) => boolean;
  /** Whether they allow the scope on anything at all. */
  readonly allowsSome: (granted: readonly string[], scope: Scope) => boolean;
}

export interface Fixer {
  /**
   * Runs a check and carries out the fix for what it found, or says what it would do.
   * @throws DomainError: `NOT_FOUND` for an unknown check, `VALIDATION_ERROR` where there is no fix or a risky one is not
   * confirmed, `CONFLICT` while another fix of that kind runs, `FORBIDDEN` where a scope is missing that the fix takes, or a
   * hook holds it back.
   */
  readonly fix: (
    checkId: string,
    options: {
      /** The scopes of the caller: those that the fix takes have to be among them, also for a dry run. */
      readonly granted: readonly string[];
      readonly isDryRun: boolean;
      readonly isConfirmed: boolean;
      /** Told of operations that the fix begins. */
      readonly onOperation?: OnOperation;
    },
  ) => Promise<FixResult | Plan>;
  /** Tells steps that still run to end. */
  readonly dispose: Dispose;
}

/** From well to ill; what is skipped is not there to be ill. */
const illness = { pass: 0, skip: 0, warn: 1, fail: 2 } as const;

const outcomeOf = ({ status, message, details }: HealthCheckResult): Outcome => ({
  status,
  message,
  details: { ...details },
});

/** Who asked for what. */
interface Asked {
  readonly checkId: string;
  readonly granted: readonly string[];
}

const nothingPossible = "there is nothing that it could do";

/** Steps whose outcome is said in the message as well; of more than these the report has them all. */
const toldSteps = 3;

/** What steps came to, in their own words. */
function toldOf(steps: readonly FixStepReport[]): string {
  const told = steps.slice(0, toldSteps).map(({ message }) => message);
  return [...told, ...(steps.length > toldSteps ? [`and ${steps.length - toldSteps} more steps`] : [])].join("; ");
}

/** What is said of a fix that has run: it succeeds when its steps did what they should, whatever is still wrong. */
function verdict(
  fixId: string,
  steps: readonly FixStepReport[],
  before: HealthCheckResult,
  after: HealthCheckResult,
): { success: boolean; message: string } {
  const failed = steps.filter(({ status }) => status === "failed");
  const [first] = failed;
  if (first !== undefined) {
    const others = failed.length === 1 ? "" : ` (and ${failed.length - 1} more of its steps)`;
    return { success: false, message: `${fixId} could not ${first.action}: ${first.message}${others}` };
  }
  // A run that failed by itself has found nothing, neither that it is well nor that it is another matter.
  if ("error" in after.details)
    return {
      success: true,
      message: `${fixId} did all its steps (${toldOf(steps)}); whether it helped is not known: ${after.message}`,
    };
  const isBetter = illness[after.status] < illness[before.status];
  if (illness[after.status] === 0) return { success: true, message: `${fixId} is done: ${after.message}` };
  if (after.fix_id !== fixId)
    return { success: true, message: `${fixId} is done; what is left is another matter: ${after.message}` };
  const rest = isBetter ? "it is better, but not healthy" : "it is not enough";
  return { success: true, message: `${fixId} is done (${toldOf(steps)}); ${rest}: ${after.message}` };
}

/** Carries out the fixes of checks: one of a kind at a time, step by step, and the check again afterwards. */
export function createFixer(ports: {
  readonly fixes: readonly Fix[];
  readonly runner: Pick<CheckRunner, "find" | "rerun">;
  readonly rights: Rights;
  readonly hooks?: Pick<Hooks, "names" | "ask">;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly createId: () => string;
  /** Told of every fix that has ended. */
  readonly onFixed: (run: FixRun) => void;
}): Fixer {
  const { runner, rights, clock, createId, onFixed } = ports;
  const fixes = new Map(ports.fixes.map((fix) => [fix.id, fix]));
  const shutdown = new AbortController();
  /** Id of the operation that holds each kind. */
  const running = new Map<Fix["kind"], string>();

  const noFix = (checkId: string, why: string): DomainError =>
    invalid("check_id", why, `cannot fix ${checkId}: ${why}`);

  const stepsOf = (fix: Fix, plan: FixPlan, during: During): Promise<readonly FixStepReport[]> =>
    fix.carryOut === undefined ? carryOutSteps(fix, plan, during, clock) : fix.carryOut(plan, during.signal);

  const lacking = ({ id }: Fix, { checkId, granted }: Asked, required: string): DomainError => {
    const message = `cannot fix ${checkId}: this key lacks the scope ${required}, which the fix ${id} takes`;
    return missingScope(required, granted, message);
  };
  /** Why a caller may not use a fix at all: a scope that it has on nothing. `health:fix` is demanded before, for the check. */
  const refusalOf = (fix: Fix, asked: Asked): DomainError | undefined => {
    const others = scopesOf(fix.does).filter((scope) => scope !== "health:fix");
    const required = others.find((scope) => !rights.allowsSome(asked.granted, scope));
    return required && lacking(fix, asked, required);
  };

  /** @throws DomainError where the scopes of the caller do not cover all that the plan touches. */
  const authorizePlan = (fix: Fix, plan: FixPlan, asked: Asked): void => {
    if (plan.steps.length === 0 || !fix.does.includes("restart_units")) return;
    const { units = [] } = plan;
    // A plan that does not say which units it touches touches any.
    for (const unit of units.length === 0 ? [undefined] : units) {
      if (rights.allows(asked.granted, "services:restart", unit)) continue;
      throw lacking(fix, asked, unit === undefined ? "services:restart" : `services:restart:${unit}`);
    }
  };

  const carryOut = async (
    fix: Fix,
    before: HealthCheckResult,
    asked: Asked,
    onOperation: OnOperation,
  ): Promise<FixResult> => {
    const ended = new AbortController();
    const late = new AbortController();
    const timeoutMs = fix.timeoutMs ?? fixTimeoutMs;
    void clock.sleep(timeoutMs, AbortSignal.any([ended.signal, shutdown.signal])).then(() => {
      if (!ended.signal.aborted) late.abort(new Error(`not done within ${Math.round(timeoutMs / 1000)} s`));
    });
    const signal = AbortSignal.any([late.signal, shutdown.signal]);
    const { id: fixId, risk } = fix;
    const nothingDone = (why: string): FixResult => {
      const message = `${fixId} did nothing: ${why}`;
      return { success: false, fix_id: fixId, message, steps: [], check: before, risk };
    };
    try {
      const plan = await fix.plan(outcomeOf(before), signal);
      if (plan.steps.length === 0) return nothingDone(plan.reason ?? nothingPossible);
      authorizePlan(fix, plan, asked);
      await requireConsent(fix, before);
      const reports = await stepsOf(fix, plan, { signal, onOperation });
      const after = (await runner.rerun(before.check_id)) ?? before;
      // What a run says that the end of the service cut short is not so.
      const rest = { fix_id: fixId, steps: [...reports], check: shutdown.signal.aborted ? before : after, risk };
      if (shutdown.signal.aborted && !reports.some(({ status }) => status === "failed")) {
        const message = `${fixId} did all its steps; whether it helped is not known: ${errorMessage(shutdown.signal.reason)}`;
        return { ...rest, success: false, message };
      }
      const { success, message } = verdict(fixId, reports, before, after);
      return { ...rest, success, message: [message, ...(plan.reason === undefined ? [] : [plan.reason])].join("; ") };
    } catch (error) {
      if (error instanceof DomainError && error.code === "FORBIDDEN") throw error;
      // The steps report their own failures: what comes here is a plan that could not be made.
      return nothingDone(errorMessage(error));
    } finally {
      ended.abort();
    }
  };

  /** A plan that cannot be made is one without steps here too, as when it is carried out. */
  const planOrNone = (fix: Fix, found: HealthCheckResult): Promise<FixPlan> =>
    fix.plan(outcomeOf(found), shutdown.signal).catch((error: unknown) => ({ steps: [], reason: errorMessage(error) }));

  const askedFirst = ({ steps }: FixPlan): readonly string[] =>
    ports.hooks === undefined || steps.length === 0 ? [] : askingSteps(ports.hooks, "pre_fix");

  const requireConsent = async (fix: Fix, check: HealthCheckResult): Promise<void> => {
    const subject = { check_id: check.check_id, fix_id: fix.id, risk: fix.risk, check };
    const veto = await ports.hooks?.ask("pre_fix", subject);
    if (veto !== undefined) throw refusedBy(veto, `fix ${check.check_id}`);
  };

  const planOf = async (fix: Fix, found: HealthCheckResult, asked: Asked): Promise<Plan> => {
    const plan = await planOrNone(fix, found);
    authorizePlan(fix, plan, asked);
    const reason = plan.reason ?? (plan.steps.length > 0 ? undefined : nothingPossible);
    return {
      dry_run: true,
      steps: [...askedFirst(plan), ...plan.steps.map(({ action }) => action)],
      units: [...(plan.units ?? [])],
      packages: [...(plan.packages ?? [])],
      bytes: plan.downloadBytes ?? 0,
      requires_reboot: plan.requiresReboot ?? false,
      ...(plan.freesBytes !== undefined && { frees_bytes: plan.freesBytes }),
      fix_id: fix.id,
      risk: fix.risk,
      ...(reason !== undefined && { reason }),
    };
  };

  const nothingToDo = (fix: Fix, check: HealthCheckResult, isDryRun: boolean): FixResult | Plan => {
    const message = `nothing to fix: ${check.message}`;
    if (isDryRun) {
      const none = { steps: [], units: [], packages: [], bytes: 0, requires_reboot: false };
      return { dry_run: true, ...none, fix_id: fix.id, risk: fix.risk, reason: message };
    }
    return { success: true, fix_id: fix.id, message, steps: [], check, risk: fix.risk };
  };

  return {
    async fix(checkId, { granted, isDryRun, isConfirmed, onOperation = () => undefined }) {
      const asked = { checkId, granted };
      const check = runner.find(checkId);
      const possible = (check?.fixes ?? []).flatMap((id) => fixes.get(id) ?? []);
      // Nothing is run, not even the check, for a caller who has the scopes of none of them.
      const refusals = possible.flatMap((fix) => refusalOf(fix, asked) ?? []);
      if (refusals[0] !== undefined && refusals.length === possible.length) throw refusals[0];
      // A run that is under way may have looked before what is to be mended was so.
      const run = check && runner.rerun(checkId);
      if (check === undefined || run === undefined) {
        const message = `cannot fix ${checkId}: there is no such check, or it is switched off`;
        throw new DomainError("NOT_FOUND", message, { check_id: checkId });
      }
      const [usual] = check.fixes ?? [];
      if (usual === undefined) throw noFix(checkId, "there is no fix for this check");
      const found = await run;
      const isIll = illness[found.status] > 0;
      const fix = fixes.get(found.fix_id ?? (isIll ? "" : usual));
      if (fix === undefined) throw noFix(checkId, `there is no fix for what was found: ${found.message}`);
      const refusal = refusalOf(fix, asked);
      if (refusal !== undefined) throw refusal;
      if (!isIll) return nothingToDo(fix, found, isDryRun);
      if (isDryRun) return planOf(fix, found, asked);
      if (fix.risk === "risky" && !isConfirmed)
        throw invalid("confirm", "Must be true", `cannot fix ${checkId}: ${fix.id} is risky and needs to be confirmed`);
      const holder = running.get(fix.kind);
      if (holder !== undefined) {
        const message = `cannot fix ${checkId}: another fix that touches ${fix.kind} is running (try again when it is done)`;
        throw new DomainError("CONFLICT", message, { operation_id: holder, retryable: true });
      }
      const operationId = createId();
      running.set(fix.kind, operationId);
      try {
        const startedAtMs = clock.monotonicMs();
        const result = await carryOut(fix, found, asked, onOperation);
        onFixed({ operationId, checkId, result, durationMs: clock.monotonicMs() - startedAtMs });
        return result;
      } finally {
        running.delete(fix.kind);
      }
    },
    dispose: () => shutdown.abort(new Error("the service is stopping")),
  };
}
