import { lookApart } from "#adapters/exec/look.ts";
import { createRunbooks } from "#adapters/runbooks/index.ts";
import type { PartContext } from "#app/part.ts";
import { runbookDirectory } from "#config/places.ts";
import { checkHistoryLimit } from "#contract/limits.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import type { Chat } from "#domain/connectors/chat.ts";
import { diagnosisHandlers } from "#domain/explain/diagnosis/handlers.ts";
import { explainHandlers } from "#domain/explain/handlers.ts";
import type { Reads } from "#domain/explain/reads.ts";
import type { Asking, ExplainSources } from "#domain/explain/sources.ts";
import type { RunHistory } from "#domain/health/history/history.ts";
import type { CheckRunner } from "#domain/health/runner.ts";
import { canonicalUnit, isWithin } from "#domain/logs/unit-pattern.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import type { Units } from "#domain/ports/units.ts";
import { runbookHandlers } from "#domain/runbooks/handlers.ts";
import type { LogsPart } from "./logs.ts";

interface Earlier {
  readonly health: {
    readonly runner: Pick<CheckRunner, "current">;
    readonly history: Pick<RunHistory, "transitions">;
    readonly handlers: Pick<Reads, "listChecks" | "getCheckMetrics">;
  };
  readonly logs: Pick<LogsPart, "reader" | "unitsOf"> & { readonly handlers: Pick<Reads, "getLogFacets"> };
  readonly connectors: { readonly chat: Chat };
  readonly system: {
    readonly units: Pick<Units, "list">;
    readonly handlers: Pick<Reads, "getSystemInfo" | "listUnits" | "listProcesses">;
  };
  readonly resources: { readonly handlers: Pick<Reads, "getNetwork" | "getDiskUsage"> };
  readonly updates: { readonly handlers: Pick<Reads, "listPackageHistory"> };
  readonly audit: { readonly handlers: Pick<Reads, "listAudit"> };
}

const openRunbooks = ({ config: { settings } }: PartContext): Runbooks =>
  createRunbooks({ directory: runbookDirectory(settings), look: lookApart });

/** Explanations and diagnoses by a model, and the runbooks that people have written. */
export function explainPart(context: PartContext, earlier: Earlier, runbooks = openRunbooks(context)) {
  const { clock } = context;
  const { health, system, logs, connectors, resources, updates, audit } = earlier;
  const { chat } = connectors;
  const reads: Reads = {
    ...{ ...health.handlers, ...system.handlers, ...resources.handlers },
    ...{ ...updates.handlers, ...audit.handlers, ...logs.handlers },
  };
  const sources: ExplainSources = {
    check: health.runner.current,
    history: (checkId, since) => health.history.transitions(checkId, since, checkHistoryLimit.maximum).runs,
    units: system.units.list,
    logs: (search, { keyId: owner }, signal) =>
      logs.reader.read(
        { ...search, boot: undefined, grep: undefined, cursor: undefined, order: "asc" },
        { owner, signal },
      ),
    seesUnits: ({ scopes }) => allows(scopes, "system:read"),
    logUnitsOf: logs.unitsOf,
    reads,
    maySee: ({ caller }, scope) => caller !== undefined && resourcesOf(caller.scopes, scope).length > 0,
    runbooks: runbooks.read,
    isWithin,
  };
  const choose: Asking["choose"] = async (name, context) => (await chat.choose(name, context)).definition;
  return {
    handlers: {
      ...runbookHandlers(runbooks, { canonicalUnit, isWithin }),
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
