import type { PartContext } from "#app/part.ts";
import { checkHistoryLimit } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { allows } from "#domain/access/scopes.ts";
import type { Chat } from "#domain/connectors/chat.ts";
import { explainHandlers } from "#domain/explain/handlers.ts";
import type { RunHistory } from "#domain/health/history/history.ts";
import type { CheckRunner } from "#domain/health/runner.ts";
import type { LogReader } from "#domain/logs/reader.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import type { Units } from "#domain/ports/units.ts";

export function createExplainPart(
  ports: Pick<PartContext, "clock"> & {
    readonly health: {
      readonly runner: Pick<CheckRunner, "current">;
      readonly history: Pick<RunHistory, "transitions">;
    };
    readonly units: Pick<Units, "list">;
    readonly logs: { readonly reader: LogReader; readonly unitsOf: (caller: Caller) => "all" | readonly string[] };
    readonly chat: Chat;
  },
) {
  const { clock, health, units, logs, chat } = ports;
  return {
    handlers: explainHandlers({
      sources: {
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
        isWithin,
      },
      asking: {
        choose: async (name, context) => (await chat.choose(name, context)).definition,
        ask: chat.ask,
      },
      clock,
    }),
  };
}
