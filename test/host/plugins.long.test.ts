import { afterAll, beforeAll, expect, it } from "vitest";
import type { Plugin } from "#contract/plugins.ts";
import { openStream, type StreamConnection } from "../process/support/ws-client.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { pluginDir } from "./support/plugins.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost, type Session } from "./support/session.ts";

const monitoring = "/usr/lib/nagios/plugins";

/** Programs of Debian's package monitoring-plugins, unmodified, and what they find on this host. */
const unmodified: Readonly<Record<string, { readonly argv: readonly string[]; readonly status?: string }>> = {
  "nagios-apt": { argv: ["check_apt"], status: "pass" },
  "nagios-disk": { argv: ["check_disk", "-w", "10%", "-c", "5%", "-p", "/"], status: "pass" },
  "nagios-disk-low": { argv: ["check_disk", "-w", "100%", "-c", "100%", "-p", "/"], status: "fail" },
  "nagios-dummy": { argv: ["check_dummy", "1", "so so"], status: "warn" },
  "nagios-file-age": { argv: ["check_file_age", "-w", "999999999", "-c", "999999999", "-f", "/etc/hostname"] },
  "nagios-load": { argv: ["check_load", "-w", "900,900,900", "-c", "999,999,999"], status: "pass" },
  "nagios-procs": { argv: ["check_procs", "-w", "1:5000"], status: "pass" },
  "nagios-sensors": { argv: ["check_sensors"], status: "skip" },
  "nagios-swap": { argv: ["check_swap", "-w", "20%", "-c", "10%"] },
  "nagios-users": { argv: ["check_users", "-w", "20", "-c", "30"], status: "pass" },
};

/** What the exit codes mean. */
const statuses = ["pass", "warn", "fail", "skip"] as const;

interface Written {
  readonly manifest: readonly string[];
  readonly program: readonly string[];
}

async function write({ host }: Session, name: string, { manifest, program }: Written): Promise<void> {
  const folder = `${pluginDir}/${name}`;
  await host.writeFile(
    `${folder}/plugin.yaml`,
    `${[`name: ${name}`, 'version: "1.0"', "exec: run", ...manifest].join("\n")}\n`,
    0o644,
  );
  await host.writeFile(`${folder}/run`, `${["#!/bin/sh", ...program].join("\n")}\n`, 0o755);
  await host.exec(["chmod", "-R", "go-w,a+rX", "/etc/steward"]);
}

const checkPlugin = (argv: readonly string[], ...more: readonly string[]): Written => ({
  manifest: ["type: check", "check: { interval: 1h, severity: low }", ...more],
  program: [`exec ${monitoring}/${argv.map((word) => `'${word}'`).join(" ")}`],
});

const hookPlugin = (events: string, program: readonly string[], ...more: readonly string[]): Written => ({
  manifest: ["type: hook", `hook: { events: [${events}] }`, ...more],
  program,
});

const apiOf = (session: Session) => ({
  enable: (name: string, body: { confirm?: boolean } = {}) => session.api.enablePlugin({ params: { name }, body }),
  disable: (name: string) => session.api.disablePlugin({ params: { name } }),
  find: async (name: string): Promise<Plugin | undefined> =>
    (await session.api.listPlugins()).plugins.find((each) => each.name === name),
  checkIds: async () => (await session.api.listChecks()).results.map(({ check_id: id }) => id),
  metrics: () => session.api.getMetrics(),
});

