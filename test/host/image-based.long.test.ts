import { beforeAll, expect, it } from "vitest";
import { makePackageSources, packageFile } from "./support/package-sources.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const recipes = [
  { name: "editor", version: "1.0", place: "main" },
  { name: "editor", version: "1.1", place: "security" },
] as const;
const image = (digest: string, version: string) => ({
  image: { image: "registry.example.org/host:stable", transport: "registry" },
  version,
  timestamp: "2026-08-14T10:00:00Z",
  imageDigest: `sha256:${digest}`,
});
const status = {
  apiVersion: "org.containers.bootc/v1",
  kind: "BootcHost",
  status: { booted: { image: image("aaa", "42.1"), cachedUpdate: image("bbb", "42.2") }, staged: null },
};

describeOnHost("an image-based host", (session) => {
  const versions = () => session.shell("dpkg-query -W");

  beforeAll(async () => {
    await makePackageSources(session, recipes);
    await session.shell(`dpkg -i ${packageFile(recipes[0])} >/dev/null 2>&1`);
    // As bootc, it answers root alone.
    const script = `#!/bin/sh\ntest "$(id -u)" = 0 || exit 1\ncat <<'EOF'\n${JSON.stringify(status)}\nEOF\n`;
    await session.host.writeFile("/usr/bin/bootc", script, 0o755);
    await session.shell("touch /run/ostree-booted");
    await session.service.restart();
  });

  it("is checked by its own tool", async () => {
    expect(await session.api.checkUpdates()).toMatchObject({
      system: { available: true, version: "42.2", release_date: "2026-08-14" },
      packages: { total: 0, updates: [] },
      requires_reboot: false,
    });
  });

  it("is never written to, and its refusals name the command to run", async () => {
    const before = await versions();
    const { api } = session;
    const refused = [
      () => api.applyUpdates({ body: {} }),
      () => api.applyUpdates({ body: { guard: true } }),
      () => api.applyUpdates({ body: {}, query: { dry_run: true } }),
      () => api.checkUpdates({ query: { refresh: true } }),
      () => api.createSnapshot({ body: {} }),
    ];
    for (const call of refused)
      expect(await refusal(call())).toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("run bootc upgrade, then reboot"),
      });
    expect(await api.getCheck({ params: { check_id: "security_updates" } })).toMatchObject({ status: "skip" });
    expect(await versions()).toBe(before);
  });
});
