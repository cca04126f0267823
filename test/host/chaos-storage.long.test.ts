import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { type Chaos, keepAddress, startChaos } from "./support/chaos.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk, type SmallDisk } from "./support/small-disk.ts";
import { property } from "./support/systemctl.ts";

const stateDir = "/var/lib/steward";
const unit = "steward.service";

describeOnHost("a state directory", (session) => {
  let disk: SmallDisk;
  let chaos: Chaos;
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const createKey = () => session.api.createKey({ body: { name: "asked for", scopes: ["system:read"] } });

  beforeAll(async () => {
    disk = await createSmallDisk(session, 24);
    await systemctl("stop", unit);
    // The state of the first start goes with it, so that the key that was made there is good.
    await session.shell(`mv ${stateDir} /root/state && mkdir ${stateDir}`);
    await disk.mount(stateDir);
    await session.shell(
      `cp -a /root/state/. ${stateDir}/ && chown --reference=/root/state ${stateDir} && chmod 700 ${stateDir}`,
    );
    await session.shell(`mount -o remount,errors=remount-ro ${stateDir}`);
    await keepAddress(session);
    chaos = await startChaos(session);
  });
  afterAll(async () => {
    await chaos?.load.stop();
    disk?.dispose();
  });

  it("without free space keeps a killed service from starting no longer than until there is space", async () => {
    const { id } = await createKey();
    await session.shell(`dd if=/dev/zero of=${stateDir}/fill bs=64k 2>/dev/null; sync`);
    chaos.load.expectTrouble(true);
    await systemctl("kill", "--kill-whom=main", "--signal=KILL", unit);
    // It either runs and refuses, or is brought back again and again: as soon as there is space it runs.
    await eventually(async () => expect(Number(await property(session, unit, "NRestarts"))).toBeGreaterThan(0), 30_000);
    await session.shell(`rm ${stateDir}/fill`);
    await eventually(async () => {
      expect(await property(session, unit, "ActiveState")).toBe("active");
      await createKey();
    });
    chaos.load.expectTrouble(false);
    expect((await session.api.listKeys()).keys).toContainEqual(expect.objectContaining({ id, revoked_at: null }));
    expect(await chaos.lost()).toEqual([]);
  });

  it("that the kernel made read-only refuses changes, answers all else and loses nothing", async () => {
    const pid = await session.service.pid();
    // As many as the end of the load asks for.
    await eventually(() => expect(chaos.load.tally.mutations).toBeGreaterThan(20));
    chaos.load.expectTrouble(true);
    const device = (await session.shell(`findmnt --noheadings --output=SOURCE ${stateDir}`)).trim();
    // What the kernel does when it finds a fault in what is on the disk.
    writeFileSync(`/sys/fs/ext4/${device.replace("/dev/", "")}/trigger_fs_error`, "1");
    await eventually(async () => {
      expect(await refusal(createKey())).toMatchObject({ status: 503, code: "UNAVAILABLE" });
    });
    expect((await session.api.listServices()).total).toBeGreaterThan(0);
    expect(await session.service.pid()).toBe(pid);

    await chaos.load.stop();
    await systemctl("stop", unit);
    await disk.unmount();
    await disk.check();
    await disk.mount(stateDir);
    await systemctl("start", unit);
    await eventually(async () => {
      const api = createClient({ url: session.service.url, key: session.service.adminKey });
      expect((await api.getHealth()).components.security).toBe(true);
    });
    await chaos.end();
    await createKey();
  });
});
