const unitPattern = /^[A-Za-z0-9:_.\\@-]+\.(?:service|scope|socket|mount|swap)$/;

/**
 * The unit of the system's manager that a control group belongs to, by its path: below the slices. What is further below is the unit's
 * own, such as the units of a user's manager and containers. Null for none.
 */
export function unitOfControlGroup(path: string): string | null {
  const name = path.split("/").find((part) => part !== "" && part !== ".." && !part.endsWith(".slice"));
  // systemd puts an underscore before names that the kernel could take for its own.
  const unit = name?.replace(/^_/, "") ?? "";
  return unitPattern.test(unit) ? unit : null;
}

/** The unit of a process by its `/proc/PID/cgroup` (cgroups(7)). Null for none. */
export function unitOfProcess(cgroup: string): string | null {
  // Where both versions of control groups are mounted, only that of systemd's own names the unit.
  const lines = cgroup.split("\n");
  const line = lines.find((each) => each.includes(":name=systemd:")) ?? lines.find((each) => each.startsWith("0::"));
  return line === undefined ? null : unitOfControlGroup(line.slice(line.indexOf("/")));
}
