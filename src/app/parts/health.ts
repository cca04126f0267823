import { openCheckHistory } from "#adapters/check-history/index.ts";
import { createHostChecks } from "#app/checks.ts";
import { logSetAside, type PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import type { Check } from "#domain/health/check.ts";
import { type CheckPlan, createFixability } from "#domain/health/check-run.ts";
import type { Fix } from "#domain/health/fix.ts";
import { createFixer, type FixerPorts } from "#domain/health/fixer.ts";
import type { SecurityUpdater } from "#domain/health/fixes/apply-security-updates.ts";
import { checkHandlers, healthHandlers } from "#domain/health/handlers.ts";
import { createRunHistory, type RunHistory } from "#domain/health/history/history.ts";
import { migrateRuns } from "#domain/health/history/migrate.ts";
import type { Prober } from "#domain/health/prober.ts";
import { type CheckRun, createCheckRunner } from "#domain/health/runner.ts";
import { createHealthStream } from "#domain/health/stream.ts";
import type { RootSide } from "#root/request.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import type { HookPoints } from "./plugins.ts";
import type { BuiltHost } from "./system.ts";

type HealthPorts = Pick<PartContext, "clock" | "log" | "metrics" | "createId" | "version"> & {
  readonly checks: readonly Check[];
  readonly fixes: readonly Fix[];
  readonly openElsewhere?: FixerPorts["openElsewhere"];
  readonly plan: CheckPlan;
  readonly history: RunHistory;
  readonly hookPoints: Pick<HookPoints, "hooks" | "ready" | "isReady">;
  readonly prober: Pick<Prober, "components">;
  readonly firstAnswer: () => Promise<void> | undefined;
};

function createRunner(
  { clock, log, metrics, checks, fixes, plan, history, hookPoints: { hooks } }: HealthPorts,
  onRun: (run: CheckRun) => void,
  onGone: (checkId: string) => void,
) {
  const runner = createCheckRunner({
    checks,
    settings: plan,
    history,
    clock,
    onRun(run) {
      const { check_id: check, status, duration_ms: durationMs, message, details } = run.result;
      metrics.checkRun(check, status, durationMs / 1000);
      // The check runs without anybody asking for updates.
      if (check === "security_updates" && "pending" in details && typeof details.pending === "number")
        metrics.updatesAvailable("security", details.pending);
      if ((run.previousStatus ?? "pass") !== status)
        log.info({ check, status, previous: run.previousStatus, message }, "check changed");
      stream.publish(run);
      onRun(run);
      if (hooks.names("post_check").length > 0)
        void hooks.tell("post_check", { ...run.result, previous_status: run.previousStatus ?? null });
    },
    onGone(check) {
      metrics.checkGone(check);
      stream.forget(check);
      onGone(check);
    },
    hooks,
    fixability: createFixability({ fixes, clock }),
    onTrouble: (error) => log.warn({ err: error }, "cannot read or write the history of checks"),
  });
  const stream = createHealthStream({
    runner,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "checks not run for a client"),
  });
  return { runner, stream };
}

export function createHealthPart(ports: HealthPorts) {
  const { clock, log, metrics, version, checks, fixes, plan, history, hookPoints, prober, firstAnswer } = ports;
  const { hooks } = hookPoints;
  const listeners = new Set<(run: CheckRun) => void>();
  const goneListeners = new Set<(checkId: string) => void>();
  const { runner, stream } = createRunner(
    ports,
    (run) => {
      for (const listener of listeners) listener(run);
    },
    (checkId) => {
      for (const listener of goneListeners) listener(checkId);
    },
  );
  const fixer = createFixer({
    fixes,
    openElsewhere: ports.openElsewhere,
    runner,
    rights: { allows, allowsSome: (granted, scope) => resourcesOf(granted, scope).length > 0, lackOf: scopeLack },
    hooks,
    clock,
    createId: ports.createId,
    onFixed({ operationId, checkId: check, result, durationMs }) {
      const { fix_id: fix, success, message, steps } = result;
      metrics.fixRun(fix, success);
      const fields = { check, fix, operation_id: operationId, steps, duration_ms: Math.round(durationMs), message };
      if (success) log.info(fields, "check fixed");
      else log.warn(fields, "check not fixed");
      if (hooks.names("post_fix").length > 0)
        void hooks.tell("post_fix", { operation_id: operationId, check_id: check, fix_id: fix, result });
    },
  });
  const components = (): ReturnType<Prober["components"]> =>
    firstAnswer()?.then(prober.components) ?? prober.components();
  let isReady = false;
  return {
    handlers: {
      ...healthHandlers({ prober: { components }, runner, clock, version, isReady: () => isReady }),
      ...checkHandlers({
        runner,
        fixer,
        history,
        clock,
        ready: () => (hookPoints.isReady() ? undefined : hookPoints.ready),
      }),
    },
    runner,
    onRun: (listener: (run: CheckRun) => void): void => void listeners.add(listener),
    onGone: (listener: (checkId: string) => void): void => void goneListeners.add(listener),
    /** When the checks of all plugins are there. */
    checksReady: hookPoints.ready,
    /** What is known of fixes before one is run. */
    fixes: { refusal: fixer.refusal, scopesOf: fixer.scopesOf },
    checks,
    plan,
    history,
    stream: stream.open,
    /** Waits for the hooks, which may hold checks back. */
    async start(): Promise<void> {
      await Promise.all([prober.components(), hookPoints.ready.then(runner.start)]);
      isReady = true;
    },
    /** From now on `/readyz` answers 503. */
    drain: (): void => {
      isReady = false;
    },
    stop(): void {
      runner.dispose();
      fixer.dispose();
    },
  };
}

export function buildHealthPart(
  context: PartContext,
  ports: {
    readonly host: BuiltHost;
    readonly traced: Pick<TracedParts, "exec">;
    readonly rootSide: RootSide | undefined;
    readonly hookPoints: HookPoints;
    readonly prober: Pick<Prober, "components">;
    readonly security: SecurityUpdater;
    readonly certificatePaths: () => readonly string[];
    readonly firstAnswer: () => Promise<void> | undefined;
  },
) {
  const { config, log } = context;
  const { host, traced, rootSide, security, certificatePaths } = ports;
  const store = openCheckHistory({
    stateDir: config.stateDir,
    onTrouble: logSetAside(log, "history of checks corrupt, reset"),
  });
  const closing = new AbortController();
  const migrate = async (): Promise<void> => {
    const old = store.oldRuns();
    if (old === undefined) return;
    try {
      await migrateRuns({ old, clock: context.clock, signal: closing.signal });
      if (!closing.signal.aborted) log.info("history of checks migrated");
    } catch (error) {
      log.warn({ err: error }, "cannot migrate the history of checks");
    }
  };
  const { fixes, ...own } = createHostChecks({
    config,
    host,
    exec: traced.exec,
    certificatePaths,
    rootSide,
  });
  const history = createRunHistory(store);
  const part = createHealthPart({ ...context, ...ports, ...own, fixes: fixes({ security }), history });
  return {
    ...part,
    start(): Promise<void> {
      void migrate();
      return part.start();
    },
    dispose(): void {
      closing.abort();
      store.dispose();
    },
  };
}
