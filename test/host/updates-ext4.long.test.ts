import { beforeAll, expect, it } from "vitest";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

const old = ["editor", "library", "server", "rival", "outdone"].map((name) => at(name, "1.0"));
const newer = [
  at("library", "1.1", { place: "security" }),
  at("editor", "1.1", { postinst: ["echo 1.1 > /etc/editor.conf"] }),
  at("server", "1.1", { control: ["Depends: fresh"] }),
];
/** What an upgrade of the system brings along, and what it puts in the place of another package. */
const system = [at("fresh", "1.0"), at("rival", "1.1", { control: ["Conflicts: outdone"] })];

describeOnHost("updates on ext4", { fileSystem: "ext4" }, (session) => {
  const { shell } = session;
  const listing = () => shell("dpkg -l; apt-mark showauto | sort");
  /** Names, modes, owners, links, and what the files hold. */
  const etcTree = () =>
    shell(
      "cd /etc && find . -not -path './steward*' -printf '%p %y %m %U:%G %l\\n' | sort && find . -not -path './steward*' -type f -print0 | sort -z | xargs -0 sha256sum",
    );
  const bootId = () => shell("cat /proc/sys/kernel/random/boot_id");
  const versions = () => shell(`dpkg-query -W -f '\${Package} \${Version}\\n' editor library server rival`);

  beforeAll(async () => {
    await makePackageSources(session, [...old, ...newer, ...system]);
    await shell(`dpkg -i ${old.map(packageFile).join(" ")} >/dev/null 2>&1`);
    await shell("apt-mark auto library >/dev/null; echo 'of the administrator' > /etc/of-a-test");
  });

  it("are undone at once, to the last byte, by snapshots of packages", async () => {
    expect(await shell("findmnt --noheadings --output FSTYPE /")).toBe("ext4\n");
    const before = { listing: await listing(), etc: await etcTree(), boot: await bootId() };
    const check = await session.api.checkUpdates();
    expect(check.packages).toMatchObject({ total: 4, security: 1 });

    const security = await session.api.applyUpdates({ body: { security_only: true } });
    expect(security).toMatchObject({
      success: true,
      packages_updated: 1,
      packages: [{ name: "library", from: "1.0", to: "1.1" }],
    });
    expect(await versions()).toBe("editor 1.0\nlibrary 1.1\nrival 1.0\nserver 1.0\n");
    const { snapshots } = await session.api.listSnapshots();
    expect(snapshots).toMatchObject([{ id: security.snapshot_id, backend: "packages" }]);
    const afterSecurity = { listing: await listing(), etc: await etcTree(), boot: before.boot };

    const rest = await session.api.applyUpdates({ body: { type: "system" } });
    expect(rest).toMatchObject({ success: true, error: null });
    expect([...rest.packages].sort((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      { name: "editor", from: "1.0", to: "1.1" },
      { name: "fresh", from: null, to: "1.0" },
      { name: "outdone", from: "1.0", to: null },
      { name: "rival", from: "1.0", to: "1.1" },
      { name: "server", from: "1.0", to: "1.1" },
    ]);
    await shell("echo 'of somebody else' > /etc/of-a-test; echo new > /etc/new-of-a-test; chmod 600 /etc/hosts");
    expect(await shell("cat /etc/editor.conf")).toBe("1.1\n");

    const back = await session.api.rollback({ params: { snapshot_id: rest.snapshot_id }, body: { etc: "all" } });
    expect(back).toMatchObject({ success: true, requires_reboot: false, packages_changed: 5 });
    expect({ listing: await listing(), etc: await etcTree(), boot: await bootId() }).toEqual(afterSecurity);

    const first = await session.api.rollback({ params: { snapshot_id: security.snapshot_id }, body: { etc: "all" } });
    expect(first).toMatchObject({ success: true, requires_reboot: false, packages_changed: 1 });
    expect({ listing: await listing(), etc: await etcTree(), boot: await bootId() }).toEqual(before);
    expect(await shell("dpkg --audit")).toBe("");
  });

  it("are undone the other way as well: the safety snapshot leads forward again", async () => {
    const { snapshots } = await session.api.listSnapshots();
    const safety = snapshots.filter(({ kind }) => kind === "before_rollback").map(({ id }) => id);
    expect(safety).toHaveLength(2);
    const forward = await session.api.rollback({
      params: { snapshot_id: safety.at(-1) ?? "" },
      body: { etc: "all" },
    });
    expect(forward).toMatchObject({ success: true, requires_reboot: false });
    expect(await versions()).toBe("editor 1.1\nlibrary 1.1\nrival 1.1\nserver 1.1\n");
    expect(await shell("cat /etc/of-a-test /etc/new-of-a-test")).toBe("of somebody else\nnew\n");
    expect(await shell(`dpkg-query -W -f '\${db:Status-Abbrev}' fresh`)).toBe("ii ");
  });
});
