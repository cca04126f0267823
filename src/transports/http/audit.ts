import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode } from "#contract/errors.ts";
import { errorStatus, isErrorStatus } from "#contract/errors.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditEntry, AuditLog } from "#domain/audit/ports.ts";
import { callsRefused, type Refusals } from "#domain/audit/refusals.ts";
import type { Clock } from "#kernel/clock.ts";
import { addressGroup } from "./address.ts";
import { withoutSecrets } from "./redact.ts";
import { isDryRun } from "./request.ts";
import type { ClientCertificates } from "./tls.ts";

export interface AuditorPorts {
  readonly audit: Pick<AuditLog, "record" | "begin">;
  /** Takes refused calls, of which there may be many. */
  readonly refusals: Pick<Refusals, "refused">;
  readonly certificates: Pick<ClientCertificates, "of">;
  readonly clock: Pick<Clock, "now">;
}

/** A call that was refused before there was a request. */
export interface MalformedCall {
  readonly code: ErrorCode;
  readonly remoteAddress: string | undefined;
  readonly requestId: string;
}

export interface Auditor {
  /** Before a mutation is carried out. */
  readonly begins: (request: FastifyRequest) => void;
  /** Once it is clear what a mutation is answered, and before the answer leaves. */
  readonly answering: (request: FastifyRequest, reply: FastifyReply) => void;
  /** When the answer has left, or nobody is there to have it. */
  readonly ended: (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean) => void;
  readonly malformed: (call: MalformedCall) => void;
}

const isMutation = ({ route }: FastifyRequest): boolean =>
  route?.audit !== undefined && route.audit.operation.effect !== "read";

/** What says that somebody may not, wherever it is found out. */
const denials: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"];

function outcomeOf({ isUnsuccessful }: FastifyRequest, status: number): AuditEntry["outcome"] {
  if (isErrorStatus(status)) return status < errorStatus.INTERNAL_ERROR ? "refused" : "failed";
  return isUnsuccessful ? "failed" : "ok";
}

/** What the path names. */
const paramsOf = ({ route, params }: FastifyRequest): Readonly<Record<string, string>> =>
  route?.audit?.operation.params === undefined ? {} : withoutSecrets(params as Record<string, string>);

/** Whether a call has an entry of its own, is counted as refused, or is not written down. */
function kindOf(request: FastifyRequest, status: number): "own" | "refused" | undefined {
  const { route, caller, fault, isLetIn, touched } = request;
  if (isErrorStatus(status)) {
    const isTried = caller !== undefined && isMutation(request) && fault?.code !== "RATE_LIMITED";
    if (isTried) return "own";
    // A path that nobody has is nobody's mistake in a parameter.
    const isDenied = !isLetIn || route === undefined || (fault !== undefined && denials.includes(fault.code));
    if (isDenied) return "refused";
  }
  return isMutation(request) || touched !== undefined ? "own" : undefined;
}

/**
 * What is written down: every mutation that somebody with a key asked for, each read that has changed something, and calls
 * that were refused. Not the others: what was read, and reads that were wrong in a parameter.
 */
export function createAuditor({ audit, refusals, certificates, clock }: AuditorPorts): Auditor {
  const certificateUsed = ({ caller, raw }: FastifyRequest): string | null => {
    const shown = caller?.credential === "certificate" ? certificates.of(raw.socket) : undefined;
    return typeof shown === "object" ? shown.sha256 : null;
  };

  /** Who asks for what, from where. */
  const askedBy = (request: FastifyRequest): Partial<AuditEntry> => {
    const { route, caller } = request;
    return {
      method: request.method,
      path: route?.endpoint ?? null,
      dry_run: isMutation(request) && isDryRun(request),
      key_id: caller?.keyId ?? null,
      key_name: caller?.keyName ?? null,
      certificate: certificateUsed(request),
      remote_address: request.remoteAddress,
      request_id: request.id,
    };
  };

  const entryOf = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): AuditEntry => {
    const { route, fault, touched } = request;
    const { statusCode: status } = reply;
    const { operation_id: operationId = null, ...made } = touched ?? {};
    return auditEvent(route?.audit?.name ?? callsRefused, clock.now(), {
      ...askedBy(request),
      outcome: outcomeOf(request, status),
      status,
      error: fault?.code ?? null,
      target: {
        ...paramsOf(request),
        ...(!request.isLetIn && fault?.field !== undefined && { field: fault.field }),
        ...made,
      },
      replayed: request.isReplay,
      operation_id: operationId,
      client_gone: isClientGone,
      duration_ms: Math.round(reply.elapsedTime),
    });
  };

  const write = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    if (request.isAudited) return;
    const kind = kindOf(request, reply.statusCode);
    if (kind === undefined) return;
    request.isAudited = true;
    const entry = entryOf(request, reply, isClientGone);
    if (kind === "own") {
      audit.record(entry, request.forgetBegun);
      return;
    }
    refusals.refused(`${addressGroup(request.remoteAddress ?? "")} ${request.caller?.keyId ?? ""}`.trimEnd(), entry);
    request.forgetBegun?.();
  };

  return {
    begins(request) {
      const name = request.route?.audit?.name;
      if (name === undefined || !isMutation(request) || isDryRun(request)) return;
      const entry = { ...askedBy(request), outcome: "failed", target: paramsOf(request) } as const;
      request.forgetBegun = audit.begin(auditEvent(name, clock.now(), entry));
    },
    answering: (request, reply) => write(request, reply, reply.raw.destroyed),
    ended: write,
    malformed({ code, remoteAddress, requestId }) {
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

const isStream = (payload: unknown): boolean => typeof payload === "object" && payload !== null && "pipe" in payload;

/**
 * Has mutations written down before they are answered, on every route that is added from here on. One that is answered in
 * pieces is written down when the last has left: only then is it known what came of it.
 */
export function addAudit(app: FastifyInstance, { answering }: Pick<Auditor, "answering">): void {
  app.addHook("onRoute", (options) => {
    const { audit } = options.config ?? {};
    if (audit === undefined || audit.operation.effect === "read") return;
    options.onSend = [
      (request, reply, payload, done) => {
        if (!isStream(payload)) answering(request, reply);
        done(null, payload);
      },
      ...[options.onSend ?? []].flat(),
    ];
  });
}
