import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** A control group of the machine with a limit of memory, in which processes of the guest run as in a container. */
interface ControlGroup {
  /** Path in its hierarchy, as the kernel log has it. */
  readonly path: string;
  /** Runs a command of the guest in the group. @returns what it printed, and how it ended. */
  readonly exec: (argv: readonly string[]) => Promise<{ readonly stdout: string; readonly exitCode: number }>;
}

/** Where groups with a limit can be made, and which file has the limit. */
function hierarchy(): { readonly directory: string; readonly limit: string } {
  const root = "/sys/fs/cgroup";
  if (existsSync(join(root, "memory", "cgroup.procs")))
    return { directory: join(root, "memory"), limit: "memory.limit_in_bytes" };
  const delegated = join(root, "cgroup.subtree_control");
  if (existsSync(delegated) && readFileSync(delegated, "utf8").split(/\s+/).includes("memory"))
    return { directory: root, limit: "memory.max" };
  throw new Error("this machine has no control groups with a controller for memory");
}

let made = 0;

/** Makes a group with so much memory, and removes it when the work is done or has failed. */
export async function withControlGroup(
  { host }: Pick<Session, "host">,
  bytes: number,
  work: (group: ControlGroup) => Promise<void>,
): Promise<void> {
  const { directory, limit } = hierarchy();
  made += 1;
  const path = `/steward-test-${process.pid}-${made}`;
  const group = join(directory, path);
  mkdirSync(group);
  try {
    writeFileSync(join(group, limit), String(bytes));
    await work({
      path,
      // The shell goes into the group and then becomes the command, which enters the guest.
      exec: async (argv) => {
        const into = ["sh", "-c", 'echo 0 > "$0/cgroup.procs" || exit; exec "$@"', group];
        return runCommand([...into, ...(await host.enter(argv))], { allowFailure: true });
      },
    });
  } finally {
    // A process that has just ended may still be in it.
    await eventually(() => rmdirSync(group));
  }
}
