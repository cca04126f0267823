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
import { type Logger, onceAMinute } from "#telemetry/logger.ts";

const headIntervalMs = 10 * 60_000;

export function createAuditPart({
  audit,
  clock,
  log,
}: { readonly audit: AuditLog } & Pick<PartContext, "clock"> & { readonly log: Pick<Logger, "error" | "warn"> }) {
  const refusals = createRefusals({ log: audit, clock });
  const verification = createVerification({
    log: audit,
    clock,
    onFailed: (error) => log.warn({ reason: errorSummary(error) }, "audit log cannot be verified"),
  });
  const { start, onBroken } = verification;
  onBroken((found) => log.error({ ...found }, "audit log is broken"));
  return {
    log: audit,
    handlers: auditHandlers({ log: audit }),
    refusals,
    start,
    onBroken,
    dispose(): void {
      verification.dispose();
      refusals.dispose();
    },
  };
}

export type AuditPart = ReturnType<typeof buildAuditPart>;

export function buildAuditPart({ config, version, clock, log }: PartContext) {
  const { stateDir, settings } = config;
  const { max_size: maxSize, keep_files: keepFiles = defaultAuditLimits.keepFiles } = settings.audit ?? {};
  const complain = onceAMinute((reason) => log.error({ reason }, "audit log cannot be written"), clock.monotonicMs);
  // Checkpoints are needed for verification, whatever the log level.
  const headLog = log.child({}, { level: "info" });
  let toldSeq = 0;
  const tellHead = (): void => {
    const { seq, hash } = files.head();
    if (seq === toldSeq) return;
    toldSeq = seq;
    headLog.info({ seq, hash, folder: files.folder }, checkpointMessage);
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
    onRotated: tellHead,
  });
  const stopTelling = clock.every(headIntervalMs, tellHead);
  const part = createAuditPart({ audit: files, clock, log });
  const pid = String(process.pid);
  return {
    ...part,
    ...files,
    started(): void {
      const target = { version, pid, ...(hasRootSide(stateDir) && { [loggedMember]: "logged" }) };
      files.record(auditEvent("service.started", clock.now(), { target }));
      tellHead();
    },
    dispose(): void {
      part.dispose();
      stopTelling();
      files.record(auditEvent("service.stopped", clock.now(), { target: { pid } }));
      tellHead();
      files.dispose();
    },
  };
}
