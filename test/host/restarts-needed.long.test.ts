import { beforeAll, expect, it } from "vitest";
import { protectedUnits } from "#domain/system/service-policy.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("services that run what an update has replaced", (session) => {
  /** What Steward calls the units that do its own work. */
  const own = protectedUnits
    .flatMap(({ names }) => names)
    .filter((name) => name.startsWith("steward-"))
    .map((pattern) => pattern.replace("*", "-probe"));

  beforeAll(async () => {
    expect(own.length).toBeGreaterThan(2);
    await session.shell("cp /usr/bin/sleep /usr/bin/replaced");
    for (const unit of ["of-others", ...own])
      await session.host.exec([
        "systemd-run",
        `--unit=${unit}`,
        "--service-type=exec",
        "/usr/bin/replaced",
        "infinity",
      ]);
    await session.shell("rm /usr/bin/replaced");
  });

  it("are named, and not the tasks of Steward that are at work", async () => {
    const { requires_restart: units } = await eventually(async () => {
      const answer = await session.api.checkUpdates();
      expect(answer.requires_restart).toContain("of-others.service");
      return answer;
    });
    expect(units.filter((name) => name.startsWith("steward-"))).toEqual([]);
  });

  it("are restarted when it is asked for, but for those that people choose the time of", async () => {
    const unit = ["[Service]", "ExecStart=/usr/bin/renewed infinity"];
    await session.shell("cp /usr/bin/sleep /usr/bin/renewed");
    const names = ["web.service", "worker.service", "frail.service", "docker.service"];
    await session.writeUnits(Object.fromEntries(names.map((name) => [name, unit])));
    await session.host.exec(["systemctl", "start", ...names]);
    const pidOf = (name: string) => session.shell(`systemctl show --property=MainPID --value ${name}`);
    const before = new Map(await Promise.all(names.map(async (name) => [name, await pidOf(name)] as const)));
    await session.shell("cp /usr/bin/sleep /usr/bin/renewed.new && mv /usr/bin/renewed.new /usr/bin/renewed");
    await session.writeUnits({ "frail.service": ["[Service]", "ExecStart=/bin/false"] });

    const found = await session.api.listStale();
    expect(found.restartable).toEqual(expect.arrayContaining(["frail.service", "web.service", "worker.service"]));
    expect(found.left).toContainEqual({ unit: "docker.service", reason: expect.stringContaining("inside") });
    expect(found.processes).toContainEqual({
      pid: Number(before.get("web.service")),
      name: "renewed",
      unit: "web.service",
      files: ["/usr/bin/renewed"],
    });
    expect(found).toMatchObject({ hidden_processes: 0, service_manager: false });
    const plan = await session.api.restartStale({ query: { dry_run: true } });
    expect(plan).toMatchObject({ steps: expect.arrayContaining(["restart web.service"]) });
    expect(await pidOf("web.service")).toBe(before.get("web.service"));

    const result = await session.api.restartStale({});
    expect(result).toMatchObject({
      success: false,
      restarted: expect.arrayContaining([
        { unit: "web.service", success: true, message: "web.service restarted" },
        { unit: "worker.service", success: true, message: "worker.service restarted" },
        { unit: "frail.service", success: false, message: expect.stringMatching(/exit-code/) },
      ]),
      left: expect.arrayContaining([{ unit: "docker.service", reason: expect.any(String) }]),
      still_stale: [],
    });
    expect(await pidOf("docker.service")).toBe(before.get("docker.service"));
    expect(await pidOf("web.service")).not.toBe(before.get("web.service"));
    const after = await session.api.listStale();
    expect(after.processes.map(({ unit: name }) => name)).not.toContain("web.service");
    const { operations } = await session.api.listOperations();
    expect(operations[0]).toMatchObject({ kind: "updates.restart_stale", status: "done" });
  });
});
