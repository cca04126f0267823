import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Operation, Operations, ToolAnswer, Tools } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { type Arguments, call, isNothing, type Server } from "./calls.ts";
import {
  idempotencyKey,
  inToolsets,
  isOpenTo,
  placeOf,
  planToken,
  reasonOf,
  statedReason,
  type ToolRow,
  toolRows,
} from "./tools.ts";

/** What asks a model is not a tool of one. A mutation is one as far as it can be planned. */
const isForModels = ({ operation, places }: ToolRow): boolean =>
  operation.scope !== "connectors:chat" && (operation.effect === "read" || places.get("dry_run") === "query");

const isRead = ({ effect }: Operation): boolean => effect === "read";

const planned = "Only its plan is made; carrying it out is for the person, who is shown the plan.";

/** What is for who carries a plan out. A key of repetitions that a model uses up would be missing then. */
const forPersons = [planToken, idempotencyKey, "dry_run"];

const without = <T>(given: Readonly<Record<string, T>>, ...names: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));

/** A tool without the arguments that are not for a model of this service. */
function toOffer({ name, operation, tool }: ToolRow) {
  const properties = without(tool.inputSchema.properties, ...forPersons);
  const { summary } = operation;
  return {
    name,
    description: isRead(operation) ? tool.description : `${summary}. ${planned}`,
    schema: { ...tool.inputSchema, properties },
  };
}

/** Arguments as the `params`, `query` and `body` of the request that they would be. */
function inParts(row: ToolRow, given: Arguments): Readonly<Record<string, unknown>> {
  const meant = Object.entries(given).filter(([name, value]) => !isNothing(placeOf(row, name), value));
  const parts = [...Map.groupBy(meant, ([name]) => placeOf(row, name))];
  return Object.fromEntries(parts.map(([part, members]) => [part, Object.fromEntries(members)]));
}

/**
 * Tools for the handlers of requests: the rows that are tools of MCP, in the same way of calling them, as plans where they would change
 * something.
 */
export function createRequestTools(ports: {
  readonly app: () => Pick<FastifyInstance, "inject">;
  readonly relay: Server["relay"];
  readonly operations: Operations;
}): (request: FastifyRequest) => Tools {
  const { app, relay, operations } = ports;
  const rows = new Map([...toolRows(operations)].filter(([, row]) => isForModels(row)));
  const offered = (inToolsets(rows, "default") ?? []).map((row) => ({ row, offer: toOffer(row) }));

  return ({ record }) => {
    const { caller, socket, remoteAddress } = record;
    return {
      offered: () =>
        offered
          .filter(({ row }) => caller !== undefined && isOpenTo(caller.scopes, row.operation))
          .map(({ offer }) => offer),
      async call(name, given, { model, signal }) {
        const row = rows.get(name);
        if (row === undefined) throw new DomainError("NOT_FOUND", `there is no tool ${name}`);
        if (caller === undefined || socket === undefined) throw new Error("cannot call a tool for nobody");
        const isPlan = !isRead(row.operation);
        const meant = without(given, statedReason, ...forPersons);
        const reason = isPlan ? reasonOf(given) : undefined;
        const sent: Arguments = isPlan ? { ...meant, dry_run: true } : meant;
        const via = { transport: "diagnosis", client: model, ...(reason !== undefined && { reason }) } as const;
        const origin = {
          ...{ caller: { ...caller, via }, address: remoteAddress ?? "", socket, signal },
          isCounted: false,
        };
        const { status, body, isWhole } = await call({ app: app(), relay }, row, sent, origin);
        return {
          status,
          body: isWhole ? body : undefined,
          ...(isPlan && { planned: { arguments: inParts(row, meant), reason: reason ?? null } }),
        } satisfies ToolAnswer;
      },
    };
  };
}
