import { beforeAll, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const recipe = (name: string, version: string): PackageRecipe => ({
  name,
  version,
  place: "main",
  config: `version = ${version}\n`,
});
const names = ["changed", "untouched"];

describeOnHost("what an update leaves beside packages", (session) => {
  beforeAll(async () => {
    await makePackageSources(
      session,
      ["1.0", "1.1", "1.2"].flatMap((version) => names.map((name) => recipe(name, version))),
    );
    const first = names.map((name) => packageFile(recipe(name, "1.0"))).join(" ");
    await session.shell(`dpkg -i ${first} >/dev/null 2>&1; echo mine >> /etc/changed.conf`);
  });

  it("is a configuration file that was changed, and its new version, which are named", async () => {
    const kept = { file: "/etc/changed.conf", offered: "/etc/changed.conf.dpkg-dist" };
    const body = { create_snapshot: false };
    expect(await session.api.applyUpdates({ body })).toMatchObject({ success: true, kept_configs: [kept] });
    expect(await session.shell("cat /etc/changed.conf /etc/changed.conf.dpkg-dist /etc/untouched.conf")).toBe(
      "version = 1.0\nmine\nversion = 1.2\nversion = 1.2\n",
    );
    // There it lies from now on, and is no news.
    await session.shell(`dpkg -i ${packageFile(recipe("untouched", "1.1"))} >/dev/null 2>&1`);
    expect(await session.api.applyUpdates({ body })).not.toHaveProperty("kept_configs");
  });

  it("is named by the command line", async () => {
    const older = names.map((name) => packageFile(recipe(name, "1.0"))).join(" ");
    await session.shell(`rm /etc/changed.conf.dpkg-dist; dpkg -i --force-confold ${older} >/dev/null 2>&1`);
    await session.shell("rm -f /etc/changed.conf.dpkg-dist");
    const { stdout } = await session.host.exec([...installedPrograms, "updates", "apply", "--yes", "--no-snapshot"], {
      allowFailure: true,
      timeoutMs: 60_000,
    });
    expect(stdout).toContain(
      "kept as changed here: /etc/changed.conf (the new version is /etc/changed.conf.dpkg-dist)",
    );
  });
});
