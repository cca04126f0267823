import { type FixResult, type FixStepReport, type HealthCheckResult, isUnhealthy } from "#contract/checks.ts";
import { fixTimeoutMs } from "#contract/limits.ts";
import type { Caller, Plan } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { DomainError, invalid, type ScopeLack } from "#domain/common/error.ts";
import { askingSteps, type Hooks, refusedBy } from "#domain/common/hooks.ts";
import { requireAsPlanned } from "#domain/common/plan.ts";
import { createTimeLimit } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import type { Check } from "./check.ts";
import type { Fix, FixFound, OnOperation, OpenFix, ToldPlan } from "./fix.ts";
import { agreedOf, carryOutSteps, nothingPossible, nothingToDo, planOf, verdict } from "./fix-result.ts";
import type { CheckRunner } from "./runner.ts";

export interface Rights {
  readonly allows: (granted: readonly string[], scope: Scope, resource?: string) => boolean;
  readonly allowsSome: (granted: readonly string[], scope: Scope) => boolean;
  readonly lackOf: ScopeLack;
}

export type Fixer = ReturnType<typeof createFixer>;

type CheckWindows = (scope: Scope, resource?: string) => void;

interface FixOptions {
  /** Whose scopes are checked also for a dry run. */
  readonly caller: Caller | undefined;
  /** @throws DomainError where a window holds a scope back. */
  readonly checkWindows: CheckWindows;
  readonly isDryRun: boolean;
  readonly isConfirmed: boolean;
  /** What the caller has agreed to. */
  readonly planned?: readonly string[];
  readonly onOperation?: OnOperation;
}

interface Asked {
  readonly checkId: string;
  readonly caller: Caller | undefined;
  readonly planned?: readonly string[];
  readonly checkWindows: CheckWindows;
}

type Who = Pick<Asked, "checkId" | "caller">;

export interface FixerPorts {
  readonly fixes: readonly Fix[];
  /** Has another process run a check and plan its fix, where this one may not carry out fixes. */
  readonly openElsewhere?: ((checkId: string, signal: AbortSignal) => Promise<OpenFix>) | undefined;
  readonly runner: Pick<CheckRunner, "find" | "rerun">;
  readonly rights: Rights;
  readonly hooks?: Pick<Hooks, "names" | "ask">;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly createId: () => string;
  readonly onFixed: (run: {
    readonly operationId: string;
    readonly checkId: string;
    readonly result: FixResult;
    readonly durationMs: number;
  }) => void;
}

interface State extends FixerPorts {
  readonly shutdown: AbortController;
  readonly running: Map<Fix["kind"], string>;
}

type PlannedElsewhere = OpenFix & Required<Pick<FixFound, "plan">>;

interface Found {
  readonly check: HealthCheckResult;
  readonly fix: Fix;
  readonly open: PlannedElsewhere | undefined;
}

/** How long another process may take to plan, beyond the limit of the check. */
const planningMs = 30_000;

const noFix = (checkId: string, why: string): DomainError => invalid("check_id", why, `cannot fix ${checkId}: ${why}`);

interface Lack {
  readonly scope: Scope;
  readonly unit?: string | undefined;
}

function lacking({ rights }: State, { id }: Fix, { checkId, caller }: Who, need: Lack): DomainError {
  const { code, message, details } = rights.lackOf(caller, need.scope, need.unit);
  return new DomainError(code, `cannot fix ${checkId} by ${id}: ${message}`, details);
}

/** An error where the caller has a scope of the fix on no resource. */
function fixRefusal(state: State, fix: Fix, who: Who): DomainError | undefined {
  const { scopes = [] } = who.caller ?? {};
  const required = fix.alsoNeeds.find((scope) => !state.rights.allowsSome(scopes, scope));
  return required && lacking(state, fix, who, { scope: required });
}

/** @throws DomainError where the scopes of the caller do not cover all that the plan touches. */
function authorizePlan(state: State, fix: Fix, plan: ToldPlan, asked: Asked): void {
  if (plan.steps.length === 0 || !fix.alsoNeeds.includes("services:restart")) return;
  const { units = [] } = plan;
  const { scopes = [] } = asked.caller ?? {};
  // A plan without units may touch any.
  for (const unit of units.length === 0 ? [undefined] : units) {
    if (!state.rights.allows(scopes, "services:restart", unit))
      throw lacking(state, fix, asked, { scope: "services:restart", unit });
    asked.checkWindows("services:restart", unit);
  }
}

