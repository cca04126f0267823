import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import type { Session } from "../session.ts";

/** Something that goes wrong on a host, and where the evidence of an explanation names its cause. */
export interface Fault {
  /** Of its file among the bundles. */
  readonly name: string;
  readonly what: string;
  readonly check: string;
  /** What the check says once it has found it. */
  readonly found: RegExp;
  readonly cause: string;
  /** The sections that name the cause, by their titles, and the words that do. */
  readonly evidence: Readonly<Record<string, RegExp>>;
  readonly provoke: (session: Session) => Promise<void>;
  readonly repair: (session: Session) => Promise<void>;
}

/** Lines of a service that runs a program of Python, which is written to `/usr/local/bin/NAME` under its own name. */
export async function writeDaemon(
  session: Session,
  name: string,
  program: string,
  lines: readonly string[] = [],
): Promise<void> {
  // The kernel names a process by the file that it runs, so each has an interpreter of its own.
  await session.host.exec(["cp", "/usr/bin/python3", `/usr/local/bin/${name}`]);
  await session.host.writeFile(`/usr/local/lib/${name}.py`, program);
  await session.writeUnits({
    [`${name}.service`]: [
      "[Unit]",
      `Description=The ${name} of the shop`,
      "[Service]",
      `ExecStart=/usr/local/bin/${name} -u /usr/local/lib/${name}.py`,
      ...lines,
    ],
  });
}

/** Starts units; a start that fails is what is wanted. */
export const start = (session: Session, ...units: readonly string[]): Promise<unknown> =>
  session.host.exec(["systemctl", "start", ...units], { allowFailure: true });

/** Waits until a service has failed. */
export const failed = (session: Session, unit: string): Promise<void> =>
  eventually(async () => expect(await session.shell(`systemctl is-failed ${unit} || true`)).toBe("failed\n"));

/** Waits until a process is among those that the service has seen: its samples are as old as a second. */
export const seen = (session: Session, name: string): Promise<void> =>
  eventually(async () => {
    const { processes } = await session.api.listProcesses({ query: { sort: "pid", limit: 1000 } });
    expect(processes.map((process) => process.name)).toContain(name);
  });

/** Waits until a process uses most, as the service sees it: what it asks of root is as old as some seconds. */
export const leads = (session: Session, name: string, sort: "cpu" | "memory" | "deleted"): Promise<void> =>
  eventually(async () => {
    const { processes } = await session.api.listProcesses({ query: { sort, limit: 1 } });
    expect(processes.map((process) => process.name)).toEqual([name]);
  });

export const stop =
  (...units: readonly string[]) =>
  async (session: Session): Promise<void> => {
    await session.host.exec(["systemctl", "stop", ...units], { allowFailure: true });
    await session.host.exec(["systemctl", "reset-failed", ...units], { allowFailure: true });
  };
