import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostSettingsUnavailable } from "#domain/ports/host-settings.ts";
import { send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const call = (path: "time" | "hostname", body?: object, query = "") =>
  send(service, {
    method: body === undefined ? "GET" : "POST",
    path: `/api/v1/system/${path}${query}`,
    key: service.admin,
    ...(body !== undefined && { body }),
  });

describe("the time zone and time synchronisation", () => {
  it("are shown", async () => {
    expect(await call("time")).toMatchObject({
      status: 200,
      json: {
        timezone: "Etc/UTC",
        ...{ ntp: true, ntp_available: true, ntp_synchronized: true, rtc_in_local_time: false },
      },
    });
  });

  it("are planned, changed, and not changed again", async () => {
    const body = { timezone: "Europe/Berlin", ntp: false };
    const steps = ["change the time zone from Etc/UTC to Europe/Berlin", "switch time synchronisation off"];
    expect((await call("time", body, "?dry_run=true")).json).toMatchObject({ dry_run: true, steps });
    expect((await call("time")).json).toMatchObject({ timezone: "Etc/UTC" });
    expect((await call("time", body)).json).toMatchObject({
      ...{ success: true, timezone: "Europe/Berlin", ntp: false, changed: ["timezone", "ntp"] },
      message: "changed the time zone from Etc/UTC to Europe/Berlin, time synchronisation switched off",
    });
    expect((await call("time", body)).json).toMatchObject({
      ...{ success: true, changed: [], message: "nothing was changed: already set" },
    });
    expect((await call("time", body, "?dry_run=true")).json).toMatchObject({ steps: [], reason: "already set" });
  });

  it("report what was changed before one that failed, to the caller and in the audit log", async () => {
    const { set } = service.timeSettings;
    Object.assign(service.timeSettings, {
      async set(...given: Parameters<typeof set>) {
        if (given[0].ntp !== undefined) throw new HostSettingsUnavailable("systemd-timedated", "it does not answer");
        await set(...given);
      },
    });
    const changed = "changed the time zone from Etc/UTC to Europe/Berlin";
    expect(await call("time", { timezone: "Europe/Berlin", ntp: false })).toMatchObject({
      status: 503,
      json: { error: { message: expect.stringContaining(`it does not answer (changed before: ${changed})`) } },
    });
    expect((await call("time")).json).toMatchObject({ timezone: "Europe/Berlin", ntp: true });
    expect(JSON.stringify(service.audit.entries)).toContain(changed);
  });

  it("need a time service to be switched on, and a setting to change", async () => {
    service.timeSettings.become({ canSync: false, isSyncEnabled: false });
    expect(await call("time", { ntp: true }, "?dry_run=true")).toMatchObject({
      status: 503,
      json: { error: { details: { missing: "time service", retryable: false } } },
    });
    expect(await call("time", {})).toMatchObject({ status: 400 });
  });

  it.each(["../../etc/passwd", "/etc/localtime", "Europe/", "", "Europe/Berlin\n", "-x", "Nowhere"])(
    "refuse the zone %j",
    async (timezone) => expect((await call("time", { timezone })).status).toBe(400),
  );
});

describe("the name of the host", () => {
  it("is shown, planned, changed, and not changed again", async () => {
    expect((await call("hostname")).json).toEqual({
      ...{ hostname: "web1", static_hostname: "web1", pretty_hostname: "" },
    });
    const body = { hostname: "web2.example.org", pretty: 'The "second" ⚙' };
    expect((await call("hostname", body, "?dry_run=true")).json).toMatchObject({
      steps: [
        "rename the host from web1 to web2.example.org",
        String.raw`change the pretty name from none to "The \"second\" ⚙"`,
      ],
    });
    expect((await call("hostname", body)).json).toMatchObject({
      ...{ hostname: "web2.example.org", static_hostname: "web2.example.org", pretty_hostname: 'The "second" ⚙' },
      ...{ success: true, changed: ["hostname", "pretty"] },
    });
    expect((await call("hostname", { pretty: "" })).json).toMatchObject({ changed: ["pretty"], pretty_hostname: "" });
    expect((await call("hostname", { hostname: "web2.example.org" })).json).toMatchObject({ changed: [] });
  });

  it("is set permanently where it is only the current one", async () => {
    service.hostNames.become({ current: "web9", permanent: "" });
    expect((await call("hostname", { hostname: "web9" })).json).toMatchObject({
      ...{ changed: ["hostname"], static_hostname: "web9" },
    });
  });

  it.each([
    ...["", "-web", "web-", "we b", "web_1", "web1.", ".web", "web..1", "wéb", "web1\n", "$(id)", "a".repeat(64)],
    ...["localhost", "LOCALHOST", "localhost.localdomain", "web.localhost", `${"a".repeat(60)}.bcde.f`],
  ])("refuses %j", async (hostname) => expect((await call("hostname", { hostname })).status).toBe(400));

  it.each(["a\nb", "\u001b[31m", "a".repeat(201), "a\u2028b"])("has a pretty form that refuses %j", async (pretty) =>
    expect((await call("hostname", { pretty })).status).toBe(400),
  );
});

it("time and name of the host take scopes of their own", async () => {
  const key = service.key(["system:read", "system:time"]);
  const post = (path: string, body: object) =>
    send(service, { method: "POST", path: `/api/v1/system/${path}`, key, body });
  expect((await post("time", { ntp: false })).status).toBe(200);
  expect(await post("hostname", { hostname: "web2" })).toMatchObject({
    status: 403,
    json: { error: { details: { required_scope: "system:hostname" } } },
  });
});
