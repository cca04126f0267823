import { beforeAll, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { asked, createIntruder } from "./support/intruder.ts";
import { synced } from "./support/journal.ts";
import { makePackageSources } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

/** What root records in the journal of what the service has it do, and how that compares with the service's own log. */
describeOnHost("the record of the privileged side", { checks: ["disk_space"] }, (session) => {
  const { newOperation, newRequest, request, runOperation, spec, write } = createIntruder(session);
  // Of its own: the lists of Debian take seconds, and a network.
  beforeAll(() => makePackageSources(session, []));

  const records = async (id: string): Promise<readonly unknown[]> => {
    await synced(session);
    const { stdout } = await session.host.exec(["journalctl", "-q", "-o", "cat", "-u", "steward-task@*", "_UID=0"]);
    return stdout
      .trim()
      .split("\n")
      .filter((line) => line.includes('"msg":"root request"') && line.includes(`"id":"${id}"`))
      .map((line) => JSON.parse(line) as unknown);
  };
  const verify = async () => {
    await synced(session);
    return session.host.exec([...installedPrograms, "audit", "verify", "--json"], { allowFailure: true });
  };
  const mismatches = async (): Promise<readonly string[]> => {
    const { stdout } = await verify();
    return (JSON.parse(stdout) as { mismatches: string[] }).mismatches;
  };
  /** Those of requests that other tests have made in the place of the service are there before. */
  const added = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const before = await mismatches();
    await work();
    return (await mismatches()).filter((each) => !before.includes(each));
  };

  it("has what root did for the service, as the audit log has", async () => {
    const snapshot = { id: "" };
    expect(
      await added(async () => {
        snapshot.id = (await session.api.createSnapshot({ body: { description: "logged" } })).id;
        await session.api.checkUpdates({ query: { refresh: true } });
        await session.api.deleteSnapshot({ params: { snapshot_id: snapshot.id } });
      }),
    ).toEqual([]);
    const { entries } = await session.api.listAudit({ query: { operation: "root.requested", limit: 3 } });
    expect(entries.map(({ target }) => target["request"])).toEqual([
      "snapshots.delete",
      "packages.refresh",
      "snapshots.create",
    ]);
    for (const { target } of entries)
      expect(await records(target["id"] ?? "")).toMatchObject([
        { id: target["id"], request: target["request"], phase: "begun", input_sha256: expect.any(String) },
        { phase: "done" },
      ]);
    const { rootRequests } = JSON.parse((await verify()).stdout) as { rootRequests: number };
    expect(rootRequests).toBeGreaterThanOrEqual(3);
  });

  it("has requests that the audit log lacks, and verifying reports them", async () => {
    const id = newRequest();
    const operation = newOperation();
    const found = await added(async () => {
      await request("packages.refresh", {}, id);
      await write(`${asked}/${operation}/spec.json`, spec(operation));
      await runOperation(operation);
    });
    expect(found).toEqual([
      expect.stringMatching(
        new RegExp(`^root did packages\\.refresh \\(${id}\\) at .*, of which the log has no entry$`),
      ),
      expect.stringMatching(new RegExp(`^root did snapshots\\.create \\(${operation}\\)`)),
    ]);
    expect(await records(id)).toMatchObject([{ phase: "begun" }, { phase: expect.stringMatching(/done|failed/) }]);
    expect(await verify()).toMatchObject({ exitCode: 1 });
    const shown = await session.host.exec([...installedPrograms, "audit", "verify"], { allowFailure: true });
    expect(shown.stdout).toMatch(
      new RegExp(`mismatch: root did packages\\.refresh \\(${id}\\)[^]*the chain itself is intact`),
    );
  });

  it("cannot be forged by a process without rights in the unit of root", async () => {
    const id = newRequest();
    const line = JSON.stringify({ id, request: "plugin.run", phase: "begun", msg: "root request" });
    const unit = "steward-task@1-2-3.service";
    const dropIn = `/etc/systemd/system/${unit}.d`;
    await session.host.writeFile("/opt/line", `<5>${line}\n`, 0o644);
    await session.host.writeFile(
      `${dropIn}/60-line.conf`,
      "[Service]\nUser=steward\nExecStart=\nExecStart=/bin/cat /opt/line\n",
    );
    await session.shell("systemctl daemon-reload");
    expect(await added(() => session.host.exec(["systemctl", "start", unit]))).toEqual([]);
    const { stdout } = await session.host.exec(["journalctl", "-q", "-o", "cat", `_SYSTEMD_UNIT=${unit}`]);
    expect(stdout).toContain(line);
    await session.shell(`rm -r ${dropIn} /opt/line; systemctl daemon-reload`);
  });

  it("is compared with what the audit log claims, too", async () => {
    // Anyone who is the service can write its log, and what it says of root is then not root's.
    const forged = newRequest();
    const found = await added(async () => {
      const script = `
        import { openAuditLog } from "/opt/steward/src/adapters/audit/index.ts";
        import { systemClock } from "/opt/steward/src/adapters/clock/index.ts";
        import { logRootRequest } from "/opt/steward/src/domain/audit/entry.ts";
        const onTrouble = (error) => { throw error; };
        const ignored = () => undefined;
        const stateDir = "/var/lib/steward";
        const log = openAuditLog({ stateDir, clock: systemClock, onTrouble, onRepaired: ignored, onRotated: ignored });
        logRootRequest({ log, clock: systemClock }, { id: "${forged}", request: "updates.apply" });
        process.stdout.write(JSON.stringify({ ...log.head(), folder: log.directory, msg: "audit checkpoint" }) + "\\n");
        process.exit(0);`;
      const dropIn = "/etc/systemd/system/steward.service.d/60-forge.conf";
      await session.host.writeFile("/opt/forge.mjs", script, 0o644);
      await session.host.writeFile(dropIn, `[Service]\nExecStartPre=${installedPrograms[0]} /opt/forge.mjs\n`);
      await session.shell("systemctl daemon-reload");
      await session.service.restart();
      await session.shell(`rm ${dropIn} /opt/forge.mjs; systemctl daemon-reload`);
      await session.service.restart();
    });
    expect(found).toEqual([expect.stringContaining(forged)]);
  });
});
