import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Where systemd runs the machine, it makes the control group of a guest, as a scope with the name of the run.
 * Elsewhere two guests would share one, each would take the other's services for its own: `enterCgroup` makes one.
 */
export function machineRunsSystemd(): boolean {
  return existsSync("/run/systemd/system");
}

/** Moves this process into a new control group, in each hierarchy in which a guest's systemd keeps its services. */
export function enterCgroup(name: string): void {
  for (const directory of cgroupDirectories(name)) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "cgroup.procs"), "0");
  }
}

/** The processes in the control group of a guest, with all groups below. */
export function cgroupProcesses(name: string): number[] {
  return cgroupDirectories(name).flatMap((directory) =>
    [directory, ...directoriesBelow(directory)].flatMap((path) => {
      try {
        return readFileSync(join(path, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
      } catch {
        return [];
      }
    }),
  );
}

/** Removes the control group with all below it. @returns whether it is gone: one in which a process is still ending stays. */
export function removeCgroup(name: string): boolean {
  const directories = cgroupDirectories(name).filter((directory) => existsSync(directory));
  for (const directory of directories) {
    for (const path of [...directoriesBelow(directory).reverse(), directory]) {
      try {
        rmdirSync(path);
      } catch {
        // Busy; said by what is returned.
      }
    }
  }
  return !directories.some((directory) => existsSync(directory));
}

function cgroupDirectories(name: string): string[] {
  const path = machineRunsSystemd() ? join("system.slice", `${name}.scope`) : name;
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return mounts.flatMap((line) => {
    const [mount = "", superBlock = ""] = line.split(" - ");
    const [type, , options = ""] = superBlock.split(" ");
    const isSystemdOwn = type === "cgroup" && options.split(",").includes("name=systemd");
    const mountPoint = mount.split(" ")[4];
    return mountPoint !== undefined && (type === "cgroup2" || isSystemdOwn) ? [join(mountPoint, path)] : [];
  });
}

function directoriesBelow(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return entries.flatMap((entry) => [join(directory, entry.name), ...directoriesBelow(join(directory, entry.name))]);
  } catch {
    return [];
  }
}
