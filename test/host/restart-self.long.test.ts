import { expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import { createClient } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("the service restarts itself", (session) => {
  /** The address that the service has listened on since, whichever start of it that was. */
  const latestUrl = async (): Promise<string> => {
    const log = await session.shell("journalctl --quiet --no-pager -o cat -u steward.service");
    return [...log.matchAll(/"url":"(http[^"]+)".*"msg":"listening"/g)].at(-1)?.[1] ?? "";
  };

  it.each(["steward.service", "steward", "caretaker"])("asked for as %s, after the answer", async (name) => {
    await session.shell("ln -sf steward.service /etc/systemd/system/caretaker.service; systemctl daemon-reload");
    const key = session.service.adminKey;
    const url = await latestUrl();
    const before = await session.service.pid();
    const answer = await createClient({ url, key }).restartService({ params: { name } });

    expect(answer).toMatchObject({ success: true, job_result: "pending", running: true, main_pid: before });
    await eventually(async () => {
      expect(await session.service.pid()).not.toBe(before);
      expect(await latestUrl()).not.toBe(url);
      const whoami = await createClient({ url: await latestUrl(), key }).whoami();
      expect(whoami).toMatchObject({ name: "admin" });
    });
    // It answers before it has told systemd so.
    await eventually(async () =>
      expect((await session.shell("systemctl is-failed steward.service || true")).trim()).toBe("active"),
    );
  });

  it("but not in a dry run", async () => {
    const before = await session.service.pid();
    const api = createClient({ url: await latestUrl(), key: session.service.adminKey });
    const { steps } = asPlan(await api.restartService({ params: { name: "steward" }, query: { dry_run: true } }));

    expect(steps.toSorted()).toEqual([
      "restart steward-root.socket, which requires steward.service or is part of it",
      "restart steward-task.socket, which requires steward.service or is part of it",
      "restart steward.service",
      "restart steward.socket, which requires steward.service or is part of it",
    ]);
    await api.getHealth();
    expect(await session.service.pid()).toBe(before);
  });
});
