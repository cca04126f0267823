import type { FastifyReply, FastifyRequest, onSendHookHandler } from "fastify";
import { type ErrorCode, errorStatus, isErrorStatus } from "#contract/errors.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { callsRefused, type Refusals } from "#domain/audit/refusals.ts";
import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import { addressGroup } from "./peers.ts";
import { isDryRun, type RequestRecord } from "./request-record.ts";
import type { ClientCertificates } from "./tls.ts";

export interface AuditorPorts {
  readonly audit: Pick<AuditLog, "record" | "begin">;
  readonly refusals: Pick<Refusals, "refused">;
  readonly certificates: Pick<ClientCertificates, "of">;
  readonly clock: Pick<Clock, "now">;
}

export type Auditor = ReturnType<typeof createAuditor>;

const isMutation = ({ route }: RequestRecord): boolean =>
  route?.audit !== undefined && route.audit.operation.effect !== "read";

/** Errors of callers without the right. */
const denials: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"];

function auditOutcome({ isUnsuccessful }: RequestRecord, status: number): AuditEntry["outcome"] {
  if (isErrorStatus(status)) return status < errorStatus.INTERNAL_ERROR ? "refused" : "failed";
  return isUnsuccessful ? "failed" : "ok";
}

const isStream = (payload: unknown): boolean => typeof payload === "object" && payload !== null && "pipe" in payload;

const secretLike = /[0-9A-Za-z]{43,}/g;
const containerId = /^[0-9a-f]{64}$/;

/** Path parameters without keys that somebody put there by mistake. */
const withoutSecrets = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, text]) => [
      name,
      text.replaceAll(secretLike, (run) => (containerId.test(run) ? run : "[secret]")),
    ]),
  );

/** What the caller gave as the reason to override a window. */
const overrideOf = ({ override }: RequestRecord): Record<string, string> =>
  override === undefined ? {} : withoutSecrets({ window: override.window, window_override: override.reason });

/** In which session of its key somebody called. */
/** The way by which the caller came, where that is not a key over HTTP. */
const wayOf = ({ caller }: RequestRecord): Record<string, string> => ({
  ...(caller?.session !== undefined && { session: caller.session.id }),
  ...(caller?.via !== undefined && {
    via: caller.via.transport,
    client: caller.via.client,
    ...defined({ stated_reason: caller.via.reason }),
  }),
});

const paramsOf = ({ record, params }: FastifyRequest): Readonly<Record<string, string>> =>
  record.route?.audit?.operation.params === undefined ? {} : withoutSecrets(params as Record<string, string>);

/** Whether a call has an entry of its own, is counted as refused, or is not written down. */
function recordedAs(record: RequestRecord, status: number): "own" | "refused" | undefined {
  const { route, caller, error, isAdmitted, touched } = record;
  if (isErrorStatus(status)) {
    const isTried = caller !== undefined && isMutation(record) && error?.code !== "RATE_LIMITED";
    if (isTried) return "own";
    // An unknown path is not a wrong parameter.
    const isDenied = !isAdmitted || route === undefined || (error !== undefined && denials.includes(error.code));
    if (isDenied) return "refused";
  }
  return isMutation(record) || touched !== undefined ? "own" : undefined;
}

/**
 * Writes the audit log: mutations that a known caller asked for, reads that changed something, and refused calls. Other reads,
 * also with wrong parameters, are left out.
 */
export function createAuditor({ audit, refusals, certificates, clock }: AuditorPorts) {
  const certificateUsed = ({ record: { caller, socket }, raw }: FastifyRequest): string | null => {
    const shown = caller?.credential === "certificate" ? certificates.of(socket ?? raw.socket) : undefined;
    return typeof shown === "object" ? shown.sha256 : null;
  };

  const askedBy = (request: FastifyRequest): Partial<AuditEntry> => {
    const { route, caller, remoteAddress } = request.record;
    return {
      method: request.method,
      path: route?.endpoint ?? null,
      dry_run: isMutation(request.record) && isDryRun(request),
      key_id: caller?.keyId ?? null,
      key_name: caller?.keyName ?? null,
      certificate: certificateUsed(request),
      remote_address: remoteAddress,
      request_id: request.id,
    };
  };

  const toAuditEntry = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): AuditEntry => {
    const { route, error, touched, isAdmitted, isReplay } = request.record;
    const { statusCode: status } = reply;
    const { operation_id: operationId = null, ...made } = touched ?? {};
    return auditEvent(route?.audit?.name ?? callsRefused, clock.now(), {
      ...askedBy(request),
      outcome: auditOutcome(request.record, status),
      status,
      error: error?.code ?? null,
      target: {
        ...paramsOf(request),
        ...(!isAdmitted && error?.field !== undefined && { field: error.field }),
        ...made,
        ...overrideOf(request.record),
        ...wayOf(request.record),
      },
      replayed: isReplay,
      operation_id: operationId,
      client_gone: isClientGone,
      duration_ms: Math.round(reply.elapsedTime),
    });
  };

  const write = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    const { record } = request;
    if (record.isAudited) return;
    const kind = recordedAs(record, reply.statusCode);
    if (kind === undefined) return;
    record.isAudited = true;
    const entry = toAuditEntry(request, reply, isClientGone);
    if (kind === "own") {
      audit.record(entry, record.forgetStarted);
      return;
    }
    refusals.refused(`${addressGroup(record.remoteAddress ?? "")} ${record.caller?.keyId ?? ""}`.trimEnd(), entry);
    record.forgetStarted?.();
  };

  return {
    begins: (request: FastifyRequest): void => {
      const { record } = request;
      const name = record.route?.audit?.name;
      if (name === undefined || !isMutation(record) || isDryRun(request)) return;
      const entry = {
        ...askedBy(request),
        outcome: "failed",
        target: { ...paramsOf(request), ...overrideOf(record), ...wayOf(record) },
      } as const;
      record.forgetStarted = audit.begin(auditEvent(name, clock.now(), entry));
    },
    /** Writes the entry of a mutation before its answer leaves, or after the last event where the answer is a stream. */
    answering: ((request, reply, payload, done) => {
      if (!isStream(payload)) write(request, reply, reply.raw.destroyed);
      done(null, payload);
    }) satisfies onSendHookHandler,
    ended: write,
    malformed: (code: ErrorCode, remoteAddress: string | undefined, requestId: string): void => {
      const entry = auditEvent(callsRefused, clock.now(), {
        outcome: "refused",
        status: errorStatus[code],
        error: code,
        remote_address: remoteAddress ?? null,
        request_id: requestId,
      });
      refusals.refused(addressGroup(remoteAddress ?? ""), entry);
    },
  };
}
