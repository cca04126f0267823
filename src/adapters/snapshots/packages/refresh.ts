import type { Exec } from "#adapters/exec/index.ts";

/** What has to be told, or made anew, after files of /etc are as they were. */
const followers = [
  { files: /^systemd\//, argv: ["/usr/bin/systemctl", "daemon-reload"] },
  { files: /^ld\.so\.conf/, argv: ["/usr/sbin/ldconfig"] },
] as const;

/** Lets the host take up files of /etc. @returns what did not go well, a line for each. */
export const createRefresh =
  ({ exec }: { exec: Exec }) =>
  async (paths: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    const faults: string[] = [];
    for (const { files, argv } of followers) {
      if (!paths.some((path) => files.test(path))) continue;
      const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: 60_000 });
      if (exitCode !== 0) faults.push(`${argv.join(" ")}: ${stderr.trim()}`);
    }
    return faults;
  };
