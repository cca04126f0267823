import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** A control group of the machine with a limit on memory, in which processes of the guest run as in a container. */
export interface MemoryGroup {
  /** Path in its hierarchy, as the kernel log has it. */
  readonly path: string;
  /** Runs a command of the guest in the group. @returns what it printed, and how it ended. */
  readonly exec: (argv: readonly string[]) => Promise<{ readonly stdout: string; readonly exitCode: number }>;
  /** Runs a command of the guest in the group with the group as the root of what it sees of control groups. */
  readonly execContained: (argv: readonly string[]) => Promise<string>;
}

const v1 = "/sys/fs/cgroup/memory";
const v2 = "/sys/fs/cgroup";

/** Where groups with a limit can be made, and how a container mounts its own. */
function hierarchy(): { folder: string; limitFile: string; mount: string } {
  if (existsSync(join(v1, "memory.limit_in_bytes"))) {
    const mount = `mount -t tmpfs none ${v2} && mkdir ${v1} && mount -t cgroup -o memory none ${v1}`;
    return { folder: v1, limitFile: "memory.limit_in_bytes", mount };
  }
  const delegated = join(v2, "cgroup.subtree_control");
  if (existsSync(delegated) && readFileSync(delegated, "utf8").split(/\s+/).includes("memory"))
    return { folder: v2, limitFile: "memory.max", mount: `mount -t cgroup2 none ${v2}` };
  throw new Error("cannot limit memory: this machine has no control groups with a memory controller");
}

/** Makes a group with a limit, and removes it when the work is done or has failed. */
export async function withMemoryGroup(
  { host }: Pick<Session, "host">,
  limitBytes: number,
  work: (group: MemoryGroup) => Promise<void>,
): Promise<void> {
  const { folder, limitFile, mount } = hierarchy();
  const path = `/steward-test-${process.pid}-${limitBytes}`;
  const group = join(folder, path);
  mkdirSync(group);
  try {
    writeFileSync(join(group, limitFile), String(limitBytes));
    // The shell goes into the group and then becomes the command, which enters the guest.
    const enter = async (argv: readonly string[]) => {
      const into = ["sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', group];
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
    await eventually(() => rmdirSync(group));
  }
}
