import type { PartContext } from "#app/part.ts";
import { checkHistoryLimit } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import type { Chat } from "#domain/connectors/chat.ts";
import { diagnosisHandlers } from "#domain/explain/diagnosis/handlers.ts";
import { explainHandlers } from "#domain/explain/handlers.ts";
import type { Reads } from "#domain/explain/reads.ts";
import type { Asking, ExplainSources } from "#domain/explain/sources.ts";
import type { RunHistory } from "#domain/health/history/history.ts";
import type { CheckRunner } from "#domain/health/runner.ts";
import type { LogReader } from "#domain/logs/reader.ts";
import { canonicalUnit, isWithin } from "#domain/logs/unit-pattern.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import type { Units } from "#domain/ports/units.ts";

export function createExplainPart(
  ports: Pick<PartContext, "clock"> & {
    readonly health: {
      readonly runner: Pick<CheckRunner, "current">;
      readonly history: Pick<RunHistory, "transitions">;
      readonly handlers: Pick<Reads, "listChecks" | "getCheckMetrics">;
    };
    readonly units: Pick<Units, "list">;
    readonly logs: {
      readonly reader: LogReader;
      readonly unitsOf: (caller: Caller) => "all" | readonly string[];
      readonly handlers: Pick<Reads, "getLogFacets">;
    };
    readonly chat: Chat;
    readonly runbooks: { readonly runbooks: Runbooks };
    /** The parts whose answers tell what stands around a finding. */
    readonly audit: { readonly handlers: Pick<Reads, "listAudit"> };
    readonly system: { readonly handlers: Pick<Reads, "getSystemInfo" | "listUnits"> };
    readonly network: { readonly handlers: Pick<Reads, "getNetwork"> };
    readonly processes: { readonly handlers: Pick<Reads, "listProcesses"> };
    readonly diskUsage: { readonly handlers: Pick<Reads, "getDiskUsage"> };
    readonly packages: { readonly handlers: Pick<Reads, "listPackageHistory"> };
  },
) {
  const { clock, health, units, logs, chat } = ports;
  const reads: Reads = {
    ...{ ...health.handlers, ...ports.system.handlers, ...ports.processes.handlers },
    ...{ ...ports.diskUsage.handlers, ...ports.packages.handlers, ...ports.audit.handlers },
    ...{ ...ports.network.handlers, ...logs.handlers },
  };
  const sources: ExplainSources = {
    check: health.runner.current,
    history: (checkId, since) => health.history.transitions(checkId, since, checkHistoryLimit.maximum).runs,
    units: units.list,
    logs: (search, { keyId: owner }, signal) =>
      logs.reader.read(
        { ...search, boot: undefined, grep: undefined, cursor: undefined, order: "asc" },
        { owner, signal },
      ),
    seesUnits: ({ scopes }) => allows(scopes, "system:read"),
    logUnitsOf: logs.unitsOf,
    reads,
    maySee: ({ caller }, scope) => caller !== undefined && resourcesOf(caller.scopes, scope).length > 0,
    runbooks: ports.runbooks.runbooks.read,
    isWithin,
  };
  const choose: Asking["choose"] = async (name, context) => (await chat.choose(name, context)).definition;
  return {
    handlers: {
      ...explainHandlers({ sources, asking: { choose, ask: chat.ask }, clock }),
      ...diagnosisHandlers({
        sources,
        talking: { choose, begin: chat.begin },
        clock,
        canonicalUnit,
        lackOf: scopeLack,
      }),
    },
  };
}
