import { afterAll, beforeAll, expect, it } from "vitest";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { type Chaos, keepAddress, startChaos } from "./support/chaos.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property } from "./support/systemctl.ts";

const kills = 10;
/** A plugin is not enabled where systemd cannot start it, and its answer says so. */
const withoutSystemd =
  /"missing":"systemd"|\/system\/services\/cron\.service\/restart|"message":"cannot enable soak: systemd did not start it: /;
const cut =
  /closed with 1006|ECONNREFUSED|ECONNRESET|other side closed|socket hang up|fetch failed|Unexpected server response: 503/;

describeOnHost("a service under load", (session) => {
  let chaos: Chaos;
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const kill = (signal: string) => systemctl("kill", "--kill-whom=main", `--signal=${signal}`, "steward.service");

  /** It lists a unit as systemd has it right now, which nobody restarts by way of the service. */
  const knowsUnits = () =>
    eventually(async () => {
      await systemctl("restart", "polkit.service");
      const pid = Number(await property(session, "polkit.service", "MainPID"));
      await eventually(async () => {
        expect(await entry(session, "polkit.service")).toMatchObject({ running: true, main_pid: pid });
      });
    });

  /** The number of the last line that the writer of the load has in the journal. */
  const lastWritten = async (): Promise<number> =>
    Number((await session.shell("journalctl -q -o cat -n 1 -u steady.service")).trim().split(" ")[1]);

  beforeAll(async () => {
    await keepAddress(session, ["WatchdogSec=8s"]);
    chaos = await startChaos(session);
  });
  afterAll(async () => {
    // Whatever failed, nothing is to ask a host that is gone.
    await chaos?.load.stop();
  });

  it("continues when the system bus is restarted and killed", async () => {
    await chaos.happen({
      async act() {
        await systemctl("restart", "dbus.service");
        await knowsUnits();
        await systemctl("kill", "--kill-whom=main", "--signal=KILL", "dbus.service");
      },
      mayFail: withoutSystemd,
      maySay: /system bus lost|component unhealthy|"check changed"/,
    });
    await knowsUnits();
  });

  it("continues when systemd is executed again, watchdog pings included", async () => {
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

  it("continues when journald is restarted, and its files are rotated and vacuumed", async () => {
    await chaos.happen({
      async act() {
        await systemctl("restart", "systemd-journald.service");
        await session.host.exec(["journalctl", "--rotate"]);
        await session.host.exec(["journalctl", "--vacuum-files=2"]);
        await systemctl("restart", "systemd-journald.service");
      },
      maySay: /"check changed"/,
    });
  });

  it("continues after it was stopped for a while", async () => {
    await chaos.happen({
      async act() {
        await kill("STOP");
        const before = await lastWritten();
        await eventually(async () => expect(await lastWritten()).toBeGreaterThan(before + 100));
        await kill("CONT");
      },
      maySay: /"check changed"/,
    });
  });

  it(`keeps what was acknowledged when it is killed ${kills} times`, async () => {
    const before = Number(await property(session, "steward.service", "NRestarts"));
    chaos.load.expectTrouble(true);
    const { fraction: random } = createRandom(seed);
    await chaos.happen({
      async act() {
        for (let count = 1; count <= kills; count += 1) {
          const acknowledged = chaos.load.tally.mutations + Math.floor(random() * 4);
          await eventually(() => expect(chaos.load.tally.mutations).toBeGreaterThanOrEqual(acknowledged));
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

  it("has lost no acknowledged change and no line of the journal", async () => {
    await chaos.end();
  });

  it("reads the journal again after all its files were deleted", async () => {
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
