import { describe, expect, it } from "vitest";
import { driver } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const [node, script] = driver("run-operations");
/** A name that a unit file would read in its own way. */
const stateDir = "/var/lib/op test $HOME %n";

interface Ended {
  readonly spec: { readonly id: string };
  readonly state: {
    readonly status: string;
    readonly result: Readonly<Record<string, unknown>> | null;
    readonly error: { readonly details?: Readonly<Record<string, unknown>> } | null;
  };
  readonly log: readonly string[];
}

describeOnHost("operations that outlive the service", (session) => {
  const run = async (...words: readonly string[]): Promise<string> => {
    await session.host.exec(["mkdir", "-p", "-m", "700", stateDir]);
    return (await session.host.exec(["env", `STEWARD_STATE_DIR=${stateDir}`, node, script, ...words])).stdout;
  };
  let services = 0;
  /** Starts an operation from a service in a unit of its own. */
  const start = async (kind: string, input: object): Promise<{ readonly id: string; readonly unit: string }> => {
    services += 1;
    const unit = `test-service-${services}.service`;
    await session.host.exec(["mkdir", "-p", "-m", "700", stateDir]);
    await session.host.exec([
      "systemd-run",
      `--unit=${unit}`,
      "--quiet",
      `--setenv=STEWARD_STATE_DIR=${stateDir}`,
      `--property=StandardOutput=file:/tmp/${unit}`,
      "--",
      node,
      script,
      "start",
      kind,
      JSON.stringify(input),
    ]);
    const id = await eventually(async () => {
      const text = (await session.host.readFile(`/tmp/${unit}`)).trim();
      expect(text).toMatch(/^[0-9a-z-]+$/);
      return text;
    });
    return { id, unit };
  };
  const look = async (id: string): Promise<Ended> => JSON.parse(await run("look", id)) as Ended;
  const directoryOf = (id: string): string => `${stateDir}/operations/${id}`;
  /** The process with this claim, once it is there. */
  const claimOf = (id: string, number: number): Promise<number> =>
    eventually(async () => {
      const { pid } = JSON.parse(await session.host.readFile(`${directoryOf(id)}/claim.${number}`)) as { pid: number };
      return pid;
    });
  const numbersIn = async (file: string): Promise<readonly number[]> =>
    (await session.host.readFile(file)).trim().split("\n").map(Number);
  const tasks = (): Promise<string> =>
    session.shell("systemctl list-units --all --plain --no-legend 'steward-task-*' | cut -d' ' -f1");

  describe("the end of the service", () => {
    it.each(["stop", "kill --signal=KILL"])(
      "by systemctl %s leaves its task alone, and the next one finds it",
      async (verb) => {
        const file = `/tmp/numbers-${services}`;
        const { id, unit } = await start("count", { to: 20, stepMs: 100, file });
        const task = await claimOf(id, 1);
        await session.shell(`systemctl ${verb} ${unit}`);
        await eventually(async () => {
          expect(await session.shell(`systemctl is-active ${unit} || true`)).not.toBe("active\n");
        });
        const { state, log } = await look(id);
        expect(state).toMatchObject({ status: "done", error: null });
        expect(await numbersIn(file)).toEqual([...Array(20).keys()]);
        expect(log.at(-1)).toBe("wrote 19");
        expect(state.result?.["cgroup"]).toContain(`steward-task-${id}-`);
        expect(state.result?.["environment"]).toMatchObject({ STEWARD_STATE_DIR: stateDir, LC_ALL: "C.UTF-8" });
        // It was one task from its start to its end.
        expect(await session.shell(`ls '${directoryOf(id)}' | grep claim`)).toBe("claim.1\n");
        expect(task).toBeGreaterThan(1);
        await eventually(async () => expect(await tasks()).toBe(""));
      },
    );
  });

  describe("the end of the task", () => {
    it("does not end the package manager that it had started, and is reported as an interruption", async () => {
      const transaction = "until [ -e /tmp/go-on ]; do sleep 0.1; done; echo whole > /tmp/transaction";
      const { id } = await start("once", { argv: ["/usr/bin/sh", "-c", transaction] });
      const task = await claimOf(id, 1);
      await eventually(async () => expect(await session.shell("pgrep -f /tmp/transaction || true")).not.toBe(""));
      await session.shell(`kill -KILL ${task}; touch /tmp/go-on`);
      const { state } = await look(id);
      expect(state).toMatchObject({ status: "failed", error: { details: { reason: "interrupted", attempts: 1 } } });
      // The file is there before its line is.
      await eventually(async () => expect(await session.host.readFile("/tmp/transaction")).toBe("whole\n"));
      await eventually(async () => expect(await tasks()).toBe(""));
    });

    it("with the host is an interruption, after which it continues at the next boot", async () => {
      const file = "/var/lib/counted";
      const { id } = await start("count", { to: 150, stepMs: 100, file });
      await claimOf(id, 1);
      await eventually(async () => expect(await numbersIn(file)).toContain(2));
      await session.host.reboot();
      const { state, log } = await look(id);
      expect(state).toMatchObject({ status: "done", error: null });
      expect([...new Set(await numbersIn(file))]).toEqual([...Array(150).keys()]);
      expect(log).toContain("the host stops: it continues after the boot");
      expect(await session.shell(`ls '${directoryOf(id)}' | grep claim`)).toBe("claim.1\nclaim.2\n");
    });

    it("by a stop of its unit is reported as stopped", async () => {
      const { id } = await start("count", { to: 1000, stepMs: 100, file: "/tmp/stopped" });
      await claimOf(id, 1);
      await eventually(async () => expect(await numbersIn("/tmp/stopped")).toContain(2));
      await session.shell(`systemctl stop 'steward-task-${id}-*'`);
      const { state } = await look(id);
      expect(state).toMatchObject({ status: "failed", error: { details: { reason: "stopped" } } });
    });
  });
});