async function requireConsent({ hooks }: State, fix: Fix, check: HealthCheckResult): Promise<void> {
  const subject = { check_id: check.check_id, fix_id: fix.id, risk: fix.risk, check };
  const veto = await hooks?.ask("pre_fix", subject);
  if (veto !== undefined) throw refusedBy(veto, `fix ${check.check_id}`);
}

/** What is to be done, by this process or by the one that planned it. */
interface Planned {
  readonly plan: ToldPlan;
  readonly perform: (during: {
    readonly signal: AbortSignal;
    readonly onOperation: OnOperation;
  }) => Promise<{ readonly steps: readonly FixStepReport[]; readonly after: HealthCheckResult | undefined }>;
}

/** @throws what the fix throws that cannot plan. */
async function planFor({ clock, runner }: State, { fix, check, open }: Found, signal: AbortSignal): Promise<Planned> {
  if (open === undefined) {
    const plan = await fix.plan({ ...check, details: { ...check.details } }, signal);
    return {
      plan,
      async perform(during) {
        const steps = await carryOutSteps(fix, plan, during, clock);
        return { steps, after: await runner.rerun(check.check_id) };
      },
    };
  }
  return {
    plan: open.plan,
    async perform(during) {
      const { steps, after } = await open.proceed(during.signal);
      return { steps, after: await runner.rerun(check.check_id, { run: () => Promise.resolve(after) }) };
    },
  };
}

async function carryOut(state: State, found: Found, asked: Asked, onOperation: OnOperation): Promise<FixResult> {
  const { clock, shutdown } = state;
  const { fix, check: before } = found;
  const timeUp = (limitMs: number): Error => new Error(`not done within ${Math.round(limitMs / 1000)} s`);
  const limit = createTimeLimit(clock, fix.timeoutMs ?? fixTimeoutMs, shutdown.signal, timeUp);
  const { signal } = limit;
  const { id: fixId, risk } = fix;
  const nothingDone = (why: string): FixResult => {
    const message = `${fixId} did nothing: ${why}`;
    return { success: false, fix_id: fixId, message, steps: [], check: before, risk };
  };
  try {
    const { plan, perform } = await planFor(state, found, signal);
    requireAsPlanned(asked.planned, agreedOf(plan), `fix ${asked.checkId}`);
    if (plan.steps.length === 0) return nothingDone(plan.reason ?? nothingPossible);
    authorizePlan(state, fix, plan, asked);
    await requireConsent(state, fix, before);
    const { steps: reports, after = before } = await perform({ signal, onOperation });
    // What a run says that the end of the service cut short is not so.
    const rest = { fix_id: fixId, steps: [...reports], check: shutdown.signal.aborted ? before : after, risk };
    if (shutdown.signal.aborted && !reports.some(({ status }) => status === "failed")) {
      const message = `${fixId} completed all its steps; it is unknown whether it helped: ${errorMessage(shutdown.signal.reason)}`;
      return { ...rest, success: false, message };
    }
    const { success, message } = verdict(fixId, reports, before, after);
    return { ...rest, success, message: [message, ...(plan.reason === undefined ? [] : [plan.reason])].join("; ") };
  } catch (error) {
    if (error instanceof DomainError && (error.code === "FORBIDDEN" || error.code === "CONFLICT")) throw error;
    // Steps report their own failures; this is a plan that could not be made.
    return nothingDone(errorMessage(error));
  } finally {
    limit.end();
  }
}