describeOnHost("check plugins", (session) => {
  const { enable, disable, find, checkIds, metrics } = apiOf(session);
  let stream: StreamConnection | undefined;
  const openChecks = () =>
    openStream(session.service.url, "/api/v1/ws/health", { headers: { "X-API-Key": session.service.adminKey } });
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });

  beforeAll(async () => {
    for (const [name, { argv }] of Object.entries(unmodified)) await write(session, name, checkPlugin(argv));
    stream = await openChecks();
  });
  afterAll(() => stream?.socket.terminate());

  it("are listed, and nothing of them runs, until they are enabled", async () => {
    const { plugins } = await session.api.listPlugins();
    expect(plugins.map(({ name, type, enabled, fault }) => [name, type, enabled, fault])).toEqual(
      Object.keys(unmodified).map((name) => [name, "check", false, null]),
    );
    expect((await checkIds()).filter((id) => id.startsWith("nagios"))).toEqual([]);
    expect(await refusal(check("nagios-load"))).toMatchObject({ code: "NOT_FOUND" });
  });

  it.each(Object.entries(unmodified))(
    "%s finds in its sandbox what it finds without",
    async (name, { argv, status }) => {
      expect(await enable(name)).toMatchObject({ name, enabled: true, success: true, fault: null });
      const result = await check(name);
      const [program = "", ...args] = argv;
      const direct = await session.host.exec([`${monitoring}/${program}`, ...args], { allowFailure: true });
      expect(result).toMatchObject({
        check_id: name,
        category: "custom",
        severity: "low",
        status: statuses[direct.exitCode],
        details: { exit_code: direct.exitCode },
      });
      if (status !== undefined) expect(result.status).toBe(status);
      const shape = (text: string): string =>
        text
          .split("|")[0]
          ?.trim()
          .replaceAll(/\d+(\.\d+)?/g, "#") ?? "";
      expect(shape(result.message)).toBe(shape(direct.stdout));
    },
  );

  it("are in the list, in the stream and in the metrics, and gone from all of them once disabled", async () => {
    const name = "nagios-dummy";
    const series = `svc_check_status{check="${name}"}`;
    expect(await disable(name)).toMatchObject({ success: true, enabled: false });
    const frames = () => (stream?.frames ?? []).filter(({ check_id: id }) => id === name).length;
    const before = frames();
    expect(await checkIds()).not.toContain(name);
    expect(await metrics()).not.toContain(name);

    await enable(name);
    expect(await checkIds()).toContain(name);
    expect(await metrics()).toContain(`${series} 1`);
    expect(await metrics()).toMatch(new RegExp(`svc_plugin_runs_total\\{plugin="${name}",result="success"\\} 1`));
    await eventually(() => expect(frames()).toBe(before + 1));

    expect(await disable(name)).toMatchObject({ success: true, message: `${name} is disabled` });
    expect(await checkIds()).not.toContain(name);
    expect(await refusal(check(name))).toMatchObject({ code: "NOT_FOUND" });
    expect(await metrics()).not.toContain(name);
    const late = await openChecks();
    await eventually(() => expect(late.frames.map(({ check_id: id }) => id)).toContain("nagios-load"));
    expect(late.frames.map(({ check_id: id }) => id)).not.toContain(name);
    late.socket.terminate();

    await enable(name);
    const { runs } = await session.api.getCheckHistory({ params: { check_id: name } });
    expect(runs.length).toBeGreaterThan(1);
  });

  it("stay enabled when the service starts again", async () => {
    await session.service.restart();
    expect((await checkIds()).filter((id) => id.startsWith("nagios"))).toEqual(Object.keys(unmodified));
    expect(await check("nagios-load")).toMatchObject({ status: "pass" });
    await session.service.restart();
    await disable("nagios-users");
    await session.service.restart();
    expect(await checkIds()).not.toContain("nagios-users");
  });

  it("do not run when they have changed on disk, and say so, until they are enabled again", async () => {
    await session.shell(`echo '# changed' >> ${pluginDir}/nagios-load/run`);
    const fault = "it changed on disk since it was enabled: enable it again to accept it as it is now";
    await eventually(async () =>
      expect(await check("nagios-load")).toMatchObject({ status: "fail", details: { error: fault } }),
    );
    expect(await find("nagios-load")).toMatchObject({ enabled: true, fault });
    await session.service.restart();
    expect(await check("nagios-load")).toMatchObject({ status: "fail", details: { error: fault } });
    expect(await session.service.logs()).toContain('"msg":"enabled plugin does not run"');
    expect(await enable("nagios-load")).toMatchObject({ success: true, fault: null });
    expect(await check("nagios-load")).toMatchObject({ status: "pass" });
  });

  it("whose folder is gone fail, and can still be disabled", async () => {
    await session.shell(`rm -r ${pluginDir}/nagios-swap`);
    expect(await check("nagios-swap")).toMatchObject({ status: "fail", details: { error: "its folder is gone" } });
    expect(await find("nagios-swap")).toMatchObject({ enabled: true, fault: "its folder is gone" });
    expect(await disable("nagios-swap")).toMatchObject({ success: true, enabled: false });
    expect(await find("nagios-swap")).toBeUndefined();
  });

  it("that cannot be loaded are listed with their fault and stay as they are", async () => {
    await write(session, "nagios-apt2", checkPlugin(["check_apt"]));
    await session.shell(`chmod o+w ${pluginDir}/nagios-apt2/run`);
    const answer = await enable("nagios-apt2");
    expect(answer).toMatchObject({ success: false, enabled: false });
    expect(answer.message).toMatch(/^cannot enable nagios-apt2: .*chmod/);
    await write(session, "memory", checkPlugin(["check_dummy", "0"]));
    expect(await enable("memory")).toMatchObject({ success: false, fault: expect.stringContaining("memory") });
    expect(await check("memory")).toMatchObject({ category: "memory" });
  });

  it("in folders that settings name take effect with SIGHUP", async () => {
    await session.shell(`mkdir -p /srv/plugins && mv ${pluginDir}/nagios-procs /srv/plugins/nagios-procs`);
    await session.host.writeFile("/etc/steward/config.yaml", `plugins: { dirs: [${pluginDir}, /srv/plugins] }\n`);
    await session.shell("chmod -R go-w /etc/steward /srv/plugins; systemctl kill --signal=HUP steward.service");
    await eventually(async () =>
      expect(await find("nagios-procs")).toMatchObject({ path: "/srv/plugins/nagios-procs", enabled: true }),
    );
    expect(await find("nagios-procs")).toMatchObject({ fault: expect.stringContaining("enable it again") });
    expect(await enable("nagios-procs")).toMatchObject({ success: true, fault: null });
    expect(await check("nagios-procs")).toMatchObject({ status: "pass" });
  });

  it("are left out in safe mode, and stay enabled", async () => {
    const options = { env: { STEWARD_RATE_LIMITS: "off" } };
    const safe = await session.host.startService({ ...options, args: ["--safe-mode"] });
    const ask = async (path: string): Promise<string> =>
      (await fetch(`${safe.url}/api/v1${path}`, { headers: { "X-API-Key": safe.adminKey } })).text();
    const fault = "safe mode: the service was started without plugins";
    expect(JSON.parse(await ask("/plugins"))).toMatchObject({
      plugins: expect.arrayContaining([expect.objectContaining({ name: "nagios-disk", enabled: true, fault })]),
    });
    expect(await ask("/health/checks")).not.toContain("nagios");
    await session.host.startService(options);
    await session.service.restart();
    expect(await checkIds()).toContain("nagios-disk");
  });
});

