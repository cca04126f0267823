import { beforeAll, expect, it } from "vitest";
import type { Plan } from "#contract/operation.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const web = (version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name: "web",
  version,
  place: "main",
  config: `version = ${version}\n`,
  ...rest,
});
const installed = web("1.0");
const offered = web("1.1", {
  postinst: ["echo made > /etc/web-made", "echo 'web:x:990:990::/:/usr/sbin/nologin' >> /etc/passwd"],
});

describeOnHost(
  "a rollback of packages",
  (session) => {
    const { shell } = session;
    let snapshotId = "";
    const planOf = async (etc?: "all"): Promise<Plan> => {
      const asked = { params: { snapshot_id: snapshotId }, query: { dry_run: true }, body: etc ? { etc } : {} };
      return (await session.api.rollback(asked)) as unknown as Plan;
    };
    const etc = () => shell("cat /etc/web.conf /etc/ssl/site.pem; tail -n 1 /etc/hosts; getent passwd alice || true");

    beforeAll(async () => {
      await makePackageSources(session, [installed, offered]);
      await shell(`dpkg -i ${packageFile(installed)} >/dev/null 2>&1`);
      await shell("mkdir -p /etc/ssl; echo first > /etc/ssl/site.pem");
    });

    it("leaves a user made since, a renewed certificate and an edit of others alone, and restores the rest", async () => {
      const applied = await session.api.applyUpdates({ body: {} });
      expect(applied).toMatchObject({ success: true, packages_updated: 1 });
      snapshotId = applied.snapshot_id;
      await shell("useradd --uid 4242 alice; echo renewed > /etc/ssl/site.pem; echo '127.0.0.9 ours' >> /etc/hosts");
      const { steps, reason } = await planOf();
      expect(steps).toEqual(
        expect.arrayContaining(["return web from 1.1 to 1.0", "restore /etc/web.conf", "remove /etc/web-made"]),
      );
      expect(steps.join()).not.toMatch(/passwd|site.pem|hosts/);
      for (const path of ["/etc/passwd", "/etc/ssl/site.pem", "/etc/hosts"]) expect(reason).toContain(path);

      const back = await session.api.rollback({ params: { snapshot_id: snapshotId } });
      expect(back).toMatchObject({ success: true, packages_changed: 1 });
      expect(back.files_left).toEqual(
        expect.arrayContaining(["/etc/hosts", "/etc/passwd", "/etc/shadow", "/etc/ssl/site.pem"]),
      );
      expect(await etc()).toMatch(/^version = 1.0\nrenewed\n127.0.0.9 ours\nalice:x:4242:/);
      expect(await shell("ls /etc/web-made 2>/dev/null || true")).toBe("");
    });

    it("of all of /etc names every path first, and is undone by its safety snapshot", async () => {
      const { steps, reason } = await planOf("all");
      expect(steps).toEqual(
        expect.arrayContaining(["restore /etc/passwd", "restore /etc/shadow", "restore /etc/ssl/site.pem"]),
      );
      expect(reason).toBe(undefined);
      const back = await session.api.rollback({ params: { snapshot_id: snapshotId }, body: { etc: "all" } });
      expect(back).toMatchObject({ success: true, files_left: [] });
      expect(back.files_restored).toBe(steps.filter((step) => step.includes(" /etc/")).length);
      expect(await etc()).not.toMatch(/renewed|ours|alice/);

      const again = await session.api.rollback({ params: { snapshot_id: back.safety_snapshot_id } });
      expect(again).toMatchObject({ success: true, files_left: [] });
      expect(await etc()).toMatch(/^version = 1.0\nrenewed\n127.0.0.9 ours\nalice:x:4242:/);
    });
  },
  { fileSystem: "ext4" },
);
