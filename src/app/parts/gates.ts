import { createHash } from "node:crypto";
import { openApprovalStore } from "#adapters/approvals/index.ts";
import { createCalendar } from "#adapters/calendar/index.ts";
import { type PartContext, storeOptions } from "#app/part.ts";
import { approvalSettings } from "#config/access.ts";
import type { Config } from "#config/load.ts";
import { windowSettings } from "#config/windows.ts";
import { errorStatus } from "#contract/errors.ts";
import { operations as table } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Context } from "#contract/operation.ts";
import { createApprovalBook } from "#domain/access/approval-book.ts";
import type { RunEnd, RunPorts } from "#domain/access/approval-carry-out.ts";
import { createApprovalGate } from "#domain/access/approval-gate.ts";
import { approvalHandlers } from "#domain/access/approval-handlers.ts";
import { type ApprovalPolicy, createApprovalRules } from "#domain/access/approval-rules.ts";
import { createApprovalRuns } from "#domain/access/approval-runs.ts";
import { argumentsOf } from "#domain/access/approval-view.ts";
import { canHandler } from "#domain/access/can.ts";
import { createWindowGate, type WindowPlan, windowHandlers } from "#domain/access/window-gate.ts";
import { createApprovalEvents } from "#domain/audit/approval-events.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { ApprovalRecord, ApprovalStore } from "#domain/ports/approvals.ts";
import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import { createEmitter } from "#kernel/async.ts";
import { orReport } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import type { AccessPart } from "./access.ts";
import type { HealthPart } from "./health.ts";
import type { OperationsPart } from "./operations.ts";

/** From 0 to 1, the same for a host and a subject whenever it is asked for. */
export const spreadOf = (host: string, subject: string): number =>
  createHash("sha256").update(`${host} ${subject}`).digest().readUInt32BE() / 2 ** 32;

const plansOf = ({ settings }: Pick<Config, "settings">, host: string): readonly WindowPlan[] =>
  windowSettings(settings).map(({ times, durationMs, jitterMs, ...rest }) => {
    const delayMs = Math.floor((jitterMs * spreadOf(host, rest.name)) / 1000) * 1000;
    return { ...rest, times: { calendar: createCalendar(times), durationMs, delayMs } };
  });

/** What windows of the settings hold back. */
export function windowsPart(
  { config, clock, hostName }: Pick<PartContext, "config" | "clock" | "hostName">,
  _earlier: unknown,
  windows = plansOf(config, hostName()),
) {
  const gate = createWindowGate({ clock, windows, hostName });
  return {
    handlers: windowHandlers(gate),
    gate,
    reload: (next: Config): void => gate.replace(plansOf(next, hostName())),
  };
}

export type WindowsPart = ReturnType<typeof windowsPart>;

const sweepMs = 5_000;

type AnyHandler = (input: object, context: Context) => unknown;

const namesOf = (record: ApprovalRecord): string =>
  record.approvals.map(({ keyId, keyName }) => `${keyId} (${keyName})`).join(", ");

/** The entry of an approved call: the key is that of the proposer, beside those who have approved it. */
function runEntry(record: ApprovalRecord): Partial<AuditEntry> & { readonly target: AuditEntry["target"] } {
  const { params } = argumentsOf(record.input);
  const row = Object.entries(table).find(([name]) => name === record.operation)?.[1];
  return {
    method: row?.method ?? null,
    path: row === undefined ? null : `${apiBase}${row.path}`,
    key_id: record.proposer.keyId,
    key_name: record.proposer.keyName,
    // Distinguishes it from others in what an earlier process has left.
    request_id: record.id,
    target: {
      ...(isRecord(params)
        ? Object.fromEntries(Object.entries(params).map(([name, text]) => [name, String(text)]))
        : {}),
      approval: record.id,
      approved_by: namesOf(record),
      ...(record.override !== null && { window_override: record.override }),
    },
  };
}

