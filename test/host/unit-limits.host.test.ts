import { expect, it } from "vitest";
import { describeOnHost } from "./support/session.ts";

describeOnHost("the units of the package", { checks: [] }, (session) => {
  const properties = async (unit: string, ...names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const text = await session.shell(`systemctl show '${unit}' ${names.map((name) => `-p ${name}`).join(" ")}`);
    return Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
  };

  it("bound memory and tasks of the service, of each task of root's, and of all of them together", async () => {
    const mebibytes = (count: number): string => String(count * 1024 * 1024);
    expect(await properties("steward.service", "MemoryHigh", "MemoryMax", "TasksMax", "LimitCORE")).toEqual({
      MemoryHigh: mebibytes(1024),
      MemoryMax: mebibytes(1536),
      TasksMax: "1024",
      LimitCORE: "0",
    });
    const task = "steward-task@1-2-997.service";
    expect(await properties(task, "MemoryMax", "TasksMax", "LimitCORE", "Slice")).toEqual({
      MemoryMax: mebibytes(1024),
      TasksMax: "256",
      LimitCORE: "0",
      Slice: "system-stewardtasks.slice",
    });
    expect(await properties("system-stewardtasks.slice", "MemoryMax", "TasksMax")).toEqual({
      MemoryMax: mebibytes(2048),
      TasksMax: "1024",
    });
  });

  it("have no line that systemd does not understand", async () => {
    const { stderr, exitCode } = await session.host.exec(
      [
        "systemd-analyze",
        "verify",
        "--man=no",
        "steward.service",
        "steward-task.socket",
        "steward-task@x.service",
        "system-stewardtasks.slice",
      ],
      { allowFailure: true },
    );
    expect({ exitCode, lines: stderr.split("\n").filter((line) => line.includes("steward")) }).toEqual({
      exitCode: 0,
      lines: [],
    });
  });

  it("run nothing as root but the tasks", async () => {
    for (const name of ["ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost"])
      expect(await properties("steward.service", name)).toEqual({});
  });
});
