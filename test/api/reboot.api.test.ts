import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const call = (method: "GET" | "POST" | "DELETE", query = "", body?: unknown) =>
  send(service, {
    method,
    path: `/api/v1/system/reboot${query}`,
    key: service.admin,
    ...(body !== undefined && { body }),
  });
const at = "2026-01-01T03:00:00.000Z";

describe("a reboot of the host", () => {
  it("is scheduled, shown, and cancelled", async () => {
    const { status, json } = await call("POST", "", { at, message: "updates" });
    expect([status, json]).toEqual([200, { success: true, message: `the host reboots at ${at}`, scheduled_at: at }]);
    expect(service.reboots.messages).toEqual(["updates"]);
    expect((await call("GET")).json).toEqual({ scheduled_at: at, users: [], inhibitors: [], operation_id: null });
    expect((await call("POST", "", {})).json).toMatchObject({
      error: { code: "CONFLICT", message: `cannot reboot: a reboot is scheduled for ${at} (cancel it first)` },
    });
    expect((await call("DELETE", "?dry_run=true")).json).toMatchObject({ steps: [`cancel the reboot at ${at}`] });
    expect((await call("DELETE")).json).toMatchObject({ success: true, scheduled_at: at });
    expect((await call("DELETE")).status).toBe(404);
  });

  it("comes some seconds after the answer by default", async () => {
    const { json } = await call("POST");
    expect(Date.parse((json as { scheduled_at: string }).scheduled_at)).toBe(service.clock.now() + 5_000);
  });

  it("is planned with what it interrupts", async () => {
    const delay = { who: "Unattended Upgrades Shutdown", why: "stop", blocks: false };
    service.reboots.become({ users: ["eve", "root"], inhibitors: [delay] });
    expect((await call("POST", "?dry_run=true", { at })).json).toMatchObject({
      steps: [
        "end the sessions of eve, root",
        "wait some seconds for Unattended Upgrades Shutdown: stop",
        `reboot at ${at}`,
      ],
    });
    expect((await call("GET")).json).toMatchObject({ scheduled_at: null });
  });

  it("is refused while a program inhibits it, unless inhibitors are ignored", async () => {
    service.reboots.become({ inhibitors: [{ who: "APT", why: "packages change", blocks: true }] });
    expect((await call("POST", "?dry_run=true")).json).toMatchObject({
      steps: [],
      reason: "it is inhibited by APT: packages change",
    });
    expect(await call("POST")).toMatchObject({ status: 409, json: { error: { details: { retryable: true } } } });
    const delay = { who: "Unattended Upgrades Shutdown", why: "stop", blocks: false };
    service.reboots.become({ inhibitors: [{ who: "APT", why: "packages change", blocks: true }, delay] });
    expect((await call("POST", "?dry_run=true", { ignore_inhibitors: true })).json).toMatchObject({
      steps: ["interrupt APT: packages change", "interrupt Unattended Upgrades Shutdown: stop", "reboot at once"],
    });
    expect((await call("POST", "", { ignore_inhibitors: true })).status).toBe(200);
  });

  it("is not the shutdown of somebody else", async () => {
    service.reboots.become({ kind: "poweroff", scheduledAt: Date.parse(at) });
    expect((await call("GET")).json).toMatchObject({ scheduled_at: null });
    expect((await call("DELETE")).status).toBe(404);
    expect((await call("POST")).json).toMatchObject({
      error: { message: `cannot reboot: a poweroff is scheduled for ${at} (cancel it first)` },
    });
  });

  it.each([
    [{ at: "2027-01-01T00:00:00Z" }, "at"],
    [{ at: "soon" }, "at"],
    [{ message: "two\nlines" }, "message"],
  ])("is refused with %j", async (body, field) => {
    expect(await call("POST", "", body)).toMatchObject({ status: 400, json: { error: { details: { field } } } });
    expect((await call("GET")).json).toMatchObject({ scheduled_at: null });
  });
});
