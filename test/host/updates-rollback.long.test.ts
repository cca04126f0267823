import { beforeAll, expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import type { Plan } from "#contract/operation.ts";
import { at, makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

const web = (version: string, rest: Partial<PackageRecipe> = {}) =>
  at("web", version, { config: `version = ${version}\n`, ...rest });
const installed = web("1.0");
const offered = web("1.1", {
  postinst: ["echo made > /etc/web-made", "echo 'web:x:990:990::/:/usr/sbin/nologin' >> /etc/passwd"],
});

const image = (version: string) => at(`linux-image-6.1.0-${version}-amd64`, "1");
const newest = (version: string) => at("linux-image-amd64", version, { control: [`Depends: ${image(version).name}`] });
const present = [installed, image("1"), newest("1")];

describeOnHost("a rollback of packages", { fileSystem: "ext4" }, (session) => {
  const { shell } = session;
  let snapshotId = "";
  const planOf = async (etc?: "all"): Promise<Plan> => {
    const asked = { params: { snapshot_id: snapshotId }, query: { dry_run: true }, body: etc ? { etc } : {} };
    return asPlan(await session.api.rollback(asked));
  };
  const etc = () => shell("cat /etc/web.conf /etc/ssl/site.pem; tail -n 1 /etc/hosts; getent passwd alice || true");

  beforeAll(async () => {
    await makePackageSources(session, [...present, offered, image("2"), newest("2")]);
    await shell(`dpkg -i ${present.map(packageFile).join(" ")} >/dev/null 2>&1`);
    await shell("mkdir -p /etc/ssl; echo first > /etc/ssl/site.pem");
  });

  it("leaves a user made since, a renewed certificate and an edit of others alone, and restores the rest", async () => {
    const applied = await session.api.applyUpdates({ body: { packages: ["web"] } });
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

  it("is not needed where /boot has no space for a kernel: the update is refused before anything begins", async () => {
    const disk = await createSmallDisk(session, 64);
    try {
      await disk.mount("/boot");
      await shell("head -c 40000000 /dev/zero > /boot/vmlinuz");
      const { snapshots } = await session.api.listSnapshots();
      await expect(session.api.applyUpdates({ body: {} })).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(
          /^cannot update: \/boot has .* free, and 2 kernel images need about .*old kernels/,
        ),
        details: { missing: "disk space", path: "/boot" },
      });
      expect((await session.api.listSnapshots()).snapshots).toEqual(snapshots);
      expect(await shell("dpkg-query -W linux-image-amd64")).toMatch(/\t1\n$/);
      await shell("rm /boot/vmlinuz");
      expect(await session.api.applyUpdates({ body: {} })).toMatchObject({ success: true });
      expect(await shell("dpkg-query -W linux-image-amd64")).toMatch(/\t2\n$/);
      await disk.unmount();
    } finally {
      disk.dispose();
    }
  });
});
