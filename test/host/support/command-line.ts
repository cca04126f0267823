import type { TerminalRun } from "../../process/support/terminal.ts";
import { installedPrograms } from "../program.ts";
import type { Session } from "./session.ts";

const driver = "/opt/steward/test/process/support/in-pty.py";
const plain = { PATH: "/usr/sbin:/usr/bin", HOME: "/root", TERM: "xterm-256color", LC_ALL: "C.UTF-8" };

/** Once something has been printed, something is typed, or a file of the host is made. */
interface Step {
  readonly wait: string;
  readonly send?: string;
  readonly mark?: string;
}
interface Setting {
  readonly columns?: number;
  readonly steps?: readonly Step[];
  readonly environment?: Readonly<Record<string, string>>;
  /** What another program pipes in. */
  readonly piped?: string;
}

/** The command line on a host, with the admin key unless set otherwise. */
export function commandLineOn(session: Session) {
  const keyed = (): Readonly<Record<string, string>> => ({
    STEWARD_URL: session.service.url,
    STEWARD_API_KEY: session.service.adminKey,
  });
  return {
    /** As a person sees it, at a terminal. */
    atTerminal: async (words: readonly string[], setting: Setting = {}): Promise<TerminalRun> => {
      const { columns = 80, steps = [], environment = keyed(), piped } = setting;
      const own = [...installedPrograms, ...words];
      const pipe = 'text=$1; shift; printf %s "$text" | "$@"';
      const argv = piped === undefined ? own : ["/bin/sh", "-c", pipe, "sh", piped, ...own];
      const task = { argv, env: { ...plain, ...environment }, columns, steps, timeout_s: 110 };
      const { stdout } = await session.host.exec(["python3", driver, JSON.stringify(task)], { timeoutMs: 120_000 });
      return JSON.parse(stdout) as TerminalRun;
    },
    /** As a script sees it, in a pipe. */
    inPipe: (words: readonly string[], environment = keyed()) => {
      const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
      return session.host.exec(["env", ...settings, ...installedPrograms, ...words], { allowFailure: true });
    },
  };
}
