/** systemd-coredump's own messages bear this id. */
export const coredumpMessageId = "fc2e22bc6ee647b6b90729ab34a250b1";

type UnitField =
  | "_SYSTEMD_UNIT"
  | "UNIT"
  | "COREDUMP_UNIT"
  | "OBJECT_SYSTEMD_UNIT"
  | "_SYSTEMD_SLICE"
  | "_PID"
  | "_UID"
  | "_TRANSPORT"
  | "MESSAGE_ID";

/**
 * The units that an entry belongs to, by the rules of `journalctl -u`: the one that wrote it and its slice; what systemd
 * (process 1) or a program of root wrote about a unit; crashes that root's systemd-coredump tells of. What others claim
 * does not count. `kernel` for the kernel's own messages.
 * @param values all values of a field of the entry.
 */
export function unitsOfEntry(values: (name: UnitField) => readonly string[]): readonly string[] {
  const isRoot = values("_UID").includes("0");
  const isCoredump = isRoot && values("MESSAGE_ID").includes(coredumpMessageId);
  return [
    ...new Set([
      ...values("_SYSTEMD_UNIT"),
      ...(values("_PID").includes("1") ? values("UNIT") : []),
      ...(isCoredump ? values("COREDUMP_UNIT") : []),
      ...(isRoot ? values("OBJECT_SYSTEMD_UNIT") : []),
      ...values("_SYSTEMD_SLICE").filter((name) => name.endsWith(".slice")),
      ...(values("_TRANSPORT").includes("kernel") ? ["kernel"] : []),
    ]),
  ];
}