/** @throws DomainError as {@link authorizePlan} does. */
async function dryRun(state: State, found: Found, asked: Asked): Promise<Plan> {
  const { hooks, shutdown } = state;
  // A plan that cannot be made is one without steps here too, as when it is carried out.
  const plan = await planFor(state, found, shutdown.signal).then(
    (planned) => planned.plan,
    (error: unknown): ToldPlan => ({ steps: [], reason: errorMessage(error) }),
  );
  authorizePlan(state, found.fix, plan, asked);
  return planOf(found.fix, plan, hooks === undefined || plan.steps.length === 0 ? [] : askingSteps(hooks, "pre_fix"));
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

async function runForFix({ runner, openElsewhere, shutdown }: State, check: Check) {
  if (openElsewhere === undefined || check.fixes === undefined)
    return { found: await runner.rerun(check.id), open: undefined };
  let open: PlannedElsewhere | undefined;
  const found = await runner.rerun(check.id, {
    graceMs: planningMs,
    async run(signal) {
      const opened = await openElsewhere(check.id, AbortSignal.any([signal, shutdown.signal]));
      const { plan } = opened;
      if (signal.aborted || plan === undefined) await opened.close();
      else open = { ...opened, plan };
      return opened.found;
    },
  });
  return { found, open };
}

/** The fixes that there are for what a check may find. */
const fixesOf = ({ runner, fixes }: State, checkId: string): readonly Fix[] =>
  (runner.find(checkId)?.fixes ?? []).flatMap((id) => fixes.find((fix) => fix.id === id) ?? []);

/** An error where the caller lacks the scopes of each fix of the check. */
function refusalOfEach(state: State, who: Who): DomainError | undefined {
  const possible = fixesOf(state, who.checkId);
  const refusals = possible.flatMap((fix) => fixRefusal(state, fix, who) ?? []);
  return refusals.length === possible.length ? refusals[0] : undefined;
}

/** Runs the check, and does something about what it finds with the fix for that. */
async function withFix<T>(state: State, asked: Asked, use: (found: Found) => Promise<T>): Promise<T> {
  const { runner, fixes } = state;
  const { checkId } = asked;
  const check = runner.find(checkId);
  const fixOf = (fixId: string): Fix | undefined => fixes.find(({ id }) => id === fixId);
  // Without the scopes of any fix, not even the check is run.
  const refusalOfAll = refusalOfEach(state, asked);
  if (refusalOfAll !== undefined) throw refusalOfAll;
  // A run that is under way may have started before what is to be fixed was so.
  const { found, open } = check === undefined ? {} : await runForFix(state, check);
  try {
    if (check === undefined || found === undefined) {
      const message = `cannot fix ${checkId}: there is no such check, or it is switched off`;
      throw new DomainError("NOT_FOUND", message, { check_id: checkId });
    }
    const [usual] = check.fixes ?? [];
    if (usual === undefined) throw noFix(checkId, "there is no fix for this check");
    const fix = fixOf(found.fix_id ?? (isUnhealthy(found) ? "" : usual));
    if (fix === undefined) throw noFix(checkId, `there is no fix for what was found: ${found.message}`);
    const refusal = fixRefusal(state, fix, asked);
    if (refusal !== undefined) throw refusal;
    for (const scope of fix.alsoNeeds) if (scope !== "services:restart") asked.checkWindows(scope);
    return await use({ check: found, fix, open });
  } finally {
    await open?.close();
  }
}

/** Runs the fixes of checks, one of a kind at a time, and the check again afterwards. */
export function createFixer(ports: FixerPorts) {
  const { clock, createId, onFixed } = ports;
  const shutdown = new AbortController();
  const state: State = { ...ports, shutdown, running: new Map() };

  return {
    /** Why a caller may carry out no fix of a check, whatever it finds. Nothing is run. */
    refusal: (checkId: string, caller: Caller): DomainError | undefined => refusalOfEach(state, { checkId, caller }),

    /** The scopes on all resources that each fix of a check takes, whatever it finds. */
    scopesOf: (checkId: string): readonly Scope[] => {
      const [first = [], ...others] = fixesOf(state, checkId).map(({ alsoNeeds }) => alsoNeeds);
      return first.filter((scope) => scope !== "services:restart" && others.every((each) => each.includes(scope)));
    },

    /** @throws DomainError `NOT_FOUND`, `VALIDATION_ERROR` without a fix or a confirmation, `CONFLICT` of the kind, `FORBIDDEN`. */
    fix(checkId: string, options: FixOptions): Promise<FixResult | Plan> {
      const { caller, checkWindows, isDryRun, isConfirmed, onOperation = () => undefined } = options;
      const asked = { checkId, caller, checkWindows, ...defined({ planned: options.planned }) };
      return withFix<FixResult | Plan>(state, asked, async (found) => {
        const { check, fix } = found;
        if (!isUnhealthy(check)) return nothingToDo(fix, check, isDryRun);
        if (isDryRun) return dryRun(state, found, asked);
        if (fix.risk === "risky" && !isConfirmed) {
          const message = `cannot fix ${checkId}: ${fix.id} is risky and needs to be confirmed`;
          throw invalid("confirm", "Must be true", message);
        }
        const operationId = createId();
        return alone(state, fix, checkId, operationId, async () => {
          const startedAtMs = clock.monotonicMs();
          const result = await carryOut(state, found, asked, onOperation);
          onFixed({ operationId, checkId, result, durationMs: clock.monotonicMs() - startedAtMs });
          return result;
        });
      });
    },
    dispose: (): void => shutdown.abort(new Error("the service is stopping")),
  };
}
