import { beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

/** Its new version is being set up when the host is told to go down, and for some time after that. */
const patient = [
  "test -e /srv/hold || exit 0",
  "touch /run/setting-up",
  'until test "$(systemctl is-system-running)" = stopping; do sleep 0.1; done',
  "sleep 3",
  "echo whole > /srv/set-up-while-stopping",
];
const recipes = [
  at("patient", "1.0"),
  at("patient", "1.1", { postinst: patient }),
  at("beside", "1.0"),
  at("beside", "1.1"),
];

describeOnHost("an update while the host goes down", (session) => {
  const { shell } = session;
  let service: RunningService;
  const api = () => createClient({ url: service.url, key: service.adminKey });
  const versions = () => shell(`dpkg-query -W -f '\${Package} \${Version} \${Status}\\n' patient beside`);

  const begin = async (): Promise<string> => {
    const reply = await fetch(`${service.url}/api/v1/updates/apply`, {
      method: "POST",
      headers: { "X-API-Key": service.adminKey, "Content-Type": "application/json", Prefer: "respond-async" },
      body: JSON.stringify({ packages: ["patient", "beside"] }),
    });
    expect(reply.status).toBe(202);
    return ((await reply.json()) as OperationEntry).id;
  };

  beforeAll(async () => {
    const env = { STEWARD_RATE_LIMITS: "off" };
    service = await session.host.startService({ env, config: "updates: { backend: packages }\n" });
    await makePackageSources(session, recipes);
  });

  describe.each([
    ["power off and on", () => session.host.reboot()],
    [
      "reboot from inside",
      async () => {
        const up = session.host.nextBoot();
        await shell("systemctl reboot");
        await up;
      },
    ],
  ])("%s", (_name, goDown) => {
    it("comes to its end first, and is told as it is after the boot", async () => {
      await shell(`dpkg --force-downgrade -i ${recipes.slice(0, 1).map(packageFile).join("")} >/dev/null 2>&1`);
      await shell(`dpkg --force-downgrade -i ${packageFile(at("beside", "1.0"))} >/dev/null 2>&1`);
      await shell("rm -f /srv/set-up-while-stopping /run/setting-up; touch /srv/hold");
      const id = await begin();
      await eventually(() => shell("test -e /run/setting-up"), 60_000);
      await goDown();

      // Before anything of Steward runs again: nobody has mended anything.
      expect(await shell("dpkg --audit")).toBe("");
      expect(await shell("cat /srv/set-up-while-stopping")).toBe("whole\n");
      expect(await versions()).toBe("beside 1.1 install ok installed\npatient 1.1 install ok installed\n");

      await service.restart();
      const operation = await eventually(async () => {
        const found = await api().getOperation({ params: { id } });
        expect(["done", "failed"]).toContain(found.status);
        return found;
      }, 60_000);
      expect(operation).toMatchObject({
        status: "done",
        result: { success: true, packages_updated: 2, error: null },
      });
      expect(operation.log).toContain("the host stops: it goes on after the boot");
    });
  });
});
