import { allows, resourcesOf } from "#domain/access/scopes.ts";
import type { Hooks } from "#domain/common/hooks.ts";
import { createFixability } from "#domain/health/fixability.ts";
import { createFixer } from "#domain/health/fixer.ts";
import type { SecurityUpdater } from "#domain/health/fixes/apply-security-updates.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import { createHealthStream } from "#domain/health/stream.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import type { ServicePorts } from "./ports.ts";

/** The checks, their fixes and the stream that tells of both. */
export function createHealth(
  ports: Pick<
    ServicePorts,
    "checkHistory" | "checkPlan" | "checks" | "clock" | "createId" | "fixes" | "log" | "metrics"
  >,
  hooks: Hooks,
  security: SecurityUpdater,
) {
  const { clock, log, metrics } = ports;
  const fixes = ports.fixes({ security });
  const fixability = createFixability({ fixes, clock });
  const runner = createCheckRunner({
    checks: ports.checks,
    settings: ports.checkPlan,
    history: ports.checkHistory,
    clock,
    onRun(run) {
      const { check_id: check, status, duration_ms: durationMs, message, details } = run.result;
      metrics.checkRun(check, status, durationMs / 1000);
      // It looks by itself, without anybody who asks for updates.
      if (check === "security_updates" && "pending" in details && typeof details.pending === "number")
        metrics.updatesAvailable("security", details.pending);
      // A check that passes from the first is no news.
      if ((run.previousStatus ?? "pass") !== status)
        log.info({ check, status, previous: run.previousStatus, message }, "check changed");
      healthStream.publish(run);
      if (hooks.names("post_check").length > 0)
        void hooks.tell("post_check", { ...run.result, previous_status: run.previousStatus ?? null });
    },
    onGone(check) {
      metrics.checkGone(check);
      healthStream.forget(check);
    },
    hooks,
    fixability,
    onTrouble: (error) => log.warn({ err: error }, "history of checks cannot be used"),
  });
  const healthStream = createHealthStream({
    runner,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "checks not run for a client"),
  });

  const fixer = createFixer({
    fixes,
    runner,
    rights: { allows, allowsSome: (granted, scope) => resourcesOf(granted, scope).length > 0 },
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
  return { runner, healthStream, fixer };
}
