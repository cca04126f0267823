import { beforeAll, expect, it } from "vitest";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const versions: readonly PackageRecipe[] = ["1.0", "1.1", "1.2"].map((version) => ({
  name: "editor",
  version,
  place: "main",
}));

describeOnHost("what apt has said is kept for the next start of the service", (session) => {
  const { shell } = session;

  const offered = async () => {
    const { packages } = await session.api.checkUpdates();
    return packages.updates.map(({ name, current_version, new_version }) => [name, current_version, new_version]);
  };

  /** Runs while the service is stopped: nobody sees the change but by what it leaves on disk. */
  const whileStopped = async (script: string): Promise<void> => {
    await session.service.stop();
    await shell(script);
    await session.service.restart();
  };

  /** Puts a version into dpkg's status file in the second in which the file was written, with the same number of bytes. */
  const installed = (from: string, to: string): string =>
    `cd /var/lib/dpkg && cp -p status status-new && sed -i '/^Package: editor$/,/^$/s/^Version: ${from}$/Version: ${to}/' status-new && ` +
    "touch -r status status-new && mv status-new status";

  beforeAll(async () => {
    await makePackageSources(session, versions);
    await shell(`dpkg -i ${versions.slice(0, 1).map(packageFile).join(" ")} >/dev/null 2>&1`);
  });

  it("in its state folder, for its owner alone", async () => {
    expect(await offered()).toEqual([["editor", "1.0", "1.2"]]);
    // Of what has just changed nothing is kept.
    await whileStopped("sleep 1");
    expect(await offered()).toEqual([["editor", "1.0", "1.2"]]);
    const found = await shell("find /var/lib/steward/packages -printf '%P %m %u\\n' | sort");
    expect(found).toBe(" 700 steward\nsources 600 steward\nversions 600 steward\n");
  });

  it("and never told of a status file that was written in the same second with the same size", async () => {
    await whileStopped(`stat -c '%s %Y' /var/lib/dpkg/status > /srv/before; ${installed("1.0", "1.1")}`);
    expect(await shell("stat -c '%s %Y' /var/lib/dpkg/status")).toBe(await shell("cat /srv/before"));
    expect(await offered()).toEqual([["editor", "1.1", "1.2"]]);
    await whileStopped(installed("1.1", "1.2"));
    expect(await offered()).toEqual([]);
    await whileStopped(installed("1.2", "1.0"));
    expect(await offered()).toEqual([["editor", "1.0", "1.2"]]);
  });

  it("and never told of other settings or lists", async () => {
    await whileStopped(
      "printf 'Package: editor\\nPin: version 1.1\\nPin-Priority: 990\\n' > /etc/apt/preferences.d/editor",
    );
    expect(await offered()).toEqual([["editor", "1.0", "1.1"]]);
    await whileStopped("rm /etc/apt/preferences.d/editor; rm -f /var/lib/apt/lists/*_Packages*");
    expect(await offered()).toEqual([]);
    await whileStopped("apt-get --quiet update >/dev/null 2>&1");
    expect(await offered()).toEqual([["editor", "1.0", "1.2"]]);
  });

  it("and asked for again where what is kept is damaged", async () => {
    await whileStopped("cd /var/lib/steward/packages && truncate -s -1 versions && : > sources");
    expect(await offered()).toEqual([["editor", "1.0", "1.2"]]);
  });
});
