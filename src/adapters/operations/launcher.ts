import { randomBytes } from "node:crypto";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { canStartUnits, escapeArgument } from "#adapters/exec/command.ts";
import type { StartDetached } from "#adapters/exec/detached.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { TaskLauncher } from "#domain/ports/operations.ts";
import { isOperationId } from "./files.ts";
import { isAlive } from "./process.ts";

export interface TaskProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  readonly environment: Readonly<Record<string, string>>;
}

const baseEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };

const stopTimeout = "30min";

const properties = [
  "KillMode=process",
  `TimeoutStopSec=${stopTimeout}`,
  // A process of the package manager that the kernel kills for its memory is a failure to report, not the end of the task.
  "OOMPolicy=continue",
  "Restart=no",
  "WorkingDirectory=/",
  "UMask=0077",
];

/** In a systemd unit, outside the service's control group; without systemd in a session of its own, with output to a file. */
export function createTaskLauncher(ports: {
  readonly exec: Exec;
  readonly startDetached: StartDetached;
  readonly stateDir: string;
  readonly program: TaskProgram;
  readonly hasSystemd?: () => boolean;
}): TaskLauncher {
  const { exec, startDetached, stateDir, hasSystemd = canStartUnits } = ports;
  const { argv, environment } = ports.program;
  const [program, ...words] = argv;

  const startUnit = async (id: string): Promise<void> => {
    // A name of its own for each launch: that of an earlier one may still be taken, and who is second has nothing to do.
    const unit = `steward-task-${id}-${randomBytes(3).toString("hex")}`;
    const { exitCode, stderr } = await exec([
      "systemd-run",
      `--unit=${unit}`,
      `--description=Steward operation ${id}`,
      "--collect",
      "--quiet",
      "--no-ask-password",
      "--service-type=exec",
      ...properties.map((property) => `--property=${property}`),
      ...Object.entries({ ...baseEnvironment, ...environment }).map(([name, value]) => `--setenv=${name}=${value}`),
      "--",
      program,
      ...[...words, id].map(escapeArgument),
    ]);
    if (exitCode !== 0) throw new Error(`cannot start ${unit}.service: ${stderr.trim() || `exit code ${exitCode}`}`);
  };

  const startProcess = async (id: string): Promise<void> => {
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants;
    const path = join(stateDir, "operations", id, "output");
    const output = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      await startDetached([program, ...words, id], { environment: { ...baseEnvironment, ...environment }, output });
    } finally {
      closeSync(output);
    }
  };

  return {
    async launch(id) {
      if (!isOperationId(id)) throw new Error(`cannot start a task for ${JSON.stringify(id)}`);
      await (hasSystemd() ? startUnit(id) : startProcess(id));
    },
    isAlive,
  };
}

export function createHostStopping({ exec }: { readonly exec: Exec }): () => Promise<boolean> {
  return async () => {
    if (!existsSync("/run/systemd/system")) return false;
    // It says so with an exit code that is not 0.
    const { stdout } = await exec(["/usr/bin/systemctl", "is-system-running"]);
    return stdout.trim() === "stopping";
  };
}
