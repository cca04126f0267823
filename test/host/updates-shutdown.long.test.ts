import { beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import { at, makePackageSources, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

/** Its new version is being set up when the host is asked to go down, and for some time after that. */
const patient = [
  "test -e /srv/hold || exit 0",
  "touch /run/setting-up",
  'until test "$(systemctl is-system-running)" = stopping; do sleep 0.1; done',
  "sleep 3",
  "echo whole > /srv/set-up-while-stopping",
];
/** Is being set up when the host loses its power. */
const halting = ["while test -e /srv/cut; do touch /run/at-work; sleep 0.1; done"];
/** In the place of apt-mark: apt has ended, and the marks are not set, when the host loses its power. */
const slowMarks = `#!/bin/sh\n${halting[0]}\nexec /usr/bin/apt-mark.real "$@"\n`;
const recipes = [
  at("needy", "1.0"),
  at("needy", "1.1", { control: ["Depends: brought, library (>= 1.1)"] }),
  at("library", "1.0"),
  at("library", "1.1"),
  at("brought", "1.0"),
  at("halting", "1.0"),
  at("halting", "1.1", { control: ["Depends: brought"], postinst: halting }),
  at("patient", "1.0"),
  at("patient", "1.1", { postinst: patient }),
  at("beside", "1.0"),
  at("beside", "1.1"),
];

describeOnHost("an update during a shutdown", (session) => {
  const { shell } = session;
  let service: RunningService;
  const api = () => createClient({ url: service.url, key: service.adminKey });
  const versions = () => shell(`dpkg-query -W -f '\${Package} \${Version} \${Status}\\n' patient beside`);

  const begin = async (...packages: readonly string[]): Promise<string> => {
    const reply = await fetch(`${service.url}/api/v1/updates/apply`, {
      method: "POST",
      headers: { "X-API-Key": service.adminKey, "Content-Type": "application/json", Prefer: "respond-async" },
      body: JSON.stringify({ packages }),
    });
    expect(reply.status).toBe(202);
    return ((await reply.json()) as OperationEntry).id;
  };

  const ended = (id: string) =>
    eventually(async () => {
      const found = await api().getOperation({ params: { id } });
      expect(["done", "failed"]).toContain(found.status);
      return found;
    });

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
        const held = [{ who: "APT", why: "APT is installing or removing packages", blocks: true }];
        expect(await api().getReboot()).toMatchObject({ inhibitors: held });
        // Since systemd 257 what apt holds stops root too, who may insist only at a terminal. It stops nobody who does not ask logind.
        const asksRoot = Number(/\d+/.exec(await shell("systemctl --version"))?.[0]) >= 257;
        if (asksRoot) await expect(shell("systemctl reboot")).rejects.toThrow("Call to Reboot failed: Access denied");
        const up = session.host.nextBoot();
        const unasked = "systemctl start reboot.target --job-mode=replace-irreversibly --no-block";
        await shell(asksRoot ? unasked : "systemctl reboot");
        await up;
      },
    ],
  ])("%s", (_name, goDown) => {
    it("completes first, and has its result after the boot", async () => {
      await shell(`dpkg --force-downgrade -i ${packageFile(at("patient", "1.0"))} >/dev/null 2>&1`);
      await shell(`dpkg --force-downgrade -i ${packageFile(at("beside", "1.0"))} >/dev/null 2>&1`);
      await shell("rm -f /srv/set-up-while-stopping /run/setting-up; touch /srv/hold");
      const id = await begin("patient", "beside");
      await eventually(() => shell("test -e /run/setting-up"), 60_000);
      await goDown();

      // Before anything of Steward runs again: nobody has repaired anything.
      expect(await shell("dpkg --audit")).toBe("");
      expect(await shell("cat /srv/set-up-while-stopping")).toBe("whole\n");
      expect(await versions()).toBe("beside 1.1 install ok installed\npatient 1.1 install ok installed\n");

      await service.restart();
      const operation = await ended(id);
      expect(operation).toMatchObject({
        status: "done",
        result: { success: true, packages_updated: 2, error: null },
      });
      expect(operation.log).toContain("the host stops: it continues after the boot");
    });
  });
  it.each([
    ["a package is set up", ["needy", "halting"]],
    ["its packages are marked", ["needy"]],
  ])("keeps which packages are automatic when the host loses its power while %s", async (_name, packages) => {
    const old = ["needy", "library", "halting"].map((name) => packageFile(at(name, "1.0"))).join(" ");
    await shell(`dpkg --purge --force-depends brought 2>&1; dpkg --force-downgrade -i ${old} && apt-mark auto library`);
    const before = (await shell("apt-mark showauto")).trim().split("\n");
    const isLast = !packages.includes("halting");
    if (isLast) {
      await session.host.writeFile("/srv/apt-mark", slowMarks);
      await shell("mv /usr/bin/apt-mark /usr/bin/apt-mark.real && install -m 755 /srv/apt-mark /usr/bin/apt-mark");
    }
    await shell("touch /srv/cut");
    const id = await begin(...packages);
    await eventually(() => shell("test -e /run/at-work"), 60_000);
    await session.host.losePower();
    await shell("rm /srv/cut");
    if (isLast) {
      expect((await shell("apt-mark showmanual")).split("\n")).toEqual(expect.arrayContaining(["library", "needy"]));
      await shell("mv /usr/bin/apt-mark.real /usr/bin/apt-mark");
    }
    await service.restart();
    expect(await ended(id)).toMatchObject({ status: "done", result: { success: true, error: null } });
    expect((await shell("apt-mark showauto")).trim().split("\n")).toEqual([...before, "brought"].sort());
    expect((await shell("apt-mark showmanual")).split("\n")).toEqual(expect.arrayContaining(packages));
  });
});
