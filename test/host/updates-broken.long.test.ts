import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { kills } from "./support/kills.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("updates that go wrong", (session) => {
  const { shell } = session;
  const { api, versionsOf, listing, etcTree, install, oldOf, apply, post, ended, answer } = updatesOn(session);

  describe(`whose process is killed at random moments`, () => {
    const { fraction: random } = createRandom(seed);
    const folderOf = (id: string): string => `/var/lib/steward-tasks/operations/${id}`;

    /** Kills the task at its first and its second attempt. @returns how often that interrupted it. */
    const killTwice = async (id: string): Promise<number> => {
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const pid = await eventually(async () => {
          const { status } = await api().getOperation({ params: { id } });
          if (status === "done" || status === "failed") return undefined;
          const claim = await session.host.readFile(`${folderOf(id)}/claim.${attempt}`);
          return (JSON.parse(claim) as { pid: number }).pid;
        });
        if (pid === undefined) break;
        await sleep(random() * 1_500);
        await shell(`kill -KILL ${pid} || true`);
      }
      await ended(id, 90_000);
      return Number(await shell(`ls ${folderOf(id)} | grep -c '^claim'`)) - 1;
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

    it("are resumed, and so is the way back, without anything done twice", async () => {
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
    }, 400_000);
  });

  it("that fill the disk in the middle say so with true counts, and are undone while it is still full", async () => {
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

  it("in which a script of a package fails say so, and are undone", async () => {
    await install(oldOf(["failing"]));
    const before = { listing: await listing(), etc: await etcTree() };
    const result = await apply({ packages: ["failing", "library"] });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 2,
      error: expect.stringMatching(/failing.*(?:exit status 3|cannot reach the moon)/),
    });
    expect(await shell("dpkg --audit")).toMatch(/^ failing /m);
    expect(await versionsOf(["failing", "fresh", "library"])).toEqual({ failing: "1.1", fresh: "1.1", library: "1.1" });

    const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
    expect(back).toMatchObject({ success: true, snapshot_id: result.snapshot_id, packages_changed: 3 });
    expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
    expect(await shell("dpkg --audit")).toBe("");
  });

  it("that are guarded are rolled back when they break a unit, and say so", async () => {
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

  it("for security that the fix of their check installs are rolled back when a daemon ends, and it runs again", async () => {
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

  it("that are guarded are rolled back when a daemon ends as if all were well, and it runs again", async () => {
    await install(oldOf(["quitter"]));
    await shell("systemctl restart answerer");
    expect(await eventually(answer)).toBe("here");
    const result = await apply({ packages: ["quitter"], guard: true });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: {
        outcome: "rolled_back",
        worse: expect.arrayContaining(["unit answerer.service: was active (running), now inactive (dead)"]),
        restarted: ["answerer.service"],
        remaining: [],
      },
    });
    expect(await versionsOf(["quitter"])).toEqual({ quitter: "1.0" });
    expect(await answer()).toBe("here");
  });

  it("that are guarded are kept on a busy host, and where a file system passes its first threshold", async () => {
    await install(oldOf(["filler"]));
    await shell("mkdir -p /srv/small && mount -t tmpfs -o size=10m tmpfs /srv/small");
    const loops = ["busy-1", "busy-2"];
    try {
      await shell("head -c 8280000 /dev/zero > /srv/small/most");
      for (const unit of loops)
        await shell(`systemd-run --quiet --unit=${unit} --property=RuntimeMaxSec=120 sh -c 'while :; do :; done'`);
      const used = async () => Number((await shell("df --output=pcent /srv/small")).replaceAll(/\D/g, ""));
      expect(await used()).toBeLessThan(80);
      expect(await apply({ packages: ["filler"], guard: true })).toMatchObject({
        success: true,
        packages_updated: 1,
        guard: { outcome: "kept", worse: [] },
      });
      expect(await used()).toBeGreaterThan(80);
    } finally {
      await shell(`systemctl stop ${loops.join(" ")} 2>/dev/null; umount /srv/small`);
    }
  });
});
