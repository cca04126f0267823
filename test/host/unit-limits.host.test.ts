import { expect, it } from "vitest";
import { describeOnHost } from "./support/session.ts";

const dropIn = "/run/systemd/system/steward.service.d/60-planted.conf";

describeOnHost("the units of the package", (session) => {
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

  it("give what runs as root after the end of the service nothing of its environment", async () => {
    const log = "/var/lib/steward/planted.log";
    const script = "/var/lib/steward/planted.cjs";
    const code = `require("node:fs").appendFileSync("${log}", process.getuid() + " " + process.argv.slice(2).join(" ") + "\\n")`;
    await session.shell(`runuser -u steward -- tee ${script} > /dev/null <<'END'\n${code}\nEND`);
    await session.host.writeFile(
      dropIn,
      `[Service]\nEnvironment=NODE_OPTIONS=--require=${script} NODE_EXTRA_CA_CERTS=${script} HOME=/var/lib/steward\n`,
    );
    // A unit that another one names stays loaded when it has ended, and with it how its commands ended.
    await session.writeUnits({
      "keeps.service": ["[Unit]", "After=steward.service", "[Service]", "ExecStart=/bin/sleep infinity"],
    });
    await session.shell("systemctl start keeps.service && touch /run/steward-tasks/carry");
    await session.service.restart();
    await session.service.stop();
    // The service had it loaded; root's program has run, and had not.
    expect(await session.shell(`cut -d' ' -f1,2 ${log} | sort -u`)).toBe(
      `${(await session.shell("id -u steward")).trim()} serve\n`,
    );
    const { ExecStopPost = "" } = await properties("steward.service", "ExecStopPost");
    expect(ExecStopPost).toMatch(/task carry.*code=exited ; status=0/);
    await session.shell(`rm ${dropIn} ${script} ${log} && systemctl daemon-reload`);
  });
});
