import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { PluginRunner } from "#domain/ports/plugins.ts";
import { errnoCode } from "#kernel/errors.ts";

/** The plugin interface has its figures in a few lines; more is a plugin that has gone wrong. */
const maxOutputBytes = 64 * 1024;
/** As long as a timer can be: the time limit of the check comes as its signal. */
const timeoutMs = 2 ** 31 - 1;

function describeFailure(error: CommandFailed, program: string): string {
  const code = errnoCode(error.cause);
  if (code === "ENOENT") return "does not exist, or the interpreter in its first line does not";
  if (code === "EACCES") return "may not be executed";
  const reason = error.message.replace(`cannot run ${program}: `, "");
  return reason.startsWith("killed by") ? `was ${reason}` : `cannot be run: ${reason}`;
}

export interface PluginUser {
  readonly uid: number;
  readonly gid: number;
}

type Argv = readonly [program: string, ...args: string[]];

const asUser = ({ uid, gid }: PluginUser, command: Argv): Argv => [
  "/usr/bin/setpriv",
  `--reuid=${uid}`,
  `--regid=${gid}`,
  "--init-groups",
  "--inh-caps=-all",
  "--ambient-caps=-all",
  "--bounding-set=-all",
  "--no-new-privs",
  "--",
  ...command,
];

/** @param ports.user the user of the plugins; this process's by default. */
export function createPluginRunner({
  exec,
  user,
}: {
  readonly exec: Exec;
  readonly user?: PluginUser | undefined;
}): PluginRunner {
  return {
    async run([program, ...args], signal) {
      try {
        const command: Argv = [program, ...args];
        const { exitCode, stdout, stderr, truncated } = await exec(user ? asUser(user, command) : command, {
          signal,
          timeoutMs,
          maxOutputBytes,
        });
        // The cap holds for each output; only this one can have reached it. Replaced bytes make it longer, never shorter.
        const isCut = truncated && Buffer.byteLength(stdout) >= maxOutputBytes;
        return { isEnded: true, exitCode, stdout, stderr, isCut };
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error;
        return { isEnded: false, reason: describeFailure(error, program) };
      }
    },
  };
}
