import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];

describeOnHost("a restart is refused", (session) => {
  /** The refusal of a restart, which its dry run gives as well. */
  const refused = async (name: string) => {
    const planned = await refusal(session.api.restartService({ params: { name }, query: { dry_run: true } }));
    const error = await refusal(session.api.restartService({ params: { name } }));
    expect(planned).toMatchObject({ status: error.status, message: error.message, details: error.details });
    return error;
  };

  /** The status of a POST to a path that is sent as it is; `fetch` would tidy it up. */
  const post = (path: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const { hostname, port } = new URL(session.service.url);
    const options = { hostname, port, path, method: "POST", headers: { "X-API-Key": session.service.adminKey } };
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
    return promise;
  };

  it("for a masked unit", async () => {
    expect(await refused("console-getty")).toMatchObject({
      status: 400,
      code: "VALIDATION_ERROR",
      message: "cannot restart console-getty.service: unit is masked (unmask it first)",
      details: { field: "name", issue: "unit is masked" },
    });
  });

  it("for a unit that does not exist", async () => {
    expect(await refused("nowhere")).toMatchObject({
      status: 404,
      code: "NOT_FOUND",
      message: "cannot restart nowhere.service: no such unit",
    });
  });

  it("for a unit that may not be started by hand", async () => {
    await session.writeUnits({ "refuses-start.service": ["[Unit]", "RefuseManualStart=yes", ...sleeper] });
    const error = await refused("refuses-start");

    expect(error).toMatchObject({ status: 400, code: "VALIDATION_ERROR", details: { field: "name" } });
    expect(error.message).toMatch(/^cannot restart refuses-start\.service: .*may be requested by dependency only/);
  });

  it("for a unit that may not be stopped by hand", async () => {
    await session.writeUnits({ "refuses-stop.service": ["[Unit]", "RefuseManualStop=yes", ...sleeper] });
    await session.host.exec(["systemctl", "start", "refuses-stop.service"]);
    const before = await property(session, "refuses-stop.service", "MainPID");

    expect(await refused("refuses-stop")).toMatchObject({ status: 400, details: { field: "name" } });
    expect(await property(session, "refuses-stop.service", "MainPID")).toBe(before);
  });

  it.each([
    ["without a command", ["[Service]", "Type=simple"]],
    ["with a relative command", ["[Service]", "ExecStart=./here"]],
    ["that is not one", ["nonsense"]],
  ])("for a unit file %s", async (_, lines) => {
    await session.writeUnits({ "bad.service": lines });

    expect(await refused("bad")).toMatchObject({ status: 400, details: { field: "name" } });
  });

  describe("for an invalid name", () => {
    it.each([
      "cron;touch /tmp/pwned",
      "$(touch /tmp/pwned)",
      "`touch /tmp/pwned`",
      "cron|touch /tmp/pwned",
      "-cron",
      "--help",
      "--",
      "cron service",
      "cron\nservice",
      "cron\0",
      "cron%2d",
      "../cron",
      "../../../../etc/passwd",
      "a".repeat(300),
      "é.service",
      "cron*",
      "[a-z]*.service",
      "dbus.socket",
      "multi-user.target",
      "getty@.service",
      "getty@",
      ".service",
    ])("%j", async (name) => {
      expect(await refused(name)).toMatchObject({
        status: 400,
        code: "VALIDATION_ERROR",
        details: { field: "name" },
      });
    });

    it.each([
      ["", 400],
      ["../cron", 404],
      ["..%2fcron", 400],
      ["..", 400],
      ["%2e%2e", 400],
      ["%", 400],
      ["cron%", 400],
      ["cron%zz", 400],
      ["cron%00", 400],
      ["cron%0a", 400],
      ["%c0%ae", 400],
      ["a".repeat(2000), 400],
    ])("sent as %.40s", async (name, status) => {
      expect(await post(`/api/v1/system/services/${name}/restart`)).toBe(status);
    });

    it("and nothing of it is carried out", async () => {
      expect(await session.shell("ls /tmp")).not.toContain("pwned");
      expect(await session.api.getHealth()).toMatchObject({ components: { ops: true } });
    });
  });

  describe("for a key that is narrowed to one service", () => {
    const narrowed = async () => {
      const body = { name: "cron only", scopes: ["services:restart:cron.service"] };
      const { key } = await session.api.createKey({ body });
      const api = createClient({ url: session.service.url, key });
      return (name: string) => api.restartService({ params: { name } });
    };

    it("but for that one", async () => {
      const restartNarrowed = await narrowed();

      expect(await restartNarrowed("cron.service")).toMatchObject({ success: true });
      expect(await restartNarrowed("cron")).toMatchObject({ success: true });
    });

    it.each(["systemd-logind", "nowhere", "console-getty", "cron@one", "xcron"])(
      "without telling whether %s exists",
      async (name) => {
        const restartNarrowed = await narrowed();

        expect(await refusal(restartNarrowed(name))).toMatchObject({
          status: 403,
          code: "FORBIDDEN",
          details: { required_scope: `services:restart:${name}.service`, granted: ["services:restart:cron.service"] },
        });
      },
    );
  });
});