function auditOfRuns(audit: Pick<AuditLog, "begin" | "record">, clock: PartContext["clock"]): RunPorts["audit"] {
  return (record) => {
    const entry = runEntry(record);
    const startedMs = clock.monotonicMs();
    const forget = audit.begin(auditEvent(record.operation, clock.now(), { ...entry, outcome: "failed" }));
    return ({ error, isUnsuccessful, touched }: RunEnd) => {
      const { operation_id: operationId = null, ...made } = touched;
      const isRefused = error !== null && errorStatus[error.code] < errorStatus.INTERNAL_ERROR;
      const hasFailed = error !== null || isUnsuccessful;
      audit.record(
        auditEvent(record.operation, clock.now(), {
          ...entry,
          outcome: isRefused ? "refused" : hasFailed ? "failed" : "ok",
          error: error?.code ?? null,
          target: { ...entry.target, ...made },
          operation_id: operationId,
          duration_ms: Math.round(clock.monotonicMs() - startedMs),
        }),
        forget,
      );
    };
  };
}

interface Earlier {
  readonly access: Pick<AccessPart, "keyring" | "hasEnded" | "plans" | "budgetOf">;
  readonly windows: Pick<WindowsPart, "gate">;
  readonly operations: Pick<OperationsPart, "operations" | "onEnded">;
  readonly health: Pick<HealthPart, "fixes">;
  readonly audit: { readonly log: Pick<AuditLog, "begin" | "record" | "list"> };
}

interface ApprovalAdapters {
  readonly store: ApprovalStore;
  readonly policy: ApprovalPolicy;
  readonly dispose?: () => void;
}

function openApprovals(context: PartContext): ApprovalAdapters {
  const store = openApprovalStore(
    storeOptions(context, "cannot store approvals: pending ones are lost, and were not carried out"),
  );
  return { store, policy: approvalSettings(context.config.settings), dispose: store.dispose };
}

/** Calls that wait for another key, and whether a call would pass all that may hold it back. */
export function approvalsPart(context: PartContext, earlier: Earlier, adapters = openApprovals(context)) {
  const { clock, log, metrics, createId, hostName } = context;
  const { access, windows, operations, health } = earlier;
  const { keyring, plans } = access;
  const { store, policy, dispose } = adapters;
  const audit = earlier.audit.log;
  const stopping = new AbortController();
  let handlers: Readonly<Record<string, AnyHandler>> = {};
  const onTrouble = (error: unknown): void => log.error({ err: error }, "approvals");
  const rules = createApprovalRules({ policy, hostName });
  const wanted = createEmitter<ApprovalRecord>();
  const report = (record: ApprovalRecord): void => orReport(() => wanted.emit(record), onTrouble);
  const events = createApprovalEvents({ log: audit, clock });
  const book = createApprovalBook({
    store,
    clock,
    onStatus(record) {
      metrics.approval(record.status);
      if (record.status === "pending") report(record);
    },
    onEvent: events.record,
    onTrouble,
  });
  const runs = createApprovalRuns({
    book,
    table,
    handlerOf: (name) => (Object.hasOwn(handlers, name) ? handlers[name] : undefined),
    plans,
    findKey: keyring.find,
    hostName,
    windows: windows.gate,
    operations: { get: operations.operations.get, list: () => operations.operations.list() },
    audit: auditOfRuns(audit, clock),
    clock,
    stopping: stopping.signal,
    onTrouble,
  });
  operations.onEnded(({ spec }) => runs.operationEnded(spec.id));
  let stopSweeping = (): void => undefined;
  return {
    rules,
    gate: createApprovalGate({ rules, book, plans, clock, createId }),
    handlers: {
      ...approvalHandlers({ book, runs, clock, hasEnded: access.hasEnded, stopping: stopping.signal }),
      canI: canHandler({
        operations: table,
        windows: windows.gate,
        approvals: rules,
        budgetOf: access.budgetOf,
        fixes: health.fixes,
        hostName,
      }),
    },
    reload: (next: Config): void => rules.replace(approvalSettings(next.settings)),
    /** Called with each call that begins to wait for approval, and with those that wait at the start. */
    onWanted: wanted.on,
    /** Sets the handlers of all operations, which are called as any transport calls them. */
    runsWith: (all: Readonly<Record<string, unknown>>): void => {
      handlers = all as Readonly<Record<string, AnyHandler>>;
    },
    ready(): void {
      void events.resume(book.left, book.settle, stopping.signal).catch(onTrouble);
      runs.start();
      for (const record of book.list()) if (record.status === "pending") report(record);
      stopSweeping = clock.every(sweepMs, runs.look);
    },
    stop(): void {
      stopping.abort();
      stopSweeping();
    },
    dispose: () => dispose?.(),
  };
}

export type ApprovalsPart = ReturnType<typeof approvalsPart>;
