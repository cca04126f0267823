import { defaultAuditLimits, openAuditLog } from "#adapters/audit/index.ts";
import { checkpointMessage } from "#app/audit-heads.ts";
import type { PartContext } from "#app/part.ts";
import { toBytes } from "#config/receiver.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { auditHandlers } from "#domain/audit/handlers.ts";
import { createRefusals } from "#domain/audit/refusals.ts";
import { loggedMember } from "#domain/audit/root-requests.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import { errorSummary } from "#kernel/errors.ts";
import { isAtDoor } from "#root/places.ts";
import { onceAMinute } from "#telemetry/repeated-trouble.ts";

/** How often the newest entry is written down in the journal when there are new ones. */
const headIntervalMs = 10 * 60_000;

/** The audit log, and what is refused too often to be written down each time. */
export function createAuditPart({ log, clock }: { readonly log: AuditLog } & Pick<PartContext, "clock">) {
  const refusals = createRefusals({ log, clock });
  return { handlers: auditHandlers({ log }), refusals, dispose: refusals.dispose };
}

export type AuditPart = ReturnType<typeof buildAuditPart>;

/** Builds the part on the files of the audit log; their newest entries go to the service's log now and then. */
export function buildAuditPart({ config, version, clock, log }: PartContext) {
  const { stateDir, settings } = config;
  const { max_size: maxSize, keep_files: keepFiles = defaultAuditLimits.keepFiles } = settings.audit ?? {};
  const complain = onceAMinute((reason) => log.error({ reason }, "audit log cannot be written"), clock.monotonicMs);
  // Heads are there to be compared with later, so they are no matter of how much somebody wants to read.
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
      // The log of the service has it until the file does.
      if (entry !== undefined) log.error({ entry }, "audit entry waits to be written");
    },
    onRepaired: (faults, entry) => log.error({ members: faults, entry }, "invalid audit entry was completed"),
    onRotated: tellHead,
  });
  const stopTelling = clock.every(headIntervalMs, tellHead);
  const part = createAuditPart({ log: files, clock });
  const pid = String(process.pid);
  return {
    ...part,
    ...files,
    /** Records that the service starts, and whether it records what it has root do. */
    started(): void {
      const target = { version, pid, ...(isAtDoor(stateDir) && { [loggedMember]: "logged" }) };
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
