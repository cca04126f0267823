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
    }, 60_000);
    expect(units.filter((name) => name.startsWith("steward-"))).toEqual([]);
  });
});