const at = (name: string, version: string): PackageRecipe => ({ name, version, place: "main" });

describeOnHost("hooks and commands of plugins", (session) => {
  const { enable, disable, metrics } = apiOf(session);
  const { shell } = session;
  const heard = "/var/lib/heard";
  const listen = `cat >> ${heard}/events`;

  beforeAll(async () => {
    const old = ["editor", "bringer", "breaker"].map((name) => at(name, "1.0"));
    await makePackageSources(session, [
      ...old,
      at("editor", "1.1"),
      { ...at("bringer", "1.1"), postinst: [`echo '# newer' >> ${pluginDir}/replaced/run`] },
      { ...at("breaker", "1.1"), postinst: ["touch /etc/broken"] },
    ]);
    await shell(`dpkg -i ${old.map(packageFile).join(" ")} >/dev/null 2>&1; mkdir -p ${heard}`);
    await shell("apt-mark hold bringer breaker");
  });

  it("run a command in its sandbox, with the words given", async () => {
    await write(session, "echoing", {
      manifest: ["type: command", "description: Says what it is given"],
      program: ['printf "%s|" "$@"; cat; echo trouble >&2; exit 7'],
    });
    const run = (body: { args?: string[]; stdin?: string } = {}) =>
      session.api.runPlugin({ params: { name: "echoing" }, body });
    expect(await refusal(run())).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { field: "name", issue: "Plugin is not enabled" },
    });
    await enable("echoing");
    expect(await run({ args: ["$(id)", "a b", "--help", ""], stdin: "input" })).toMatchObject({
      exit_code: 7,
      stdout: "$(id)|a b|--help||input",
      stderr: "trouble\n",
      truncated: false,
    });
    expect(await metrics()).toContain('svc_plugin_runs_total{plugin="echoing",result="failure"} 1');
    const before = await fileTree(session);
    expect(
      await session.api.runPlugin({ params: { name: "echoing" }, query: { dry_run: true }, body: {} }),
    ).toMatchObject({
      dry_run: true,
      steps: [`run "${pluginDir}/echoing/run" in its sandbox`],
    });
    const ignore = [/^\/var\/log\/journal/, /^\/var\/lib\/systemd\//, /^\/var\/lib\/steward\//];
    expect(changesSince(before, await fileTree(session), { ignore })).toEqual({ added: [], removed: [], changed: [] });
  });

  it("end a command when it is disabled meanwhile", async () => {
    await write(session, "endless", { manifest: ["type: command"], program: ["exec sleep 1000"] });
    await enable("endless");
    const running = refusal(session.api.runPlugin({ params: { name: "endless" }, body: {} }));
    await eventually(async () => expect(await shell("pgrep -fc '^sleep 1000$' || true")).toBe("1\n"));
    await disable("endless");
    expect(await shell("pgrep -fc '^sleep 1000$' || true")).toBe("0\n");
    expect(await running).toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot run endless: it was ended, since it has been disabled",
    });
  });

  it("end a command whose client goes, and everything with the service", async () => {
    const running = "pgrep -fc '^sleep 1000$' || true";
    await enable("endless");
    await write(session, "endless-check", { manifest: ["type: check"], program: ["exec sleep 1000"] });
    const client = new AbortController();
    const headers = { "X-API-Key": session.service.adminKey };
    const url = `${session.service.url}/api/v1/plugins/endless/run`;
    const call = fetch(url, { method: "POST", headers, signal: client.signal }).catch((error: unknown) => error);
    await eventually(async () => expect(await shell(running)).toBe("1\n"));
    client.abort();
    await call;
    await eventually(async () => expect(await shell(running)).toBe("0\n"));
    await enable("endless-check");
    const second = fetch(url, { method: "POST", headers }).catch((error: unknown) => error);
    await eventually(async () => expect(await shell(running)).toBe("2\n"));
    await session.service.stop();
    await second;
    expect(await shell(running)).toBe("0\n");
    expect(await session.service.logs()).not.toMatch(/plugins not ended in time|plugin could not be ended/);
    // What has ended is in the list until systemd tidies up.
    await eventually(async () =>
      expect(await shell("systemctl list-units --all --no-legend --plain 'steward-plugin*'")).toBe(""),
    );
    await session.service.restart();
    await disable("endless-check");
    await disable("endless");
  });

  it("hold an update back before anything of it is written down", async () => {
    await write(
      session,
      "freeze",
      hookPlugin("pre_update, pre_rollback", [`echo '{"veto": true, "reason": "change freeze until Monday"}'`]),
    );
    await enable("freeze");
    const { operations: before } = await session.api.listOperations();
    expect(await refusal(session.api.applyUpdates({ body: {} }))).toMatchObject({
      status: 403,
      code: "FORBIDDEN",
      message: "cannot update: held back by freeze: change freeze until Monday",
      details: { hook: "freeze", reason: "change freeze until Monday" },
    });
    expect((await session.api.listOperations()).operations).toEqual(before);
    expect(await shell("cat /usr/share/editor/version")).toBe("1.0\n");
    expect(await session.api.applyUpdates({ query: { dry_run: true }, body: {} })).toMatchObject({
      steps: ["ask the hook freeze (pre_update)", "take a snapshot", "update editor from 1.0 to 1.1"],
    });
    expect(await metrics()).toContain('svc_plugin_runs_total{plugin="freeze",result="veto"} 1');
    await disable("freeze");
  });

  it("hold a fix back before anything is done", async () => {
    await session.writeUnits({
      "broken.service": ["[Service]", "Type=oneshot", "ExecStart=/usr/bin/test -e /run/well"],
    });
    await shell("systemctl start broken.service || true; touch /run/well");
    await write(
      session,
      "freeze-fixes",
      hookPlugin("pre_fix", ["cat > /dev/null", `echo '{"veto": true, "reason": "not now"}'`]),
    );
    await enable("freeze-fixes");
    const fix = () => session.api.fixCheck({ params: { check_id: "systemd_failed" }, body: {} });
    expect(await refusal(fix())).toMatchObject({ status: 403, details: { hook: "freeze-fixes", reason: "not now" } });
    expect(await shell("systemctl is-failed broken.service || true")).toBe("failed\n");
    await disable("freeze-fixes");
    expect(await fix()).toMatchObject({ success: true });
  });

  it("hear in the task's process how an update ended, and cannot break it", async () => {
    const permissions = `permissions: { user: root, write: [${heard}] }`;
    await write(session, "a-broken", hookPlugin("post_update, pre_update", ["echo broken >&2; exit 1"]));
    await write(session, "b-listener", hookPlugin("pre_update, post_update", [listen], permissions));
    await enable("a-broken");
    expect(await refusal(enable("b-listener"))).toMatchObject({ details: { field: "confirm" } });
    expect(await enable("b-listener", { confirm: true })).toMatchObject({
      success: false,
      message: expect.stringContaining("sudo steward plugins confirm b-listener"),
    });
    await session.host.exec([...installedPrograms, "plugins", "confirm", "b-listener", "--yes"]);
    expect(await enable("b-listener", { confirm: true })).toMatchObject({ success: true, needs_confirmation: true });
    const result = await session.api.applyUpdates({ body: {} });
    expect(result).toMatchObject({ success: true, packages_updated: 1 });
    const events = async (): Promise<readonly unknown[]> =>
      (await shell(`cat ${heard}/events || true`))
        .trim()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown);
    await eventually(async () => expect(await events()).toHaveLength(2));
    expect(await events()).toMatchObject([
      { event: "pre_update", subject: { type: "packages", security_only: false, guard: false } },
      {
        event: "post_update",
        subject: { operation_id: result.operation_id, status: "done", result: { success: true } },
      },
    ]);
    expect(await session.service.logs()).toContain('"msg":"hook without an answer"');
  });

  it("are inspected by a guarded update, which does not roll back for one that it has replaced itself", async () => {
    const env = { STEWARD_RATE_LIMITS: "off" };
    const config = "updates: { backend: packages, guard_minutes: 0.05 }\n";
    await session.host.startService({ env, config });
    await session.service.restart();
    await shell("apt-mark unhold bringer breaker");
    await write(session, "replaced", {
      manifest: ["type: check", "check: { guards_updates: true }"],
      program: ["echo fine"],
    });
    await write(session, "watcher", {
      manifest: ["type: check", "check: { guards_updates: true }"],
      program: ["test -e /etc/broken && exit 2; echo fine"],
    });
    for (const name of ["replaced", "watcher"]) await enable(name);
    const guarded = (name: string) => session.api.applyUpdates({ body: { guard: true, packages: [name] } });
    expect(await guarded("bringer")).toMatchObject({ success: true, guard: { outcome: "kept" } });
    expect(await session.api.getCheck({ params: { check_id: "replaced" } })).toMatchObject({ status: "fail" });
    expect(await session.api.getCheck({ params: { check_id: "watcher" } })).toMatchObject({ status: "pass" });
    expect(await guarded("breaker")).toMatchObject({
      guard: { outcome: "rolled_back", worse: [expect.stringContaining("watcher")], remaining: [] },
    });
    expect(await shell("cat /usr/share/breaker/version")).toBe("1.0\n");
  });

  it("write down in the audit log what was enabled", async () => {
    const audit = await shell("grep enablePlugin /var/lib/steward/audit/audit-000000000001.log | tail -n 1");
    expect(audit).toMatch(/"digest":"[0-9a-f]{64}"/);
  });
});
