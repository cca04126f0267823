import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** A control group of the machine with a limit, in which processes of the guest run as in a container. */
export interface ControlGroup {
  /** Path in its hierarchies, as the kernel log has it. */
  readonly path: string;
  /** Runs a command of the guest in the group. @returns what it printed, and how it ended. */
  readonly exec: (argv: readonly string[]) => Promise<{ readonly stdout: string; readonly exitCode: number }>;
  /** Runs a command of the guest in the group with the group as the root of what it sees of control groups. */
  readonly execContained: (argv: readonly string[]) => Promise<string>;
}

/** Files of the group with what is written into them, by controller where each has a hierarchy of its own. */
export interface GroupLimit {
  readonly v1: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly v2: { readonly controller: string; readonly files: Readonly<Record<string, string>> };
}

export const memoryLimit = (bytes: number): GroupLimit => ({
  v1: { memory: { "memory.limit_in_bytes": String(bytes) } },
  v2: { controller: "memory", files: { "memory.max": String(bytes) } },
});

const periodMicros = 100_000;
/** Of one processor or a part of it, which the group gets before all others, however busy the machine is. */
export const processorLimit = (processors: number): GroupLimit => {
  const quota = String(processors * periodMicros);
  return {
    v1: { cpu: { "cpu.cfs_quota_us": quota, "cpu.shares": "262144" }, cpuacct: {} },
    v2: { controller: "cpu", files: { "cpu.max": `${quota} ${periodMicros}`, "cpu.weight": "10000" } },
  };
};

const root = "/sys/fs/cgroup";

/** Folders in which groups with a limit can be made, what is written there, and how a container mounts its own. */
function hierarchies({ v1, v2 }: GroupLimit) {
  const controllers = Object.keys(v1);
  if (controllers.every((name) => existsSync(join(root, name, "cgroup.procs")))) {
    const mounts = controllers.map(
      (name) => `mkdir ${root}/${name} && mount -t cgroup -o ${name} none ${root}/${name}`,
    );
    return {
      folders: Object.entries(v1).map(([name, files]) => ({ folder: join(root, name), files })),
      mount: [`mount -t tmpfs none ${root}`, ...mounts].join(" && "),
    };
  }
  const delegated = join(root, "cgroup.subtree_control");
  if (existsSync(delegated) && readFileSync(delegated, "utf8").split(/\s+/).includes(v2.controller))
    return { folders: [{ folder: root, files: v2.files }], mount: `mount -t cgroup2 none ${root}` };
  throw new Error(`this machine has no control groups with a controller for ${v2.controller}`);
}

let made = 0;

/** Makes a group with a limit, and removes it when the work is done or has failed. */
export async function withControlGroup(
  { host }: Pick<Session, "host">,
  limit: GroupLimit,
  work: (group: ControlGroup) => Promise<void>,
): Promise<void> {
  const { folders, mount } = hierarchies(limit);
  made += 1;
  const path = `/steward-test-${process.pid}-${made}`;
  const groups = folders.map(({ folder, files }) => ({ group: join(folder, path), files }));
  for (const { group } of groups) mkdirSync(group);
  try {
    for (const { group, files } of groups)
      for (const [name, text] of Object.entries(files)) writeFileSync(join(group, name), text);
    // The shell goes into the groups and then becomes the command, which enters the guest.
    const enter = async (argv: readonly string[]) => {
      const each = 'for group in $0; do echo 0 > "$group/cgroup.procs" || exit; done; exec "$@"';
      const into = ["sh", "-c", each, groups.map(({ group }) => group).join(" ")];
      return runCommand([...into, ...(await host.enter(argv))], { allowFailure: true });
    };
    await work({
      path,
      exec: enter,
      async execContained(argv) {
        const contained = ["unshare", "--cgroup", "--mount", "sh", "-ec", `${mount}; exec "$@"`, "contained", ...argv];
        const { stdout, stderr, exitCode } = await enter(contained);
        if (exitCode !== 0)
          throw new Error(`cannot run ${argv.join(" ")} in a group: exit code ${exitCode}: ${stderr}`);
        return stdout;
      },
    });
  } finally {
    // A process that has just ended may still be in it.
    for (const { group } of groups) await eventually(() => rmdirSync(group));
  }
}
