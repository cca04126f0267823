import type { AlertSeverity, NotificationChannel, NotificationEvent } from "#contract/alerts.ts";
import { isUnsuccessful, type OperationError } from "#contract/operation-entry.ts";
import type { ApprovalRecord } from "#domain/ports/approvals.ts";
import type { AuditBreak } from "#domain/ports/audit.ts";
import type { Clock } from "#kernel/clock.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { isRecord, isString } from "#kernel/values.ts";
import { alertChannels, type Draft, factsOf, plainLine } from "./messages.ts";
import type { Outbox } from "./outbox.ts";

/** The same event of one subject is reported at most this often. */
const quietMs = 60 * 60_000;
/** What ended before, while the service was down, is not news. */
const longestDownMs = 24 * 60 * 60_000;
const maxRemembered = 1_000;

export interface EndedOperationEvent {
  readonly spec: { readonly id: string; readonly kind: string; readonly keyId: string | null };
  readonly state: {
    readonly finishedAt: number | null;
    readonly result: unknown;
    readonly error: OperationError | null;
  };
}

export interface ExpiredKeyEvent {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: number;
}

export interface PluginEvent {
  readonly plugin: string;
  readonly fault: string;
}

type EventDraft = Draft & { readonly severity: AlertSeverity };

const textIn = (value: unknown, name: string): string | undefined => {
  const text = isRecord(value) ? value[name] : undefined;
  return isString(text) ? text : undefined;
};

/** What the guard of an update did; undefined where it kept the update, or there was none. */
function rollbackOf(result: unknown): { readonly outcome: string; readonly message: string | undefined } | undefined {
  const guard = isRecord(result) ? result["guard"] : undefined;
  const outcome = textIn(guard, "outcome");
  return outcome === undefined || outcome === "kept" ? undefined : { outcome, message: textIn(guard, "message") };
}

const outcomeWords: Readonly<Record<string, string>> = {
  rolled_back: "rolled back",
  rolled_back_still_worse: "rolled back, still worse",
  rollback_failed: "rollback failed",
};

/** @returns undefined for an operation that did what it should. */
export function operationDraft({ spec, state }: EndedOperationEvent, host: string, at: number): EventDraft | undefined {
  const { result, error, finishedAt } = state;
  const rollback = rollbackOf(result);
  if (rollback === undefined && error === null && !isUnsuccessful(result)) return undefined;
  const words = rollback === undefined ? "failed" : (outcomeWords[rollback.outcome] ?? rollback.outcome);
  const isBack = rollback?.outcome === "rolled_back";
  return {
    kind: rollback === undefined ? "operation_failed" : "operation_rolled_back",
    subject: spec.id,
    at,
    isGood: false,
    severity: rollback === undefined || isBack ? "warning" : "critical",
    title: plainLine(`[${words}] ${spec.kind} on ${host}`, 200),
    facts: factsOf([
      ["Operation", spec.id],
      ["Kind", spec.kind],
      ["Result", rollback?.message ?? error?.message ?? textIn(result, "error") ?? textIn(result, "message")],
      ["Ended", finishedAt === null ? undefined : toTimestamp(finishedAt)],
      ["Time", toTimestamp(at)],
    ]),
  };
}

const pluginDraft = ({ plugin, fault }: PluginEvent, host: string, at: number): EventDraft => ({
  kind: "plugin_disabled",
  subject: plugin,
  at,
  isGood: false,
  severity: "warning",
  title: plainLine(`The plugin ${plugin} does not run on ${host}`, 200),
  facts: factsOf([
    ["Plugin", plugin],
    ["Reason", fault],
    ["Time", toTimestamp(at)],
  ]),
});

const expiredKeyDraft = ({ id, name, expiresAt }: ExpiredKeyEvent, host: string, at: number): EventDraft => ({
  kind: "expired_key_used",
  subject: id,
  at,
  isGood: false,
  severity: "warning",
  title: plainLine(`An expired key was used on ${host}: ${name}`, 200),
  facts: factsOf([
    ["Key", name],
    ["Id", id],
    ["Expired", toTimestamp(expiresAt)],
    ["Time", toTimestamp(at)],
  ]),
});

