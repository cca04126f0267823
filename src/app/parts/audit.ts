import { defaultAuditLimits, openAuditLog } from "#adapters/audit/index.ts";
import { checkpointMessage } from "#app/audit-heads.ts";
import type { PartContext } from "#app/part.ts";
import { toBytes } from "#config/text.ts";
import { auditEvent, loggedMember } from "#domain/audit/entry.ts";
import { auditHandlers } from "#domain/audit/handlers.ts";
import { createRefusals } from "#domain/audit/refusals.ts";
import { createVerification } from "#domain/audit/verification.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import { errorSummary } from "#kernel/errors.ts";
import { hasRootSide } from "#root/places.ts";
import { onceAMinute } from "#telemetry/logger.ts";

const headIntervalMs = 10 * 60_000;

interface AuditAdapters {
  readonly log: AuditLog;
  /** Why entries cannot be written; undefined while they can. */
  readonly check: () => string | undefined;
  /** Records the start of the service. */
  readonly started: () => void;
  readonly dispose: () => void;
}

function openAudit({ config, version, clock, log }: PartContext): AuditAdapters {
  const { stateDir, settings } = config;
  const { max_size: maxSize, keep_files: keepFiles = defaultAuditLimits.keepFiles } = settings.audit ?? {};
  const complain = onceAMinute((reason) => log.error({ reason }, "cannot write the audit log"), clock.monotonicMs);
  // Checkpoints are needed for verification, whatever the log level.
  const headLog = log.child({}, { level: "info" });
  let loggedSeq = 0;
  const logHead = (): void => {
    const { seq, hash } = files.head();
    if (seq === loggedSeq) return;
    loggedSeq = seq;
    headLog.info({ seq, hash, folder: files.directory }, checkpointMessage);
  };
  const files = openAuditLog({
    stateDir,
    clock,
    limits: { maxBytes: maxSize === undefined ? defaultAuditLimits.maxBytes : toBytes(maxSize), keepFiles },
    onTrouble(error, entry) {
      complain(errorSummary(error));
      // Until the file can be written, the entry is in the service's log.
      if (entry !== undefined) log.error({ entry }, "audit entry waits to be written");
    },
    onRepaired: (faults, entry) => log.error({ members: faults, entry }, "invalid audit entry was completed"),
    onRotated: logHead,
  });
  const stopNotifying = clock.every(headIntervalMs, logHead);
  const pid = String(process.pid);
  return {
    log: files,
    check: files.check,
    started(): void {
      const target = { version, pid, ...(hasRootSide(stateDir) && { [loggedMember]: "logged" }) };
      files.record(auditEvent("service.started", clock.now(), { target }));
      logHead();
    },
    dispose(): void {
      stopNotifying();
      files.record(auditEvent("service.stopped", clock.now(), { target: { pid } }));
      logHead();
      files.dispose();
    },
  };
}

export function auditPart(context: PartContext, _earlier: unknown, adapters = openAudit(context)) {
  const { clock, log } = context;
  const refusals = createRefusals({ log: adapters.log, clock });
  const verification = createVerification({
    log: adapters.log,
    clock,
    onFailed: (error) => log.warn({ reason: errorSummary(error) }, "cannot verify the audit log"),
  });
  const { start, onBroken } = verification;
  onBroken((found) => log.error({ ...found }, "audit log is broken"));
  return {
    ...adapters,
    handlers: auditHandlers(adapters),
    refusals,
    start,
    onBroken,
    dispose(): void {
      verification.dispose();
      refusals.dispose();
      adapters.dispose();
    },
  };
}

export type AuditPart = ReturnType<typeof auditPart>;
