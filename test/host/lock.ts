import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Log, plainEnvironment } from "./commands.ts";

/**
 * Runs `work` while no other process on this machine holds the lock of this name.
 * The kernel keeps the lock for a child that ends with its input, so a killed holder never leaves one behind.
 */
export async function withLock<T>(path: string, log: Log, work: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [path, "cat"], {
    env: plainEnvironment,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(holder, "exit");
  const failed = ended.then(() => {
    throw new Error(`cannot lock ${path}: the lock holder ended (is flock of util-linux installed?)`);
  });
  failed.catch(() => undefined);
  const waiting = setTimeout(() => log(`waiting for another process that holds ${path}`), 1000);
  try {
    holder.stdin.on("error", () => undefined);
    holder.stdin.write("held\n");
    await Promise.race([once(holder.stdout, "data"), failed]);
    clearTimeout(waiting);
    return await work();
  } finally {
    clearTimeout(waiting);
    holder.stdin.end();
    await ended.catch(() => undefined);
  }
}
