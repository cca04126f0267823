import { type FixResult, type HealthCheckResult, isUnhealthy } from "#contract/checks.ts";
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
import { nothingPossible, nothingToDo, planOf, verdict } from "./fix-result.ts";
import { carryOutSteps } from "./fix-steps.ts";
import type { CheckRunner } from "./runner.ts";

export interface FixRun {
  readonly operationId: string;
  readonly checkId: string;
  readonly result: FixResult;
  readonly durationMs: number;
}

export interface Rights {
  /** Whether they allow the scope on a resource, or on all. */
  readonly allows: (granted: readonly string[], scope: Scope, resource?: string) => boolean;
  /** Whether they allow the scope on any resource. */
  readonly allowsSome: (granted: readonly string[], scope: Scope) => boolean;
}

export interface Fixer {
  /**
   * Runs a check and its fix, or plans it.
   * @throws DomainError: `NOT_FOUND` for an unknown check, `VALIDATION_ERROR` where there is no fix or a risky one is not
   * confirmed, `CONFLICT` while another fix of its kind runs, `FORBIDDEN` where a scope is missing or a hook refuses.
   */
  readonly fix: (
    checkId: string,
    options: {
      /** The scopes of the caller, which are checked also for a dry run. */
      readonly granted: readonly string[];
      readonly isDryRun: boolean;
      readonly isConfirmed: boolean;
      readonly onOperation?: OnOperation;
    },
  ) => Promise<FixResult | Plan>;
  readonly dispose: Dispose;
}

const outcomeOf = ({ status, message, details }: HealthCheckResult): Outcome => ({
  status,
  message,
  details: { ...details },
});

interface Asked {
  readonly checkId: string;
  readonly granted: readonly string[];
}

export interface FixerPorts {
  readonly fixes: readonly Fix[];
  readonly runner: Pick<CheckRunner, "find" | "rerun">;
  readonly rights: Rights;
  readonly hooks?: Pick<Hooks, "names" | "ask">;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly createId: () => string;
  readonly onFixed: (run: FixRun) => void;
}

interface State extends FixerPorts {
  readonly shutdown: AbortController;
  /** The operation that holds each kind. */
  readonly running: Map<Fix["kind"], string>;
}

const noFix = (checkId: string, why: string): DomainError => invalid("check_id", why, `cannot fix ${checkId}: ${why}`);

function lacking({ id }: Fix, { checkId, granted }: Asked, required: string): DomainError {
  const message = `cannot fix ${checkId}: this key lacks the scope ${required}, which the fix ${id} takes`;
  return missingScope(required, granted, message);
}

/** An error where the caller has a scope of the fix on no resource. `health:fix` was checked before. */
function refusalOf({ rights }: State, fix: Fix, asked: Asked): DomainError | undefined {
  const others = scopesOf(fix.does).filter((scope) => scope !== "health:fix");
  const required = others.find((scope) => !rights.allowsSome(asked.granted, scope));
  return required && lacking(fix, asked, required);
}

/** @throws DomainError where the caller's scopes do not cover all units of the plan. */
function authorizePlan({ rights }: State, fix: Fix, plan: FixPlan, asked: Asked): void {
  if (plan.steps.length === 0 || !fix.does.includes("restart_units")) return;
  const { units = [] } = plan;
  // A plan without units may touch any.
  for (const unit of units.length === 0 ? [undefined] : units) {
    if (rights.allows(asked.granted, "services:restart", unit)) continue;
    throw lacking(fix, asked, unit === undefined ? "services:restart" : `services:restart:${unit}`);
  }
}

async function requireConsent({ hooks }: State, fix: Fix, check: HealthCheckResult): Promise<void> {
  const subject = { check_id: check.check_id, fix_id: fix.id, risk: fix.risk, check };
  const veto = await hooks?.ask("pre_fix", subject);
  if (veto !== undefined) throw refusedBy(veto, `fix ${check.check_id}`);
}

