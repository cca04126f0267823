import { beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const recipes = [
  { name: "shield", version: "1.0", place: "main" },
  { name: "shield", version: "1.1", place: "security" },
  { name: "plain", version: "1.0", place: "main" },
  { name: "plain", version: "1.1", place: "main" },
] as const;

describeOnHost("automatic updates of a host", (session) => {
  const { shell } = session;

  beforeAll(async () => {
    await makePackageSources(session, recipes);
    const old = recipes.filter(({ version }) => version === "1.0").map(packageFile);
    await shell(`dpkg --install --force-downgrade ${old.join(" ")} 2>&1`);
  });

  const start = async () => {
    const { url, adminKey: key } = await session.host.startService({
      config: [
        "updates:",
        "  automatic: { what: security, window: { cron: '* * * * *', duration: 1m }, guard: false }",
        "",
      ].join("\n"),
      env: { STEWARD_RATE_LIMITS: "off" },
    });
    return createClient({ url, key });
  };
  const versions = async (): Promise<string> =>
    // biome-ignore lint/suspicious/noTemplateCurlyInString: words of dpkg-query.
    shell("dpkg-query --show --showformat='${Package} ${Version}\\n' plain shield");

  it("are refused while unattended-upgrades does the same", async () => {
    await shell("printf '#!/bin/sh\\n' > /usr/bin/unattended-upgrade && chmod 755 /usr/bin/unattended-upgrade");
    await shell("printf 'APT::Periodic::Unattended-Upgrade \"1\";\\n' > /etc/apt/apt.conf.d/99automatic");
    await shell("systemctl start apt-daily-upgrade.timer");
    const api = await start();
    expect(await api.getAutomaticUpdates()).toMatchObject({
      enabled: true,
      blocked: expect.stringContaining("apt-daily-upgrade.timer installs updates on this host as well"),
    });
    await shell(
      "rm /usr/bin/unattended-upgrade /etc/apt/apt.conf.d/99automatic; systemctl stop apt-daily-upgrade.timer",
    );
    expect(await api.getAutomaticUpdates()).toMatchObject({ blocked: null });
  });

  it("install what is for security in the next window, and leave the rest", async () => {
    const api = await start();
    await eventually(async () => {
      const { last } = await api.getAutomaticUpdates();
      expect(last).toMatchObject({ operation_id: expect.any(String) });
    });
    expect(await versions()).toBe("plain 1.0\nshield 1.1\n");
    const { operations } = await api.listOperations({ query: { limit: 1 } });
    expect(operations).toMatchObject([{ kind: "updates.apply", status: "done", result: { success: true } }]);
  });
});
