import { isRecord } from "#kernel/values.ts";

/** Packages whose old version goes on running until the host boots again. */
const untilReboot =
  /^(linux-(image|modules|headers)|kernel|intel-microcode|amd64-microcode|libc6$|glibc|libc-bin$|systemd(-sysv)?$|dbus(-daemon|-broker)?$|firmware-|grub-)/;

/** Whether a change of these packages is complete only after a reboot, as far as their names tell. */
export const requireReboot = (changed: readonly { readonly name: string }[]): boolean =>
  changed.some(({ name }) => untilReboot.test(name));

const returning: readonly string[] = ["updates.rollback", "updates.apply"];

/** An operation as it was written down. */
interface OperationRecord {
  readonly spec: { readonly kind: string; readonly createdAt: number };
  readonly state: { readonly result: unknown } | undefined;
}

/**
 * Whether an operation since the boot may be a rollback, be it that of a guarded update, that takes effect with the next one: the
 * state that is written until then has to go with it.
 * @param bootedAt epoch milliseconds.
 */
export function rollbackWaits({ spec, state }: OperationRecord, bootedAt: number): boolean {
  if (!returning.includes(spec.kind) || spec.createdAt < bootedAt) return false;
  const result = state?.result;
  return isRecord(result) && result["requires_reboot"] === true;
}
