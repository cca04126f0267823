import { expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const stateFolder = "/var/lib/steward";
const secret = /st[wt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{20,}/;

describeOnHost("the service as it is installed", (session) => {
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === "object" && value !== null;

  const checkLog = async (): Promise<void> => {
    const log = await session.service.logs();
    const entries = log.split("\n").filter((line) => line.startsWith("{"));
    expect(entries.length).toBeGreaterThan(2);
    for (const line of entries) {
      const entry: unknown = JSON.parse(line);
      if (!isObject(entry)) throw new Error(`not an object: ${line}`);
      expect(["debug", "info", "warn", "error"]).toContain(entry["level"]);
      expect(entry["msg"]).toEqual(expect.stringMatching(/\S/));
      expect(entry["time"]).toEqual(expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/));
    }
    expect(log).not.toContain(session.service.adminKey);
    expect(log).not.toMatch(secret);
  };

  it("keeps its state to itself from the first start on", async () => {
    const listed = await session.shell(`find ${stateFolder} -ignore_readdir_race -printf '%y %m %u %p\\n'`);
    const found = listed.trim().split("\n");

    expect(found).toContain(`d 700 steward ${stateFolder}`);
    expect(found).toContain(`f 600 steward ${stateFolder}/admin.key`);
    for (const line of found) expect(line).toMatch(/^(d 700|f 600) steward /);
  });

  it("prints a line that asks it, ready to be pasted", async () => {
    const lines = (await session.service.logs()).split("\n").map((line) => line.trim());
    const line = lines.find((text) => text.startsWith("curl ")) ?? "";
    const answer: unknown = JSON.parse(await session.shell(`${line} --silent --show-error --fail`));

    expect(answer).toMatchObject({ components: { ops: true, security: true } });
    expect(JSON.parse(await session.shell(`${line} 2>/dev/null`))).toMatchObject({ components: { security: true } });
  });

  it("logs with the priorities of its levels", async () => {
    const settings = "/etc/steward/config.yaml";
    const before = await session.host.readFile(settings).catch(() => "");
    await session.host.writeFile(settings, "colour: blue\n");
    await session.shell("systemctl kill --kill-who=main -s HUP steward.service");
    const priorities: Readonly<Record<string, string>> = { debug: "7", info: "6", warn: "4", error: "3" };
    await eventually(async () => {
      const text = await session.shell("journalctl --quiet --no-pager -o json -u steward.service _TRANSPORT=stdout");
      const entries = text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { MESSAGE: string; PRIORITY: string });
      const told = entries
        .filter(({ MESSAGE: message }) => message.startsWith("{"))
        .map(({ MESSAGE, PRIORITY }) => ({ level: (JSON.parse(MESSAGE) as { level: string }).level, PRIORITY }));
      for (const { level, PRIORITY } of told) expect([level, PRIORITY]).toEqual([level, priorities[level]]);
      expect(told.filter(({ level }) => level === "warn" || level === "error")).not.toEqual([]);
      // A mark that the journal had left in the text would be a line that is not JSON.
      expect(entries.filter(({ MESSAGE: message }) => message.startsWith("<"))).toEqual([]);
    });
    await session.host.writeFile(settings, before);
  });

  it("logs one JSON object a line, without a secret", async () => {
    const { key } = await session.api.createKey({ body: { name: "logged", scopes: ["system:read"] } });
    const { access_token } = await createClient({ url: session.service.url, key }).createToken();
    for (const credential of [key, access_token, `${key}x`]) {
      const headers = { Authorization: `Bearer ${credential}` };
      await fetch(`${session.service.url}/api/v1/system/services?limit=1&key=${credential}`, { headers });
      await fetch(`${session.service.url}/${credential}`, { headers });
    }
    await session.api.restartService({ params: { name: "cron" } });
    await eventually(async () => expect(await session.service.logs()).toContain('"status":401'));

    await checkLog();
    expect(await session.host.readFile(`${stateFolder}/audit/audit-000000000001.log`)).not.toMatch(secret);
  });

  it("makes no second key at a second start", async () => {
    const key = session.service.adminKey;
    const before = await session.api.listKeys();
    await session.service.restart();

    expect(session.service.adminKey).toBe(key);
    const after = await session.api.listKeys();
    expect(after.keys.map(({ id }) => id)).toEqual(before.keys.map(({ id }) => id));
    expect(await session.service.logs()).not.toContain("admin key");
  });

  it("is the only one on its state folder", async () => {
    const environment = { PATH: "/usr/sbin:/usr/bin", STEWARD_STATE_DIR: stateFolder, STEWARD_LISTEN: "127.0.0.1:0" };
    const second = await session.host.exec([...installedPrograms, "serve"], {
      env: environment,
      allowFailure: true,
      user: "steward",
    });

    expect(second.exitCode).not.toBe(0);
    expect(second.stderr).toMatch(/^steward: cannot .*another Steward runs with this state folder/m);
    expect(await session.api.whoami()).toMatchObject({ name: "admin" });
  });

  it("is asked and managed from its own command line", async () => {
    const run = async (...words: readonly string[]) => {
      // The same settings as the service has, so that its address and its admin key are found.
      const { host } = new URL(session.service.url);
      const env = { PATH: "/usr/bin:/bin", STEWARD_STATE_DIR: stateFolder, STEWARD_LISTEN: host };
      return session.host.exec([...installedPrograms, ...words], { env, allowFailure: true });
    };
    const made = await run("keys", "create", "from the shell", "--scope", "system:read", "--expires", "1h");
    expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(secret) });
    const api = createClient({ url: session.service.url, key: made.stdout.trim() });
    const { key_id: id, scopes } = await api.whoami();
    expect(scopes).toEqual(["system:read"]);

    const listed = await run("keys", "list");
    expect(listed.exitCode).toBe(0);
    expect(listed.stdout).toContain(id);
    expect(listed.stdout).not.toMatch(secret);
    expect(await run("keys", "revoke", id, "--yes")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(id),
    });
    await expect(api.whoami()).rejects.toMatchObject({ status: 401 });
    expect(await run("keys", "revoke", "Ab3dE6gH", "--yes")).toMatchObject({ exitCode: 2 });

    expect(await run("config", "check")).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("no fault") });
    await session.host.writeFile("/etc/steward/config.yaml", "listn: 127.0.0.1:1\n");
    const faulty = await run("config", "check");
    expect(faulty).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/config\.yaml:1.*listn/s) });
    // What root can read the service may not.
    await session.shell("echo key > /etc/steward/model.key; chmod 600 /etc/steward/model.key");
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      "connectors:\n  list:\n    - { name: m, provider: openai, model: m, api_key_file: /etc/steward/model.key }\n",
    );
    expect(await run("config", "check")).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /config\.yaml:3.*connectors\.list\.0\.api_key_file: the service cannot read \/etc\/steward\/model\.key \(chown root:steward/,
      ),
    });
    await session.shell("chown root:steward /etc/steward/model.key; chmod 640 /etc/steward/model.key");
    expect(await run("config", "check")).toMatchObject({ exitCode: 0 });
    await session.host.exec(["rm", "/etc/steward/config.yaml", "/etc/steward/model.key"]);
  });

  it("with settings that have a fault is not tried again and again", async () => {
    await session.host.writeFile("/etc/steward/config.yaml", "listn: 127.0.0.1:1\n");
    // As the package has it; the drop-in of the tests starts nothing again.
    const dropIn = "/etc/systemd/system/steward.service.d/60-restart.conf";
    await session.host.writeFile(dropIn, "[Service]\nRestart=on-failure\nRestartSec=100ms\n");
    try {
      await session.host.exec(["systemctl", "daemon-reload"]);
      await session.host.exec(["systemctl", "restart", "steward.service"], { allowFailure: true });
      await session.shell("until systemctl -q is-failed steward.service; do sleep 0.1; done");
      await session.shell("sleep 1");
      const shown = await session.shell("systemctl show -p Result -p ExecMainStatus -p NRestarts steward.service");
      expect(shown.trim().split("\n").sort()).toEqual(["ExecMainStatus=78", "NRestarts=0", "Result=exit-code"]);
    } finally {
      await session.host.exec(["rm", dropIn, "/etc/steward/config.yaml"]);
      await session.host.exec(["systemctl", "daemon-reload"]);
      await session.service.restart();
    }
  });

  it("ends by itself on SIGTERM, also while it restarts a unit, and does not wait for that", async () => {
    const slow = ["[Service]", "ExecStart=/bin/sleep infinity", "ExecStartPre=/bin/sleep 90"];
    await session.writeUnits({ "slow.service": slow });
    const call = session.api.restartService({ params: { name: "slow" } });
    const ended = call.catch((error: unknown) => error);
    await eventually(async () => {
      expect(await property(session, "slow.service", "ActiveState")).toBe("activating");
    });
    await session.host.exec(["systemctl", "kill", "--signal=TERM", "steward.service"]);
    await eventually(async () => {
      expect(await property(session, "steward.service", "ActiveState")).toBe("inactive");
    });

    // It has not waited for the restart.
    expect(await property(session, "slow.service", "ActiveState")).toBe("activating");
    expect(await property(session, "steward.service", "Result")).toBe("success");
    expect(await property(session, "steward.service", "ExecMainStatus")).toBe("0");
    expect(await ended).toMatchObject({ status: 503 });
    await checkLog();
    await session.host.exec(["systemctl", "kill", "--signal=KILL", "slow.service"]);
  });

  it("ends when nothing is going on", async () => {
    await session.service.restart();
    await session.api.getHealth();
    await session.service.stop();

    expect(await property(session, "steward.service", "Result")).toBe("success");
  });

  it("finds its state again after a reboot", async () => {
    await session.service.restart();
    const adminKey = session.service.adminKey;
    const { key } = await session.api.createKey({ body: { name: "lasting", scopes: ["system:read"] } });
    const before = await session.api.listKeys();
    await session.host.reboot();
    await session.service.restart();

    expect(session.service.adminKey).toBe(adminKey);
    expect((await session.api.listKeys()).keys.map(({ id }) => id)).toEqual(before.keys.map(({ id }) => id));
    expect(await createClient({ url: session.service.url, key }).whoami()).toMatchObject({ name: "lasting" });
    const audit = (await session.host.readFile(`${stateFolder}/audit/audit-000000000001.log`)).trim().split("\n");
    expect(audit.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ operation: "createKey" }),
    );
  });
});