async function carryOut(
  state: State,
  fix: Fix,
  before: HealthCheckResult,
  asked: Asked,
  onOperation: OnOperation,
): Promise<FixResult> {
  const { clock, runner, shutdown } = state;
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
    authorizePlan(state, fix, plan, asked);
    await requireConsent(state, fix, before);
    const reports = await (fix.carryOut === undefined
      ? carryOutSteps(fix, plan, { signal, onOperation }, clock)
      : fix.carryOut(plan, signal));
    const after = (await runner.rerun(before.check_id)) ?? before;
    // A check that was cut short by the end of the service is wrong.
    const rest = { fix_id: fixId, steps: [...reports], check: shutdown.signal.aborted ? before : after, risk };
    if (shutdown.signal.aborted && !reports.some(({ status }) => status === "failed")) {
      const message = `${fixId} did all its steps; whether it helped is not known: ${errorMessage(shutdown.signal.reason)}`;
      return { ...rest, success: false, message };
    }
    const { success, message } = verdict(fixId, reports, before, after);
    return { ...rest, success, message: [message, ...(plan.reason === undefined ? [] : [plan.reason])].join("; ") };
  } catch (error) {
    if (error instanceof DomainError && error.code === "FORBIDDEN") throw error;
    // Steps report their own failures; this is a plan that could not be made.
    return nothingDone(errorMessage(error));
  } finally {
    ended.abort();
  }
}

async function dryRun(state: State, fix: Fix, found: HealthCheckResult, asked: Asked): Promise<Plan> {
  const { hooks, shutdown } = state;
  // A failure to plan is a plan without steps, as when the fix is run.
  const plan = await fix
    .plan(outcomeOf(found), shutdown.signal)
    .catch((error: unknown): FixPlan => ({ steps: [], reason: errorMessage(error) }));
  authorizePlan(state, fix, plan, asked);
  return planOf(fix, plan, hooks === undefined || plan.steps.length === 0 ? [] : askingSteps(hooks, "pre_fix"));
}

async function alone<T>(
  { running }: State,
  { kind }: Fix,
  checkId: string,
  operationId: string,
  work: () => Promise<T>,
) {
  const holder = running.get(kind);
  if (holder !== undefined) {
    const message = `cannot fix ${checkId}: another fix that touches ${kind} is running (try again when it is done)`;
    throw new DomainError("CONFLICT", message, { operation_id: holder, retryable: true });
  }
  running.set(kind, operationId);
  try {
    return await work();
  } finally {
    running.delete(kind);
  }
}

/** Runs the check and chooses the fix for what it finds. */
async function findFix(state: State, asked: Asked) {
  const { runner, fixes } = state;
  const { checkId } = asked;
  const check = runner.find(checkId);
  const fixOf = (fixId: string): Fix | undefined => fixes.find(({ id }) => id === fixId);
  const possible = (check?.fixes ?? []).flatMap((id) => fixOf(id) ?? []);
  // Without the scopes of any fix, not even the check is run.
  const refusals = possible.flatMap((fix) => refusalOf(state, fix, asked) ?? []);
  if (refusals[0] !== undefined && refusals.length === possible.length) throw refusals[0];
  // A run in progress may have started before the problem.
  const run = check && runner.rerun(checkId);
  if (check === undefined || run === undefined) {
    const message = `cannot fix ${checkId}: there is no such check, or it is switched off`;
    throw new DomainError("NOT_FOUND", message, { check_id: checkId });
  }
  const [usual] = check.fixes ?? [];
  if (usual === undefined) throw noFix(checkId, "there is no fix for this check");
  const found = await run;
  const fix = fixOf(found.fix_id ?? (isUnhealthy(found) ? "" : usual));
  if (fix === undefined) throw noFix(checkId, `there is no fix for what was found: ${found.message}`);
  const refusal = refusalOf(state, fix, asked);
  if (refusal !== undefined) throw refusal;
  return { found, fix };
}

/** Runs the fixes of checks, one of a kind at a time, and the check again afterwards. */
export function createFixer(ports: FixerPorts): Fixer {
  const { clock, createId, onFixed } = ports;
  const shutdown = new AbortController();
  const state: State = { ...ports, shutdown, running: new Map() };

  return {
    async fix(checkId, { granted, isDryRun, isConfirmed, onOperation = () => undefined }) {
      const asked = { checkId, granted };
      const { found, fix } = await findFix(state, asked);
      if (!isUnhealthy(found)) return nothingToDo(fix, found, isDryRun);
      if (isDryRun) return dryRun(state, fix, found, asked);
      if (fix.risk === "risky" && !isConfirmed)
        throw invalid("confirm", "Must be true", `cannot fix ${checkId}: ${fix.id} is risky and needs to be confirmed`);
      const operationId = createId();
      return alone(state, fix, checkId, operationId, async () => {
        const startedAtMs = clock.monotonicMs();
        const result = await carryOut(state, fix, found, asked, onOperation);
        onFixed({ operationId, checkId, result, durationMs: clock.monotonicMs() - startedAtMs });
        return result;
      });
    },
    dispose: () => shutdown.abort(new Error("the service is stopping")),
  };
}
