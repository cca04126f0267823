import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { type Chaos, keepAddress, startChaos } from "./support/chaos.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property } from "./support/systemctl.ts";

const kills = 10;
/** What cannot be said, or done, while systemd is out of reach. */
/** A plugin is not enabled where systemd cannot start it, and its answer says so. */
const withoutSystemd =
  /"missing":"systemd"|\/system\/services\/cron\.service\/restart|"message":"cannot enable soak: systemd did not start it: /;
const cut =
  /closed with 1006|ECONNREFUSED|ECONNRESET|other side closed|socket hang up|fetch failed|Unexpected server response: 503/;

describeOnHost("a host that is not kind to the service", (session) => {
  let chaos: Chaos;
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const kill = (signal: string) => systemctl("kill", "--kill-whom=main", `--signal=${signal}`, "steward.service");

  /** It lists a unit as systemd has it at this moment, which nobody restarts by way of the service. */
  const knowsUnits = () =>
    eventually(async () => {
      await systemctl("restart", "polkit.service");
      const pid = Number(await property(session, "polkit.service", "MainPID"));
      await eventually(async () => {
        expect(await entry(session, "polkit.service")).toMatchObject({ running: true, main_pid: pid });
      });
    });

  beforeAll(async () => {
    await keepAddress(session, ["WatchdogSec=8s"]);
    chaos = await startChaos(session);
  });
  afterAll(async () => {
    // Whatever failed, nothing is to ask a host that is gone.
    await chaos?.load.stop();
  });

  it("restarts the bus", async () => {
    await chaos.happen({
      async act() {
        await systemctl("restart", "dbus.service");
        await sleep(1_000);
        await systemctl("kill", "--kill-whom=main", "--signal=KILL", "dbus.service");
        await sleep(1_000);
      },
      mayFail: withoutSystemd,
      maySay: /system bus lost|component unhealthy|"check changed"/,
    });
    await knowsUnits();
  });

  it("has its systemd start again", async () => {
    await chaos.happen({
      act: () => systemctl("daemon-reexec"),
      mayFail: withoutSystemd,
      maySay: /system bus lost|component unhealthy|"check changed"/,
    });
    await knowsUnits();
    // Its watchdog pings still arrive.
    const last = await property(session, "steward.service", "WatchdogTimestampMonotonic");
    await eventually(async () => {
      expect(await property(session, "steward.service", "WatchdogTimestampMonotonic")).not.toBe(last);
    });
  });

  it("restarts its journal, rotates it, cuts it down, and kills it", async () => {
    await chaos.happen({
      async act() {
        await systemctl("restart", "systemd-journald.service");
        await sleep(500);
        await session.host.exec(["journalctl", "--rotate"]);
        await session.host.exec(["journalctl", "--vacuum-files=2"]);
        await sleep(500);
        await systemctl("restart", "systemd-journald.service");
      },
      maySay: /"check changed"/,
    });
  });

  it("stands still for a while, and the service with it", async () => {
    await chaos.happen({
      async act() {
        await kill("STOP");
        await sleep(3_000);
        await kill("CONT");
      },
      maySay: /"check changed"/,
    });
  });

  it(`kills the service ${kills} times`, { timeout: 300_000 }, async () => {
    const before = Number(await property(session, "steward.service", "NRestarts"));
    chaos.load.expectTrouble(true);
    const { fraction: random } = createRandom(seed);
    await chaos.happen({
      async act() {
        for (let count = 1; count <= kills; count += 1) {
          await sleep(random() * 500);
          await kill("KILL");
          await eventually(async () => {
            expect(await property(session, "steward.service", "NRestarts")).toBe(String(before + count));
            expect(await property(session, "steward.service", "ActiveState")).toBe("active");
          });
          expect(await chaos.lost()).toEqual([]);
        }
      },
      mayFail: cut,
      maySay: /./,
      isReplaced: true,
    });
    chaos.load.expectTrouble(false);
    expect(Number(await property(session, "steward.service", "NRestarts"))).toBe(before + kills);
  });

  it("has taken nothing that was acknowledged, and no line of the journal, from anybody", async () => {
    await chaos.end();
  });

  it("deletes the whole journal under those that read it", async () => {
    await session.shell("rm -f /var/log/journal/*/*");
    expect(await session.api.listLogs({ query: { limit: 10 } })).toMatchObject({ logs: expect.any(Array) });
    // What is open is written on until then.
    await systemctl("restart", "systemd-journald.service");
    await session.shell("logger -t afterwards here-again");
    await eventually(async () => {
      const { logs } = await session.api.listLogs({ query: { identifier: "afterwards" } });
      expect(logs.map(({ message }) => message)).toEqual(["here-again"]);
    });
    expect((await session.api.getHealth()).components.cli).toBe(true);
  });
});
