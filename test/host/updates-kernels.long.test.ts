import { beforeAll, beforeEach, expect, it } from "vitest";
import type { Plan } from "#contract/operation.ts";
import { at, makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

const image = (abi: number) => `linux-image-6.1.0-${abi}-amd64`;
const headers = (abi: number) => `linux-headers-6.1.0-${abi}-common`;
const newest = (abi: number): PackageRecipe =>
  at("linux-image-amd64", String(abi), { control: [`Depends: ${image(abi)}, ${headers(abi)}`] });
/** Apt distinguishes kernels by their versions. */
const kernel = (abi: number) => [image(abi), headers(abi)].map((name) => at(name, `6.1.${abi}-1`));
const kernels = [1, 2, 3, 4].flatMap(kernel);
const present = [at("web", "1.0"), ...kernels, newest(4)];
const automatic = kernels.map(({ name }) => name);
const versionOf = (name: string) => kernels.find((each) => each.name === name)?.version;
const old = [headers(1), headers(2), image(1), image(2)];

describeOnHost("old kernels", (session) => {
  const { shell } = session;
  const installed = async (): Promise<readonly string[]> =>
    (await shell(`dpkg-query -W -f '\${db:Status-Status} \${Package}\\n' 'linux-*-6.1.0-*'`))
      .split("\n")
      .flatMap((line) => /^installed (.*)$/.exec(line)?.[1] ?? []);
  const others = [...automatic].filter((name) => !old.includes(name)).sort();
  const planOf = async () =>
    (await session.api.applyUpdates({ query: { dry_run: true }, body: {} })) as unknown as Plan;

  beforeAll(() => makePackageSources(session, [...present, at("web", "1.1"), ...kernel(5), newest(5)]));

  beforeEach(async () => {
    await shell(`dpkg --force-downgrade -i ${present.map(packageFile).join(" ")} >/dev/null 2>&1`);
    await shell(`dpkg --purge ${image(5)} ${headers(5)} >/dev/null 2>&1; apt-mark auto ${automatic.join(" ")}`);
  });

  it("go with an update of everything, which names them first, and come back with its rollback", async () => {
    const { steps } = await planOf();
    expect(steps.filter((step) => step.startsWith("remove "))).toEqual(
      old.map((name) => `remove ${name} ${versionOf(name)}`),
    );
    expect(await installed()).toEqual([...automatic].sort());

    const applied = await session.api.applyUpdates({ body: {} });
    expect(applied).toMatchObject({ success: true, error: null });
    expect(await installed()).toEqual([...others, headers(5), image(5)].sort());
    expect(await shell("dpkg-query -W web")).toMatch(/\t1\.1\n$/);

    const back = await session.api.rollback({ params: { snapshot_id: applied.snapshot_id } });
    expect(back).toMatchObject({ success: true });
    expect(await installed()).toEqual([...automatic].sort());
    expect((await shell("apt-mark showauto")).trim().split("\n")).toEqual(expect.arrayContaining(automatic));
  });

  it("stay after an update by name, and where an administrator or the settings of apt keep them", async () => {
    const named = { query: { dry_run: true }, body: { packages: ["web"] } };
    expect(((await session.api.applyUpdates(named)) as unknown as Plan).steps.join()).not.toContain("remove ");
    await shell(`apt-mark manual ${image(1)}; apt-mark hold ${headers(1)}`);
    await shell(`echo 'APT::NeverAutoRemove { "^${image(2)}$"; };' > /etc/apt/apt.conf.d/99kept`);
    try {
      const { steps } = await planOf();
      expect(steps.filter((step) => step.startsWith("remove "))).toEqual([`remove ${headers(2)} 6.1.2-1`]);
    } finally {
      await shell(`rm /etc/apt/apt.conf.d/99kept; apt-mark unhold ${headers(1)}`);
    }
  });

  it("go with disk_cleanup where /boot is full", async () => {
    const disk = await createSmallDisk(session, 64);
    try {
      await disk.mount("/boot");
      await shell("cat /dev/zero > /boot/full 2>/dev/null || true");
      const request = { params: { check_id: "disk_space" } };
      expect(await session.api.getCheck({ ...request })).toMatchObject({
        status: "fail",
        fix_id: "disk_cleanup",
      });
      const plan = (await session.api.fixCheck({ ...request, query: { dry_run: true } })) as unknown as Plan;
      expect(plan.steps).toEqual([
        `remove 4 packages of old kernels (${old.map((name) => `${name} ${versionOf(name)}`).join(", ")})`,
      ]);
      expect(await installed()).toEqual([...automatic].sort());
      expect(await session.api.fixCheck(request)).toMatchObject({
        steps: [{ status: "done", message: "4 packages of old kernels removed" }],
      });
      expect(await installed()).toEqual(others);
      await disk.unmount();
    } finally {
      disk.dispose();
    }
  });
});
