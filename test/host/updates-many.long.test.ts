import { beforeAll, expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import { createClient } from "#client/index.ts";
import { at, buildMany, keptOrigins, makePackageSources } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const count = 200;
const phased = at("phased", "1.1", { control: ["Phased-Update-Percentage: 0"] });

describeOnHost("many packages", { fileSystem: "ext4" }, (session) => {
  const { shell } = session;
  beforeAll(async () => {
    await buildMany(session, count);
    await makePackageSources(session, [at("phased", "1.0"), phased, at("lonely", "1.0")]);
    await shell("dpkg -i /srv/packages/main/*_1.0*.deb >/dev/null 2>&1");
    // One that no repository has any more is put together from what is installed.
    await shell(
      "rm /srv/packages/main/many-0_1.0_all.deb; cd /srv/packages/main && apt-ftparchive packages . > Packages",
    );
    await shell(
      "cd /srv/packages/main && apt-ftparchive release . >> /tmp/R; sed -i '/^MD5Sum/,$d' Release; sed -n '/^MD5Sum/,$p' /tmp/R >> Release; apt-get -q update",
    );
  });

  it("are kept with one download", async () => {
    const { updates } = (await session.api.checkUpdates()).packages;
    expect(updates.length).toBeGreaterThanOrEqual(count);
    const taken = await session.api.createSnapshot({ body: {} });
    expect(taken).toMatchObject({ backend: "packages" });
    expect(await keptOrigins(session)).toEqual(['1 "origin":"installed"', `${count - 1} "origin":"repository"`]);
  });

  it("of which one is phased for other hosts are updated without it, and by name it is refused", async () => {
    const client = createClient({ url: session.service.url, key: session.service.adminKey });
    // Whose turn it is apt decides by the identity of the machine, on Ubuntu; this is the same by setting.
    await shell("echo 'APT::Get::Never-Include-Phased-Updates \"true\";' > /etc/apt/apt.conf.d/99-phased");
    const plan = asPlan(await client.applyUpdates({ body: {}, query: { dry_run: true } }));
    expect(plan.packages).not.toContain("phased");
    const refused = client.applyUpdates({ body: { packages: ["phased"] }, query: { dry_run: true } });
    await expect(refused).rejects.toThrow(/update of phased is phased/);
  });
});
