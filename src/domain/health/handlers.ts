import { type checks, type HealthCheckResult, mostDetailsListed } from "#contract/checks.ts";
import type { HealthStatus, health } from "#contract/health.ts";
import { type Handlers, Versioned } from "#contract/operation.ts";
import { DomainError, unknownCheck } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { Fixer } from "./fixer.ts";
import { historyHandlers } from "./history/handlers.ts";
import type { Components, Prober } from "./prober.ts";
import type { CheckRunner } from "./runner.ts";

type Status = HealthStatus["status"];

/** What the components add to the verdict of the checks. */
function statusOf(components: Components): Status {
  const down = Object.entries(components).filter(([, result]) => result.expected && !result.healthy);
  if (down.some(([name]) => name === "ops" || name === "security")) return "unhealthy";
  return down.length > 0 ? "degraded" : "healthy";
}

const worse = (a: Status, b: Status): Status => (a === "unhealthy" || b === "healthy" ? a : b);

const shown = (components: Components): HealthStatus["components"] => ({
  ...Object.fromEntries(Object.entries(components).map(([name, { healthy }]) => [name, healthy])),
  cli: components.cli.healthy,
  ops: components.ops.healthy,
  llm: components.llm.healthy,
  security: components.security.healthy,
});

export function healthHandlers(ports: {
  prober: Pick<Prober, "components">;
  runner: Pick<CheckRunner, "verdict" | "isStarting">;
  clock: Pick<Clock, "monotonicMs">;
  version: string;
  /** False while starting and shutting down. */
  isReady: () => boolean;
}): Handlers<typeof health> {
  const { prober, runner, clock, version, isReady } = ports;
  const startedAtMs = clock.monotonicMs();
  let last:
    | { readonly of: Components; readonly status: Status; readonly shown: HealthStatus["components"] }
    | undefined;
  const toStatus = (components: Components): HealthStatus => {
    if (last?.of !== components) last = { of: components, status: statusOf(components), shown: shown(components) };
    return {
      status: worse(last.status, runner.verdict()),
      version,
      uptime_seconds: Math.floor((clock.monotonicMs() - startedAtMs) / 1000),
      components: last.shown,
      ...(runner.isStarting() && { details: { checks: "starting" } }),
    };
  };

  return {
    getHealth() {
      const components = prober.components();
      return components instanceof Promise ? components.then(toStatus) : toStatus(components);
    },
    getLiveness: () => ({ status: "ok" }),
    getReadiness() {
      if (!isReady())
        throw new DomainError("UNAVAILABLE", "cannot take requests: starting or shutting down", { retryable: true });
      return { status: "ok", ...(runner.isStarting() && { checks: "starting" }) };
    },
  };
}

/** The result with the first entries of the lists in its details: of all checks together they would be long. */
function withShortDetails(result: HealthCheckResult): HealthCheckResult {
  const cut = Object.entries(result.details).filter(
    ([, value]) => Array.isArray(value) && value.length > mostDetailsListed,
  );
  if (cut.length === 0) return result;
  const short = cut.map(([name, value]) => [name, (value as readonly unknown[]).slice(0, mostDetailsListed)]);
  return {
    ...result,
    details: { ...result.details, ...Object.fromEntries(short) },
    details_cut: cut.map(([name]) => name),
  };
}

export function checkHandlers(ports: {
  runner: Pick<CheckRunner, "ids" | "list" | "run">;
  fixer: Pick<Fixer, "fix">;
  history: Parameters<typeof historyHandlers>[0]["history"];
  clock: Pick<Clock, "now">;
  /** Resolves once all checks have been added; undefined when they have. */
  ready?: () => Promise<void> | undefined;
}): Handlers<typeof checks> {
  const { runner, fixer, history, clock, ready } = ports;

  /** A check that is about to be added must not be reported as missing. */
  const whenReady = <T>(work: () => T | Promise<T>): T | Promise<T> => {
    const waits = ready?.();
    return waits === undefined ? work() : waits.then(work);
  };

  return {
    listChecks: () =>
      whenReady(async () => {
        const list = await runner.list();
        return new Versioned(list.results, () => ({ ...list, results: list.results.map(withShortDetails) }));
      }),
    getCheck: ({ params: { check_id: id } }) =>
      whenReady(() => {
        const result = runner.run(id);
        if (result === undefined) throw unknownCheck(id);
        return result;
      }),
    async fixCheck({ params: { check_id: id }, query, body }, { caller, touched, planned, checkWindows }) {
      await ready?.();
      const operation: { operation_id?: string } = {};
      const answer = await fixer.fix(id, {
        caller,
        checkWindows,
        isDryRun: query.dry_run ?? false,
        isConfirmed: body.confirm ?? false,
        ...defined({ planned: planned()?.transaction }),
        onOperation(operationId) {
          operation.operation_id = operationId;
          // At once: the operation continues even if the fix fails.
          touched(operation);
        },
      });
      if (answer.fix_id !== undefined) touched({ fix_id: answer.fix_id, ...operation });
      return answer;
    },
    ...historyHandlers({
      history,
      clock,
      async isKnown(id) {
        await ready?.();
        return runner.ids.includes(id);
      },
    }),
  };
}
