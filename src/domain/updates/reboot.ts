import { isRecord } from "#kernel/values.ts";

/** Packages whose old version runs until the next boot. */
const untilReboot =
  /^(linux-(image|modules|headers)|kernel|intel-microcode|amd64-microcode|libc6$|glibc|libc-bin$|systemd(-sysv)?$|dbus(-daemon|-broker)?$|firmware-|grub-)/;

export const requireReboot = (changed: readonly { readonly name: string }[]): boolean =>
  changed.some(({ name }) => untilReboot.test(name));

const returning: readonly string[] = ["updates.rollback", "updates.apply"];

interface OperationRecord {
  readonly spec: { readonly kind: string; readonly createdAt: number };
  readonly state: { readonly result: unknown } | undefined;
}

/**
 * Whether an operation since the boot is a rollback that takes effect with the next boot: state written until then has to be copied.
 * @param bootedAt epoch milliseconds.
 */
export function rollbackWaits({ spec, state }: OperationRecord, bootedAt: number): boolean {
  if (!returning.includes(spec.kind) || spec.createdAt < bootedAt) return false;
  const result = state?.result;
  return isRecord(result) && result["requires_reboot"] === true;
}