export type ApprovalNotice = Pick<ApprovalRecord, "id" | "operation" | "proposer" | "reason" | "plan" | "expiresAt">;

const approvalDraft = (event: ApprovalNotice, host: string, publicUrl: string | undefined, at: number): EventDraft => ({
  kind: "approval_wanted",
  subject: event.id,
  at,
  isGood: false,
  severity: "warning",
  title: plainLine(`${event.proposer.keyName} wants ${event.operation} to be approved on ${host}`, 200),
  facts: factsOf([
    ["Call", event.operation],
    ["Plan", event.plan.steps.join("; ")],
    ["Proposed by", `${event.proposer.keyName} (key ${event.proposer.keyId})`],
    ["Reason", event.reason ?? undefined],
    ["Decide with", `steward approve ${event.id}`],
    ["Address", publicUrl && `${publicUrl}/console/approvals?id=${event.id}`],
    ["Until", toTimestamp(event.expiresAt)],
    ["Time", toTimestamp(at)],
  ]),
});

const auditDraft = ({ file, line, seq, what }: AuditBreak, host: string, at: number): EventDraft => ({
  kind: "audit_broken",
  subject: `entry ${seq}`,
  at,
  isGood: false,
  severity: "critical",
  title: plainLine(`The audit log was changed on ${host}`, 200),
  facts: factsOf([
    ["Found", what],
    ["Where", line === 0 ? file : `${file}:${line}`],
    ["See", "steward audit verify"],
    ["Time", toTimestamp(at)],
  ]),
});

/** Operations have a subject each: those of a kind that end alike are one event. */
function identityOf({ kind, subject, title, facts }: Pick<Draft, "kind" | "subject" | "title" | "facts">): string {
  const result = facts.find(([name]) => name === "Result")?.[1] ?? "";
  return `${kind} ${kind.startsWith("operation_") ? `${title} ${result}` : subject}`;
}

/** Reports events that are no states: each kind of one subject at most once an hour, over restarts. */
export function createEvents(ports: {
  readonly outbox: Pick<Outbox, "post" | "list">;
  readonly isReported: (event: NotificationEvent) => boolean;
  readonly has: (channel: NotificationChannel) => boolean;
  readonly host: string;
  /** Where clients reach the service, where that is known. */
  readonly publicUrl?: string | undefined;
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
}) {
  const { outbox, isReported, has, host, publicUrl, clock } = ports;
  const reportedAtMs = new Map<string, number>();

  const isRepeated = (draft: EventDraft): boolean => {
    const identity = identityOf(draft);
    const lastMs = reportedAtMs.get(identity);
    if (lastMs !== undefined) return clock.monotonicMs() - lastMs < quietMs;
    return outbox.list().some(({ kind, subject, message }) => {
      const ageMs = draft.at - message.at;
      return identityOf({ ...message, kind, subject }) === identity && ageMs >= 0 && ageMs < quietMs;
    });
  };

  const report = (event: NotificationEvent, draft: EventDraft | undefined): void => {
    if (draft === undefined || !isReported(event) || isRepeated(draft)) return;
    if (reportedAtMs.size >= maxRemembered) reportedAtMs.clear();
    reportedAtMs.set(identityOf(draft), clock.monotonicMs());
    outbox.post(draft, alertChannels(draft.severity, has));
  };

  return {
    operationEnded: (event: EndedOperationEvent): void => {
      const now = clock.now();
      // One that nobody's key has started is of automatic updates, which report by themselves.
      if (event.spec.keyId === null || now - (event.state.finishedAt ?? now) > longestDownMs) return;
      report("operations", operationDraft(event, host, now));
    },
    pluginDisabled: (event: PluginEvent): void => report("plugins", pluginDraft(event, host, clock.now())),
    approvalWanted: (event: ApprovalNotice): void =>
      report("approvals", approvalDraft(event, host, publicUrl, clock.now())),
    auditBroken: (event: AuditBreak): void => report("audit", auditDraft(event, host, clock.now())),
    expiredKeyUsed: (event: ExpiredKeyEvent): void => report("keys", expiredKeyDraft(event, host, clock.now())),
  };
}
