import type { Session } from "./session.ts";

/** Lines of the unit that say what its process is, and not what it may do. */
const ofTheProcess =
  /^(?:Type|NotifyAccess|WatchdogSec|Timeout\w+|Exec\w+|Restart\w*|SuccessExitStatus|Standard\w+|RuntimeDirectory\w*|Sockets)=/;

/** The lines of `[Service]` of the installed unit and its drop-ins that make its sandbox. */
async function sandboxLines({ shell }: Pick<Session, "shell">): Promise<readonly string[]> {
  const text = await shell("systemctl cat steward.service");
  let section = "";
  return text.split("\n").flatMap((line) => {
    if (line.startsWith("[")) section = line;
    return section === "[Service]" && /^\w+=/.test(line) && !ofTheProcess.test(line) ? [line] : [];
  });
}

export interface SandboxResult {
  readonly exitCode: number;
  /** Both streams. */
  readonly output: string;
}

/** Runs scripts as anyone who has taken over the service would: under its user and in the sandbox of its installed unit. */
export async function openSandbox(
  session: Pick<Session, "host" | "shell" | "writeUnits">,
): Promise<(script: string) => Promise<SandboxResult>> {
  const sandbox = await sandboxLines(session);
  let made = 0;
  return async (script) => {
    made += 1;
    const name = `taken-over-${made}`;
    const [path, output] = [`/opt/${name}.sh`, `/root/${name}.out`];
    await session.host.writeFile(path, script, 0o644);
    await session.writeUnits({
      [`${name}.service`]: [
        "[Service]",
        ...sandbox,
        "Type=oneshot",
        "TimeoutStartSec=60",
        // Of the service, which continues running beside it.
        "ReadWritePaths=-/run/steward-service",
        `ExecStart=/bin/sh ${path}`,
        `StandardOutput=append:${output}`,
        `StandardError=append:${output}`,
      ],
    });
    await session.host.exec(["systemctl", "start", `${name}.service`], { allowFailure: true, timeoutMs: 90_000 });
    const exitCode = Number(await session.shell(`systemctl show -P ExecMainStatus ${name}.service`));
    return { exitCode, output: await session.host.readFile(output) };
  };
}
