import { expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("time zone and name of the host", { user: "steward" }, (session) => {
  const { shell } = session;
  const shown = async (property: string): Promise<string> =>
    (await shell(`timedatectl show --value --property=${property}`)).trim();
  const isYes = async (property: string): Promise<boolean> => (await shown(property)) === "yes";

  it("are shown as timedatectl and hostnamectl show them", async () => {
    expect(await session.api.getTime()).toMatchObject({
      timezone: await shown("Timezone"),
      ntp: await isYes("NTP"),
      ntp_available: await isYes("CanNTP"),
      ntp_synchronized: await isYes("NTPSynchronized"),
      rtc_in_local_time: await isYes("LocalRTC"),
    });
    expect(await session.api.getHostname()).toMatchObject({
      hostname: (await shell("uname -n")).trim(),
      static_hostname: (await shell("hostnamectl --static")).trim(),
    });
  });

  it("the zone is changed, once, to one that the host has", async () => {
    const before = await shown("Timezone");
    const body = { timezone: "Asia/Kathmandu" };
    const plan = await session.api.setTime({ query: { dry_run: true }, body });
    expect(plan).toMatchObject({ steps: [`change the time zone from ${before} to Asia/Kathmandu`] });
    expect(await shown("Timezone")).toBe(before);
    expect(await session.api.setTime({ body })).toMatchObject({ timezone: "Asia/Kathmandu", changed: ["timezone"] });
    expect([await shown("Timezone"), (await shell("date +%z")).trim()]).toEqual(["Asia/Kathmandu", "+0545"]);
    expect(await session.api.setTime({ body })).toMatchObject({ changed: [] });
    expect(await refusal(session.api.setTime({ body: { timezone: "Asia/Nowhere" } }))).toMatchObject({ status: 400 });
    const { entries } = await session.api.listAudit({ query: { operation: "setTime", limit: 10 } });
    expect(entries.map(({ dry_run: isDry, status }) => [isDry, status])).toContainEqual([false, 200]);
    await session.api.setTime({ body: { timezone: before } });
  });

  it("time synchronisation is switched if there is a time service, and refused with what is missing if not", async () => {
    const { ntp_available: isThere, ntp } = await session.api.getTime();
    if (isThere) {
      expect(await session.api.setTime({ body: { ntp: !ntp } })).toMatchObject({ changed: ["ntp"] });
      await eventually(async () => expect(await isYes("NTP")).toBe(!ntp));
      await session.api.setTime({ body: { ntp } });
      await eventually(async () => expect(await isYes("NTP")).toBe(ntp));
    } else {
      expect(await refusal(session.api.setTime({ body: { ntp: true } }))).toMatchObject({
        status: 503,
        details: { missing: "time service" },
      });
    }
  });

  it("the host is renamed, now and for each boot", async () => {
    const { hostname: before } = await session.api.getHostname();
    const body = { hostname: "renamed.example.org", pretty: "Renamed ⚙ $(id)" };
    expect(await session.api.setHostname({ body })).toMatchObject({
      hostname: body.hostname,
      static_hostname: body.hostname,
      pretty_hostname: body.pretty,
    });
    expect(await shell("uname -n; cat /etc/hostname; hostnamectl --pretty")).toBe(
      `${body.hostname}\n${body.hostname}\n${body.pretty}\n`,
    );
    expect(await session.api.setHostname({ body })).toMatchObject({ changed: [] });
    await session.api.setHostname({ body: { hostname: before, pretty: "" } });
  });

  it("and refused with what is missing if hostnamed and timedated are masked", async () => {
    const units = "systemd-hostnamed.service systemd-timedated.service";
    await shell(`systemctl stop ${units}; systemctl mask --quiet ${units}`);
    try {
      for (const [ask, missing] of [
        [session.api.getTime, "systemd-timedated"],
        [session.api.getHostname, "systemd-hostnamed"],
      ] as const)
        expect(await refusal(ask())).toMatchObject({ status: 503, details: { missing, retryable: true } });
    } finally {
      await shell(`systemctl unmask --quiet ${units}`);
    }
  });
});
