import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Plan } from "#contract/operation.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { installedPrograms } from "./program.ts";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { kills } from "./support/kills.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("updates with apt", (session) => {
  const { shell } = session;
  const host = updatesOn(session);
  const { service, api, versionsOf, listing, etcTree, install, oldOf, apply, begin, post, ended, answer } = host;

  /** A client whose call carries out this plan, or is refused. */
  const agreed = (plan: object) =>
    createClient({ url: service().url, key: service().adminKey, planToken: (plan as Partial<Plan>).plan_token });

  it("for security are the fix of the check security_updates", async () => {
    const check = { check_id: "security_updates" };
    expect(await api().getCheck({ params: check })).toMatchObject({
      status: "warn",
      fixable: true,
      fix_id: "apply_security_updates",
    });
    const before = await fileTree(session);
    const plan = await api().fixCheck({ params: check, query: { dry_run: true } });
    expect(plan).toMatchObject({
      packages: ["library"],
      steps: [
        expect.stringMatching(
          /^install 1 security update.*: library from 1\.0 to 1\.1, behind a snapshot, and return to it when the host is worse afterwards$/,
        ),
      ],
    });
    expect(await versionsOf(["library"])).toEqual({ library: "1.0" });
    // Snapper's daemon, which hooks of apt call, writes there when it ends.
    const others = [/^\/var\/log\/(journal|snapper\.log$)/];
    expect(changesSince(before, await fileTree(session), { ignore: others })).toEqual({
      added: [],
      removed: [],
      changed: [],
    });
    const operation = async () => (await api().listOperations({ query: { limit: 1 } })).operations[0]?.id;
    const earlier = await operation();
    expect(await agreed(plan).fixCheck({ params: check })).toMatchObject({
      success: true,
      steps: [
        {
          status: "done",
          message: expect.stringMatching(/^1 package updated behind the snapshot \S+; nothing is worse than before$/),
        },
      ],
      check: { status: "pass" },
    });
    expect(await versionsOf(["editor", "library", "server"])).toEqual({ editor: "1.0", library: "1.1", server: "1.0" });
    const started = await operation();
    expect(started).not.toBe(earlier);
    expect(
      JSON.parse(await shell("grep fixCheck /var/lib/steward/audit/audit-000000000001.log | tail -n 1")),
    ).toMatchObject({
      target: { check_id: "security_updates", fix_id: "apply_security_updates" },
      operation_id: started,
    });
    // The package's own files; beside them only what apt and dpkg keep for themselves, and what their hooks on this host write.
    const ignore = [
      /^\/var\/(lib\/(dpkg|apt)|cache\/apt|log\/(apt|journal))\//,
      /^\/var\/log\/dpkg\.log$/,
      /^\/var\/(cache\/debconf\/tmp\.ci|tmp\/snapper-apt|log\/snapper\.log)$/,
    ];
    expect(changesSince(before, await fileTree(session), { ignore })).toEqual({
      added: [],
      removed: [],
      changed: ["/usr/share/library/version"],
    });
  });

  it("continue when they restart the service, and are found again under their idempotency key [upgrade-of-the-upgrader]", async () => {
    await install(oldOf(["restarter"]));
    const pid = await service().pid();
    const id = await begin({ packages: ["restarter"], create_snapshot: false }, "restarts-us");
    await eventually(async () => expect(await service().pid()).not.toBe(pid), 30_000);
    expect(await eventually(() => ended(id), 30_000)).toMatchObject({
      status: "done",
      result: { success: true, packages_updated: 1 },
    });
    expect(await begin({ packages: ["restarter"], create_snapshot: false }, "restarts-us")).toBe(id);
    expect(await versionsOf(["restarter"])).toEqual({ restarter: "1.1" });
  });

  it("can be cancelled until they change packages, and not from then on", async () => {
    await install(oldOf(["gated"]));
    await shell("touch /srv/gate; rm -f /srv/at-gate");
    const onlyReads = (await api().createKey({ body: { name: "reads", scopes: ["updates:read"] } })).key;
    const id = await begin({ packages: ["gated"] });
    const reader = createClient({ url: service().url, key: onlyReads });
    expect(await refusal(reader.cancelOperation({ params: { id } }))).toMatchObject({ code: "FORBIDDEN" });
    expect(await api().cancelOperation({ params: { id } })).toMatchObject({
      status: "failed",
      error: { code: "CONFLICT", details: { reason: "cancelled" } },
    });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.0" });
    expect(await api().cancelOperation({ params: { id } })).toMatchObject({ id, status: "failed" });

    const next = await begin({ packages: ["gated"] });
    await eventually(() => shell("test -e /srv/at-gate"), 60_000);
    expect(await refusal(api().cancelOperation({ params: { id: next } }))).toMatchObject({
      code: "CONFLICT",
      details: { reason: "not_cancellable" },
    });
    await shell("rm /srv/gate");
    expect(await ended(next)).toMatchObject({ status: "done", result: { success: true, packages_updated: 1 } });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.1" });
    expect(await refusal(api().cancelOperation({ params: { id: next } }))).toMatchObject({
      details: { reason: "ended" },
    });
    const audited = await shell("grep cancelOperation /var/lib/steward/audit/audit-000000000001.log");
    expect(
      audited
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { outcome: string }).outcome),
    ).toEqual(["refused", "ok", "ok", "refused", "refused"]);
  });

  it("are carried out as planned or not at all, also over a restart of the service", async () => {
    const name = "slow-a";
    await install(oldOf([name]));
    const [everything, one] = [{ body: {} }, { body: { packages: [name] } }];
    const plans = {
      everything: await api().applyUpdates({ ...everything, query: { dry_run: true } }),
      one: await api().applyUpdates({ ...one, query: { dry_run: true } }),
    };
    await shell("systemctl restart steward");
    await eventually(() => api().getHealth());
    await shell(`apt-mark hold ${name}`);
    expect(await refusal(agreed(plans.everything).applyUpdates(everything))).toMatchObject({
      code: "CONFLICT",
      details: { reason: "plan_changed", plan: { dry_run: true } },
    });
    await shell(`apt-mark unhold ${name}`);
    expect(await versionsOf([name])).toEqual({ [name]: "1.0" });
    expect(await agreed(plans.one).applyUpdates(one)).toMatchObject({ success: true, packages_updated: 1 });
    expect(await versionsOf([name])).toEqual({ [name]: "1.1" });
    expect(await refusal(agreed(plans.one).applyUpdates(one))).toMatchObject({ details: { reason: "plan_used" } });

    // A restart does not outlive its request.
    const restart = { params: { name: "cron.service" } };
    const once = agreed(await api().restartService({ ...restart, query: { dry_run: true } }));
    expect(await once.restartService(restart)).toMatchObject({ success: true });
    expect(await refusal(once.restartService(restart))).toMatchObject({ details: { reason: "plan_used" } });
  });

  it("name a configuration file that was changed on the host, and its new version beside it, once", async () => {
    await install(oldOf(["configured"]));
    await shell("echo mine >> /etc/configured.conf");
    const words = [...installedPrograms, "updates", "apply", "--yes", "--no-snapshot", "--package", "configured"];
    const update = async () => (await session.host.exec(words, { allowFailure: true, timeoutMs: 60_000 })).stdout;
    const kept = "kept as changed here: /etc/configured.conf (the new version is /etc/configured.conf.dpkg-dist)";
    expect(await update()).toContain(kept);
    expect(await shell("cat /etc/configured.conf /etc/configured.conf.dpkg-dist")).toBe(
      "version = 1.0\nmine\nversion = 1.1\n",
    );
    expect(await update()).not.toContain("kept as changed");
  });

  describe("whose process is killed at random times", () => {
    const { fraction: random } = createRandom(seed);
    const directoryOf = (id: string): string => `/var/lib/steward-tasks/operations/${id}`;

    /** Kills the task at its first and its second attempt. @returns how often that interrupted it. */
    const killTwice = async (id: string): Promise<number> => {
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const pid = await eventually(async () => {
          const { status } = await api().getOperation({ params: { id } });
          if (status === "done" || status === "failed") return undefined;
          const claim = await session.host.readFile(`${directoryOf(id)}/claim.${attempt}`);
          return (JSON.parse(claim) as { pid: number }).pid;
        });
        if (pid === undefined) break;
        await sleep(random() * 1_500);
        await shell(`kill -KILL ${pid} || true`);
      }
      await ended(id, 90_000);
      return Number(await shell(`ls ${directoryOf(id)} | grep -c '^claim'`)) - 1;
    };

    /** Begins it, kills its process, and asks for it again under the same key all the while. */
    const killed = async (path: string, body: object, key: string): Promise<{ id: string; interrupted: number }> => {
      const id = await post(path, body, key);
      const killing = killTwice(id);
      expect(await post(path, body, key)).toBe(id);
      const interrupted = await killing;
      expect(await post(path, body, key)).toBe(id);
      return { id, interrupted };
    };

    it("are resumed, and so is the rollback, without anything done twice", async () => {
      await install(oldOf(slowNames));
      const before = { listing: await listing(), etc: await etcTree() };
      const interrupted = { updates: 0, rollbacks: 0 };
      for (let round = 0; interrupted.updates < kills || interrupted.rollbacks < kills; round += 1) {
        expect(round).toBeLessThan(2 * kills);
        await shell(": > /srv/set-up");
        const update = await killed("apply", { packages: slowNames }, `update-${round}`);
        const { result } = await api().getOperation({ params: { id: update.id } });
        const snapshotId = (result as { snapshot_id: string }).snapshot_id;
        expect(result).toMatchObject({ success: true, error: null, packages_updated: 3 });
        expect(await versionsOf(slowNames)).toEqual({ "slow-a": "1.1", "slow-b": "1.1", "slow-c": "1.1" });
        expect(await shell("dpkg --audit; sort /srv/set-up")).toBe("slow-a\nslow-b\nslow-c\n");

        const back = await killed(`rollback/${snapshotId}`, {}, `rollback-${round}`);
        expect(await api().getOperation({ params: { id: back.id } })).toMatchObject({
          status: "done",
          result: { success: true, snapshot_id: snapshotId, packages_changed: 3 },
        });
        expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
        interrupted.updates += update.interrupted;
        interrupted.rollbacks += back.interrupted;
      }
      expect(await shell("dpkg --audit; ls /var/lib/steward-tasks/snapshots/work 2>/dev/null || true")).toBe("");
    });
  });

  it("that fill the disk in the middle report true counts, and are rolled back while it is still full", async () => {
    const names = ["bulky", "editor", "server"];
    await shell("mkdir -p /usr/share/bulky && mount -t tmpfs -o size=1m tmpfs /usr/share/bulky");
    try {
      await install(oldOf(["bulky"]));
      const before = { listing: await listing(), etc: await etcTree() };
      const result = await apply({ packages: names });
      const now = await versionsOf(names);
      expect(result).toMatchObject({ success: false, error: expect.stringMatching(/bulky.*No space left on device/) });
      // What it needs came first and is there; what came after it is unpacked, and said to be left so.
      expect(result).toMatchObject({
        packages_updated: 1,
        packages: expect.arrayContaining([
          { name: "editor", from: "1.0", to: "1.1" },
          { name: "server", from: "1.0", to: "1.1" },
        ]),
        error: expect.stringContaining("server 1.1 is unpacked"),
      });
      expect(result.packages).toHaveLength(2);
      expect(now).toEqual({ bulky: "1.0", editor: "1.1", server: "1.1" });
      const left = await shell("dpkg --audit");
      expect(left).toMatch(/^ server /m);
      expect(left).not.toMatch(/^ (?:bulky|editor) /m);
      const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
      expect(back).toMatchObject({ success: true, packages_changed: 2 });
      expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
    } finally {
      await shell("dpkg --purge bulky >/dev/null 2>&1 || true; umount /usr/share/bulky");
    }
  });

  it("that are guarded are rolled back when they break a unit, and report it", async () => {
    await install(oldOf(["breaker"]));
    // Of the service it is not to be written, so that what is there is of those that look as root whether the host is well.
    await shell("rm -f /srv/who; touch /srv/who; chmod 666 /srv/who");
    const result = await apply({ packages: ["breaker"], guard: true });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: {
        // What the script of the new version left behind the old one does not remove.
        outcome: "rolled_back_still_worse",
        worse: expect.arrayContaining([
          "unit peer.service: was active (running), now failed (failed), result exit-code",
        ]),
        remaining: ["unit peer.service: was active (running), now failed (failed), result exit-code"],
      },
    });
    expect(await versionsOf(["breaker"])).toEqual({ breaker: "1.0" });
    // A program of the settings was chosen for the user of the service.
    const ran = (await shell("cat /srv/who")).trim().split("\n");
    expect([...new Set(ran)]).toEqual(["steward", await shell("id -Gn steward").then((text) => text.trim())]);
  });

  it("for security that a fix installs are rolled back when a daemon ends, which then runs again", async () => {
    await install(oldOf(["patched"]));
    await shell("systemctl restart answerer");
    expect(await eventually(answer)).toBe("here");
    const result = await api().fixCheck({ params: { check_id: "security_updates" } });
    expect(result).toMatchObject({
      success: false,
      steps: [
        {
          status: "failed",
          message: expect.stringMatching(/rolled_back: unit answerer\.service: was active \(running\), now inactive/),
        },
      ],
      check: { status: "warn" },
    });
    expect(await versionsOf(["patched", "library"])).toEqual({ patched: "1.0", library: "1.0" });
    expect(await eventually(answer)).toBe("here");
  });
});
