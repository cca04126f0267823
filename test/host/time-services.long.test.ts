import { beforeAll, describe, expect, it } from "vitest";
import { downloadEnvironment } from "./mirror.ts";
import { defaultSuite } from "./recipe.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const timesyncd = "systemd-timesyncd.service";
const chrony = "chrony.service";
const folder = "/var/tmp/time-services";

/** In a container neither may set the clock, so both start without that right; they ask this machine alone, which does not answer. */
const harmless = {
  "/etc/systemd/system/systemd-timesyncd.service.d/harmless.conf": [
    "[Unit]",
    "ConditionCapability=",
    "ConditionVirtualization=",
    "[Service]",
    "AmbientCapabilities=",
    "CapabilityBoundingSet=",
  ],
  "/etc/systemd/timesyncd.conf.d/harmless.conf": ["[Time]", "NTP=127.0.0.1", "FallbackNTP="],
  "/etc/systemd/system/chrony.service.d/harmless.conf": [
    "[Unit]",
    "ConditionCapability=",
    "[Service]",
    "Type=exec",
    "ExecStart=",
    "ExecStart=/usr/sbin/chronyd -d -x -U -u root 'server 127.0.0.1' 'cmdport 0' 'port 0'",
  ],
} as const;

describeOnHost(`time services of ${defaultSuite()}`, { user: "steward" }, (session) => {
  const { shell } = session;
  const ntpOf = async (): Promise<string> => (await shell("timedatectl show --value --property=NTP")).trim();
  const stateOf = async (unit: string): Promise<string> =>
    (await shell(`systemctl show --property=UnitFileState,ActiveState --value ${unit} | sort | tr '\\n' ' '`)).trim();
  const setNtp = (ntp: boolean) => session.api.setTime({ body: { ntp } });
  const install = (name: string) =>
    shell(`DEBIAN_FRONTEND=noninteractive dpkg --force-conflicts --force-depends -i ${folder}/${name}_*.deb`);

  beforeAll(async () => {
    const env = Object.entries(await downloadEnvironment()).map(([name, value]) => `${name}=${value}`);
    const download = `mkdir -p ${folder} && cd ${folder} && apt-get -q update && apt-get -q -o APT::Sandbox::User=root download systemd-timesyncd chrony`;
    await session.host.exec(["env", ...env, "sh", "-c", download]);
    for (const [path, lines] of Object.entries(harmless)) await session.host.writeFile(path, `${lines.join("\n")}\n`);
  });

  describe("without any", () => {
    it("on is refused with what to install, and off is so already", async () => {
      expect(await session.api.getTime()).toMatchObject({ ntp: false, ntp_available: false });
      for (const query of [{}, { dry_run: true }])
        expect(await refusal(session.api.setTime({ query, body: { ntp: true } }))).toMatchObject({
          status: 503,
          message: expect.stringMatching(/no time service .*\(install systemd-timesyncd or chrony\)/),
          details: { missing: "time service", retryable: false },
        });
      expect(await setNtp(false)).toMatchObject({ changed: [], message: "nothing was changed: already set" });
    });
  });

  it("systemd-timesyncd is switched off and on, now and for each boot", async () => {
    await install("systemd-timesyncd");
    await shell(
      `systemctl daemon-reload && systemctl enable --quiet --now ${timesyncd} && systemctl restart systemd-timedated`,
    );
    expect(await session.api.getTime()).toMatchObject({ ntp: true, ntp_available: true, ntp_synchronized: false });
    for (const [ntp, shown, state] of [
      [false, "no", "disabled inactive"],
      [true, "yes", "active enabled"],
      [false, "no", "disabled inactive"],
    ] as const) {
      expect(await setNtp(ntp)).toMatchObject({ changed: ["ntp"] });
      await eventually(async () => {
        expect([await ntpOf(), await stateOf(timesyncd)]).toEqual([shown, state]);
      });
      expect(await session.api.getTime()).toMatchObject({ ntp });
      expect(await setNtp(ntp)).toMatchObject({ changed: [] });
    }
  });

  it("of two, that is switched on which systemd prefers, and both are switched off", async () => {
    await install("chrony");
    await shell("systemctl daemon-reload; systemctl stop chrony; systemctl restart systemd-timedated");
    expect(await session.api.getTime()).toMatchObject({ ntp: false, ntp_available: true });
    expect(await setNtp(true)).toMatchObject({ changed: ["ntp"] });
    await eventually(async () => {
      expect([await ntpOf(), await stateOf(chrony), await stateOf(timesyncd)]).toEqual([
        "yes",
        "active enabled",
        "disabled inactive",
      ]);
    });
    expect(await setNtp(false)).toMatchObject({ changed: ["ntp"] });
    await eventually(async () => {
      expect([await ntpOf(), await stateOf(chrony), await stateOf(timesyncd)]).toEqual([
        "no",
        "disabled inactive",
        "disabled inactive",
      ]);
    });
  });
});
