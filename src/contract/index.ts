import { IsSchema, type TSchema } from "typebox";
import * as alerts from "./alerts.ts";
import * as audit from "./audit.ts";
import * as auth from "./auth.ts";
import * as automaticUpdates from "./automatic-updates.ts";
import * as checks from "./checks.ts";
import * as connectors from "./connectors.ts";
import * as errors from "./errors.ts";
import * as health from "./health.ts";
import * as logs from "./logs.ts";
import * as operation from "./operation.ts";
import * as operationEntry from "./operation-entry.ts";
import { longOperations } from "./operations.ts";
import * as plugins from "./plugins.ts";
import * as reboot from "./reboot.ts";
import * as streams from "./streams.ts";
import * as system from "./system.ts";
import * as traces from "./traces.ts";
import * as updates from "./updates.ts";

/** Every operation of the service. */
export const operations = {
  ...health.health,
  ...checks.checks,
  ...system.system,
  ...reboot.rebooting,
  ...logs.logs,
  ...updates.updates,
  ...automaticUpdates.automaticUpdates,
  ...longOperations,
  ...connectors.connectors,
  ...connectors.explanations,
  ...plugins.plugins,
  ...auth.auth,
  ...audit.audit,
  ...alerts.alerts,
  ...health.observability,
  ...traces.traces,
} as const satisfies operation.Operations;

export type OperationName = keyof typeof operations;

type Schemas<T> = { readonly [K in keyof T as T[K] extends TSchema ? K : never]: T[K] };

const schemasOf = <T extends object>(module: T) =>
  Object.fromEntries(Object.entries(module).filter(([, value]) => IsSchema(value) && "~kind" in value)) as Schemas<T>;

/** Every resource of the contract, by its name in the OpenAPI document and in the clients. */
export const resources = {
  ...schemasOf(health),
  ...schemasOf(checks),
  ...schemasOf(system),
  ...schemasOf(reboot),
  ...schemasOf(logs),
  ...schemasOf(updates),
  ...schemasOf(automaticUpdates),
  ...schemasOf(operationEntry),
  ...schemasOf(connectors),
  ...schemasOf(plugins),
  ...schemasOf(auth),
  ...schemasOf(audit),
  ...schemasOf(alerts),
  ...schemasOf(traces),
  ...schemasOf(operation),
  ...schemasOf(errors),
  ...schemasOf(streams),
};
