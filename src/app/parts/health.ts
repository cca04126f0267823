import { openCheckHistory } from "#adapters/check-history/index.ts";
import { createHostChecks, type HostChecks } from "#app/checks.ts";
import { type PartContext, storeOptions } from "#app/part.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import { createFixability } from "#domain/health/check-run.ts";
import type { Fix } from "#domain/health/fix.ts";
import { createFixer } from "#domain/health/fixer.ts";
import { checkHandlers, healthHandlers } from "#domain/health/handlers.ts";
import { createRunHistory, type RunHistory } from "#domain/health/history/history.ts";
import { migrateRuns } from "#domain/health/history/migrate.ts";
import type { Prober } from "#domain/health/prober.ts";
import { type CheckRun, createCheckRunner } from "#domain/health/runner.ts";
import { createHealthStream } from "#domain/health/stream.ts";
import { createEmitter } from "#kernel/async.ts";
import type { RootSide } from "#root/request.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import type { ConnectorsPart } from "./connectors.ts";
import type { HostPart, TracesPart } from "./host.ts";
import type { HookPoints } from "./plugins.ts";
import type { TlsPart } from "./tls.ts";
import type { UpdatesPart } from "./updates.ts";

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly rootSide: RootSide | undefined;
  readonly host: Pick<HostPart, "open">;
  readonly hookPoints: Pick<HookPoints, "hooks" | "loaded" | "isLoaded">;
  readonly prober: Pick<Prober, "components">;
  readonly updates: Pick<UpdatesPart, "security">;
  readonly tls: Pick<TlsPart, "paths">;
  readonly connectors: Pick<ConnectorsPart, "firstAnswer">;
}

interface HealthAdapters extends Omit<HostChecks, "fixes"> {
  readonly fixes: readonly Fix[];
  readonly history: RunHistory;
  /** Migrates the history of earlier versions. */
  readonly migrate?: () => Promise<void>;
  readonly dispose?: () => void;
}

function openHealth(context: PartContext, earlier: Earlier): HealthAdapters {
  const { config, clock, log } = context;
  const { traces, rootSide, host, updates, tls } = earlier;
  const store = openCheckHistory(storeOptions(context, "history of checks corrupt, reset"));
  const { exec } = traces.traced;
  const own = createHostChecks({ config, host: host.open(), exec, certificatePaths: tls.paths, rootSide });
  const closing = new AbortController();
  return {
    ...own,
    fixes: own.fixes(updates),
    history: createRunHistory(store),
    async migrate(): Promise<void> {
      const old = store.oldRuns();
      if (old === undefined) return;
      try {
        await migrateRuns({ old, clock, signal: closing.signal });
        if (!closing.signal.aborted) log.info("history of checks migrated");
      } catch (error) {
        log.warn({ err: error }, "cannot migrate the history of checks");
      }
    },
    dispose(): void {
      closing.abort();
      store.dispose();
    },
  };
}

function createRunner(
  { clock, log, metrics }: PartContext,
  { hookPoints: { hooks } }: Earlier,
  { checks, fixes, openElsewhere, plan, history }: HealthAdapters,
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
        void hooks.notify("post_check", { ...run.result, previous_status: run.previousStatus ?? null });
    },
    onGone(check) {
      metrics.checkGone(check);
      stream.forget(check);
      onGone(check);
    },
    hooks,
    fixability: createFixability({ fixes, openElsewhere, clock }),
    onTrouble: (error) => log.warn({ err: error }, "cannot read or write the history of checks"),
  });
  const stream = createHealthStream({
    runner,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "cannot run checks for a client"),
  });
  return { runner, stream };
}

/** Checks of the host and their fixes, and how the service is. */
export function healthPart(context: PartContext, earlier: Earlier, adapters = openHealth(context, earlier)) {
  const { clock, log, metrics, version, createId } = context;
  const { hookPoints, prober, connectors } = earlier;
  const { checks, fixes, openElsewhere, plan, history, migrate, dispose } = adapters;
  const { hooks, loaded, isLoaded } = hookPoints;
  const ran = createEmitter<CheckRun>();
  const gone = createEmitter<string>();
  const { runner, stream } = createRunner(context, earlier, adapters, ran.emit, gone.emit);
  const fixer = createFixer({
    fixes,
    openElsewhere,
    runner,
    rights: { allows, allowsSome: (granted, scope) => resourcesOf(granted, scope).length > 0, lackOf: scopeLack },
    hooks,
    clock,
    createId,
    onFixed({ operationId, checkId: check, result, durationMs }) {
      const { fix_id: fix, success, message, steps } = result;
      metrics.fixRun(fix, success);
      const fields = { check, fix, operation_id: operationId, steps, duration_ms: Math.round(durationMs), message };
      if (success) log.info(fields, "check fixed");
      else log.warn(fields, "cannot fix a check");
      if (hooks.names("post_fix").length > 0)
        void hooks.notify("post_fix", { operation_id: operationId, check_id: check, fix_id: fix, result });
    },
  });
  const components = (): ReturnType<Prober["components"]> =>
    connectors.firstAnswer()?.then(prober.components) ?? prober.components();
  let isReady = false;
  return {
    handlers: {
      ...healthHandlers({ prober: { components }, runner, clock, version, isReady: () => isReady }),
      ...checkHandlers({
        runner,
        fixer,
        history,
        clock,
        ready: () => (isLoaded() ? undefined : loaded),
      }),
    },
    runner,
    onRun: ran.on,
    onGone: gone.on,
    /** When the checks of all plugins are there. */
    checksReady: loaded,
    /** What is known of fixes before one is run. */
    fixes: { refusal: fixer.refusal, scopesOf: fixer.scopesOf },
    checks,
    plan,
    history,
    stream: stream.open,
    /** Waits for the hooks, which may hold checks back. */
    async start(): Promise<void> {
      void migrate?.();
      await Promise.all([prober.components(), loaded.then(runner.start)]);
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
    dispose: () => dispose?.(),
  };
}

export type HealthPart = ReturnType<typeof healthPart>;
