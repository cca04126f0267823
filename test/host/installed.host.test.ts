import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { allowed, refused, shown } from "./support/privileges.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const stateDirectory = "/var/lib/steward";
const settings = "/etc/steward/config.yaml";
const secret = /st[wt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{20,}/;
/** What is not a name of a unit is refused by systemd before anybody is asked. */
const refusal =
  /missing the instance name|Unit name \S+ is not valid|Access denied|Interactive authentication required|AccessDenied|is not allowed|Permission denied|not authorized to send|cannot live mount/i;
/** No finding of its own is above this; below 2 is what was aimed at. */
const maxExposure = 2;

describeOnHost("the installed service", { checks: [] }, (session) => {
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

  it("keeps its state in files and directories of its own user alone", async () => {
    const listed = await session.shell(`find ${stateDirectory} -ignore_readdir_race -printf '%y %m %u %p\\n'`);
    const found = listed.trim().split("\n");

    expect(found).toContain(`d 700 steward ${stateDirectory}`);
    expect(found).toContain(`f 600 steward ${stateDirectory}/admin.key`);
    for (const line of found) expect(line).toMatch(/^(d 700|f 600) steward /);
  });

  it("prints a curl command that works as it is", async () => {
    const lines = (await session.service.logs()).split("\n").map((line) => line.trim());
    const line = lines.find((text) => text.startsWith("curl ")) ?? "";
    const answer: unknown = JSON.parse(await session.shell(`${line} --silent --show-error --fail`));

    expect(answer).toMatchObject({ components: { ops: true } });
    expect(JSON.parse(await session.shell(`${line} 2>/dev/null`))).toMatchObject({ components: { ops: true } });
  });

  it("writes to the journal with the priorities of its levels", async () => {
    const before = await session.host.readFile(settings);
    await session.host.writeFile(settings, "colour: blue\n");
    await session.shell("systemctl kill --kill-who=main -s HUP steward.service");
    const priorities: Readonly<Record<string, string>> = { debug: "7", info: "6", warn: "4", error: "3" };
    await eventually(async () => {
      const text = await session.shell("journalctl --quiet --no-pager -o json -u steward.service _TRANSPORT=stdout");
      const entries = text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { MESSAGE: string; PRIORITY: string });
      const reported = entries
        .filter(({ MESSAGE: message }) => message.startsWith("{"))
        .map(({ MESSAGE, PRIORITY }) => ({ level: (JSON.parse(MESSAGE) as { level: string }).level, PRIORITY }));
      for (const { level, PRIORITY } of reported) expect([level, PRIORITY]).toEqual([level, priorities[level]]);
      expect(reported.filter(({ level }) => level === "warn" || level === "error")).not.toEqual([]);
      // A mark that the journal had left in the text would be a line that is not JSON.
      expect(entries.filter(({ MESSAGE: message }) => message.startsWith("<"))).toEqual([]);
    });
    await session.host.writeFile(settings, before);
  });

  it("logs one JSON object per line, without a secret", async () => {
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
    expect(await session.host.readFile(`${stateDirectory}/audit/audit-000000000001.log`)).not.toMatch(secret);
  });

  it("creates no second key at a second start", async () => {
    const key = session.service.adminKey;
    const before = await session.api.listKeys();
    await session.service.restart();

    expect(session.service.adminKey).toBe(key);
    const after = await session.api.listKeys();
    expect(after.keys.map(({ id }) => id)).toEqual(before.keys.map(({ id }) => id));
    expect(await session.service.logs()).not.toContain("admin key");
  });

  it("is managed from its own command line: keys and the check of settings", async () => {
    const run = async (...words: readonly string[]) => {
      // The same settings as the service has, so that its address and its admin key are found.
      const { host } = new URL(session.service.url);
      const env = { PATH: "/usr/bin:/bin", STEWARD_STATE_DIR: stateDirectory, STEWARD_LISTEN: host };
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
    const before = await session.host.readFile(settings);
    await session.host.writeFile(settings, "listn: 127.0.0.1:1\n");
    const faulty = await run("config", "check");
    expect(faulty).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/config\.yaml:1.*listn/s) });
    // What root can read the service may not.
    await session.shell("echo key > /etc/steward/model.key; chmod 600 /etc/steward/model.key");
    await session.host.writeFile(
      settings,
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
    await session.host.writeFile(settings, before);
  });

  it("is not restarted by systemd when its settings are invalid", async () => {
    const before = await session.host.readFile(settings);
    await session.host.writeFile(settings, "listn: 127.0.0.1:1\n");
    // As the package has it; the drop-in of the tests starts nothing again.
    const dropIn = "/etc/systemd/system/steward.service.d/60-restart.conf";
    await session.host.writeFile(dropIn, "[Service]\nRestart=on-failure\nRestartSec=100ms\n");
    try {
      await session.host.exec(["systemctl", "daemon-reload"]);
      await session.host.exec(["systemctl", "restart", "steward.service"], { allowFailure: true });
      await session.shell("until systemctl -q is-failed steward.service; do sleep 0.1; done");
      const shown = await session.shell("systemctl show -p Result -p ExecMainStatus -p NRestarts steward.service");
      expect(shown.trim().split("\n").sort()).toEqual(["ExecMainStatus=78", "NRestarts=0", "Result=exit-code"]);
    } finally {
      await session.host.exec(["rm", dropIn]);
      await session.host.writeFile(settings, before);
      await session.host.exec(["systemctl", "daemon-reload"]);
      await session.service.restart();
    }
  });

  it("exits on SIGTERM without waiting for the restart of a unit", async () => {
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
    await session.service.restart();
  });

  const properties = async (unit: string, ...names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const text = await session.shell(`systemctl show '${unit}' ${names.map((name) => `-p ${name}`).join(" ")}`);
    return Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
  };

  it("its units bound memory and tasks, each by itself and together", async () => {
    const mebibytes = (count: number): string => String(count * 1024 * 1024);
    expect(await properties("steward.service", "MemoryHigh", "MemoryMax", "TasksMax", "LimitCORE")).toEqual({
      MemoryHigh: mebibytes(1024),
      MemoryMax: mebibytes(1536),
      TasksMax: "1024",
      LimitCORE: "0",
    });
    const task = "steward-task@1-2-997.service";
    expect(await properties(task, "MemoryMax", "TasksMax", "LimitCORE", "Slice")).toEqual({
      MemoryMax: mebibytes(1024),
      TasksMax: "256",
      LimitCORE: "0",
      Slice: "system-stewardtasks.slice",
    });
    expect(await properties("system-stewardtasks.slice", "MemoryMax", "TasksMax")).toEqual({
      MemoryMax: mebibytes(2048),
      TasksMax: "1024",
    });
  });

  it("its units have no line that systemd does not understand", async () => {
    const { stderr, exitCode } = await session.host.exec(
      [
        "systemd-analyze",
        "verify",
        "--man=no",
        "steward.service",
        "steward-task.socket",
        "steward-task@x.service",
        "system-stewardtasks.slice",
      ],
      { allowFailure: true },
    );
    expect({ exitCode, lines: stderr.split("\n").filter((line) => line.includes("steward")) }).toEqual({
      exitCode: 0,
      lines: [],
    });
  });

  it("runs nothing as root but its tasks", async () => {
    for (const name of ["ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost"])
      expect(await properties("steward.service", name)).toEqual({});
  });

  const as = (user: string, argv: readonly string[]) =>
    session.host.exec(argv, { user, allowFailure: true, timeoutMs: 30_000 });
  const manager = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"];
  const call = async (user: string, words: readonly string[]): Promise<string> => {
    const { exitCode, stderr } = await as(user, ["busctl", "--system", "--timeout=20", "call", ...manager, ...words]);
    if (exitCode === 0) return "allowed";
    return refusal.test(stderr) ? "refused" : stderr.trim();
  };

  it("has no rights but those of its user [taken-over-service]", async () => {
    const pid = await session.service.pid();
    const status = await session.shell(`cat /proc/${pid}/status`);
    const caps = [...status.matchAll(/^Cap(\w+):\s+(\w+)$/gm)].map(([, name, bits]) => [name, Number(`0x${bits}`)]);
    expect(Object.fromEntries(caps)).toEqual({ Inh: 0, Prm: 0, Eff: 0, Bnd: 0, Amb: 0 });
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    const uid = (await session.shell("id -u steward")).trim();
    expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/)).toEqual([uid, uid, uid, uid]);
    expect((await session.shell("id -Gn steward")).trim().split(" ").sort()).toEqual([
      "adm",
      "steward",
      "systemd-journal",
    ]);
  });

  it("has the exposure that the documentation names, by systemd-analyze", async () => {
    // A transaction of a package manager is a unit of root's without any property that would contain it.
    await session.shell("systemd-run --quiet --remain-after-exit --unit=transaction true");
    const units = {
      "steward.service": "steward.service",
      "steward-task@.service": "steward-task@x.service",
      "steward-packages-….service": "transaction.service",
    };
    const page = await readFile(new URL("../../docs/privileges.md", import.meta.url), "utf8");
    for (const [name, unit] of Object.entries(units)) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\``));
      const documented = Number(row?.split("|").at(-2));
      const verdict = await session.shell(`systemd-analyze security --no-pager ${unit} | tail -1`);
      const exposure = Number(/: (\d+\.\d+)/.exec(verdict)?.[1]);
      expect(exposure).toBeLessThanOrEqual(documented);
      if (name === "steward.service") expect(exposure).toBeLessThan(maxExposure);
    }
  });

  it("may do with systemd what is on the list, and nothing else [taken-over-service]", async () => {
    await session.host.exec(["systemctl", "start", "cron.service"]);
    const rows: string[][] = [];
    for (const words of [...allowed, ...refused]) {
      rows.push([shown(words), await call("steward", words), await call("nobody", words)]);
    }
    expect(rows).toEqual([
      ...allowed.map((words) => [shown(words), "allowed", "refused"]),
      ...refused.map((words) => [shown(words), "refused", "refused"]),
    ]);
    expect(await session.shell("systemctl is-active cron.service; ls /root/evil 2>&1 || true")).toMatch(
      /^active\nls: cannot access/,
    );
  });

  /*
   * Anyone who names an instance chooses what the program of the template is given. Templates that hand it to a shell are not rare,
   * and others load modules or run what is written in the file of that name.
   */
  it("restarts instances of templates that run or have failed, and starts no other", async () => {
    const restart = (unit: string) => call("steward", ["RestartUnit", "ss", unit, "replace"]);
    await session.writeUnits({
      "told@.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/sh -c 'touch /root/told-%I'"],
      "runs@.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
      "fails@.service": ["[Service]", "ExecStart=/bin/false"],
    });
    for (const unit of [
      "told@evil.service",
      String.raw`told@x\x3btouch\x20\x2froot\x2fevil.service`,
      "told@-var-lib-steward-evil.service",
      "runs@other.service",
      "modprobe@sctp.service",
      "systemd-journald@evil.service",
      "user@0.service",
    ]) {
      expect([unit, await restart(unit)]).toEqual([unit, "refused"]);
      expect(await session.shell("ls -d /root/evil /root/told-* 2>&1 || true")).not.toMatch(/^\/root/m);
      expect([unit, await property(session, unit, "ActiveState")]).toEqual([unit, "inactive"]);
    }
    await session.shell("systemctl start runs@one.service; systemctl start fails@one.service");
    await session.shell("until systemctl -q is-failed fails@one.service; do sleep 0.1; done");
    const before = await property(session, "runs@one.service", "MainPID");
    expect(await restart("runs@one.service")).toBe("allowed");
    expect(await restart("fails@one.service")).toBe("allowed");
    await eventually(async () => expect(await property(session, "runs@one.service", "MainPID")).not.toBe(before));
  });

  it("cannot write to directories of the privileged side or of root, nor read what is root's", async () => {
    await session.shell("mkdir -p -m 700 /var/lib/steward-tasks/snapshots");
    const lines = [
      ...["/var/lib/steward-tasks", "/var/lib/steward-tasks/operations", "/run/steward-tasks"].flatMap((directory) => [
        `touch ${directory}/x`,
        `mkdir ${directory}/x`,
        `ln -s /etc/passwd ${directory}/x`,
        `mv ${directory} ${directory}.old`,
        `chmod 777 ${directory}`,
      ]),
      ...["/etc/shadow", "/root/.", "/var/lib/steward-tasks/snapshots/."].map((path) => `ls ${path} && cat ${path}`),
      "echo x >> /etc/steward/config.yaml",
      "touch /etc/steward/x",
    ];
    for (const line of lines) {
      const { exitCode, stderr } = await as("steward", ["sh", "-c", line]);
      expect({ line, exitCode: exitCode === 0 ? 0 : 1, stderr }).toMatchObject({ exitCode: 1 });
    }
  });

  it("sees the kernels that are installed, below /lib/modules", async () => {
    await session.shell("mkdir -p /usr/lib/modules/99.0-amd64 && touch /usr/lib/modules/99.0-amd64/modules.order");
    await session.service.restart();
    const pid = await property(session, "steward.service", "MainPID");
    const asService = `nsenter --target ${pid} --mount setpriv --reuid steward --regid steward --clear-groups`;
    expect(await session.shell(`${asService} ls /lib/modules/99.0-amd64`)).toBe("modules.order\n");
    await session.shell("rm -r /usr/lib/modules");
  });

  it("has its keys and its audit log after a reboot", async () => {
    await session.service.restart();
    const adminKey = session.service.adminKey;
    const { key } = await session.api.createKey({ body: { name: "lasting", scopes: ["system:read"] } });
    const before = await session.api.listKeys();
    await session.host.reboot();
    await session.service.restart();

    expect(session.service.adminKey).toBe(adminKey);
    expect((await session.api.listKeys()).keys.map(({ id }) => id)).toEqual(before.keys.map(({ id }) => id));
    expect(await createClient({ url: session.service.url, key }).whoami()).toMatchObject({ name: "lasting" });
    const audit = (await session.host.readFile(`${stateDirectory}/audit/audit-000000000001.log`)).trim().split("\n");
    expect(audit.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ operation: "createKey" }),
    );
  });
});
