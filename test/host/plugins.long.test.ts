import { beforeAll, expect, it } from "vitest";
import type { Plugin } from "#contract/plugins.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { pluginDir } from "./support/plugins.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost, type Session } from "./support/session.ts";

const monitoring = "/usr/lib/nagios/plugins";

/** Programs of Debian's package monitoring-plugins, unmodified, and what they find on this host. */
const unmodified: Readonly<Record<string, { readonly argv: readonly string[]; readonly status?: string }>> = {
  "nagios-apt": { argv: ["check_apt"], status: "pass" },
  "nagios-disk-low": { argv: ["check_disk", "-w", "100%", "-c", "100%", "-p", "/"], status: "fail" },
  "nagios-dummy": { argv: ["check_dummy", "1", "so so"], status: "warn" },
  "nagios-load": { argv: ["check_load", "-w", "900,900,900", "-c", "999,999,999"], status: "pass" },
  "nagios-sensors": { argv: ["check_sensors"], status: "skip" },
};

/** What the exit codes mean. */
const statuses = ["pass", "warn", "fail", "skip"] as const;

interface Written {
  readonly manifest: readonly string[];
  readonly program: readonly string[];
}

async function write({ host }: Session, name: string, { manifest, program }: Written): Promise<void> {
  const directory = `${pluginDir}/${name}`;
  await host.writeFile(
    `${directory}/plugin.yaml`,
    `${[`name: ${name}`, 'version: "1.0"', "exec: run", ...manifest].join("\n")}\n`,
    0o644,
  );
  await host.writeFile(`${directory}/run`, `${["#!/bin/sh", ...program].join("\n")}\n`, 0o755);
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
  metrics: () => session.api.getMetrics(),
});

describeOnHost("check plugins", (session) => {
  const { enable, find } = apiOf(session);
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });

  beforeAll(async () => {
    for (const [name, { argv }] of Object.entries(unmodified)) await write(session, name, checkPlugin(argv));
  });

  it.each(Object.entries(unmodified))(
    "%s has in its sandbox the result that it has without one",
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

  it("a plugin that changed on disk does not run, also after a restart, until it is enabled again", async () => {
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

  it("commands end with their client, and everything with the service", async () => {
    const running = "pgrep -fc '^sleep 1000$' || true";
    await write(session, "endless", { manifest: ["type: command"], program: ["exec sleep 1000"] });
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
    expect(await session.service.logs()).not.toMatch(/plugins did not stop in time|cannot stop a plugin/);
    // What has ended is in the list until systemd tidies up.
    await eventually(async () =>
      expect(await shell("systemctl list-units --all --no-legend --plain 'steward-plugin*'")).toBe(""),
    );
    await session.service.restart();
    await disable("endless-check");
    await disable("endless");
  });

  it("a hook holds an update back before anything of it is written down", async () => {
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

  it("a hook gets in the process of the task how an update ended, and cannot break it", async () => {
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
    expect(await session.service.logs()).toContain('"msg":"no answer from a hook"');
  });

  it("check plugins guard an update, which is not rolled back for a plugin that it replaced", async () => {
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
});

/** What a check by settings runs. `figures` are labels of its performance data with their units. */
interface Case {
  readonly argv: readonly string[];
  readonly status: (typeof statuses)[number];
  readonly message?: RegExp;
  readonly figures?: readonly string[];
  readonly isRoots?: true;
}

const cases: Readonly<Record<string, Case>> = {
  disk_two: {
    argv: ["check_disk", "-w", "99%", "-c", "1%", "-p", "/", "-p", "/run"],
    status: "warn",
    figures: ["/ B", "/run B"],
  },
  disk_gone: { argv: ["check_disk", "-w", "10%", "-p", "/nowhere"], status: "fail", message: /nowhere/ },
  procs: { argv: ["check_procs", "-w", "1:5000"], status: "pass", figures: ["procs "] },
  ping: {
    argv: ["check_ping", "-H", "127.0.0.1", "-w", "3000,80%", "-c", "5000,100%", "-p", "1"],
    status: "pass",
    figures: ["pl %", "rta ms"],
    isRoots: true,
  },
  file_age: {
    argv: ["check_file_age", "-w", "999999999", "-c", "999999999", "-f", "/etc/hostname"],
    status: "pass",
    figures: ["age s", "size B"],
  },
  dummy_figures: {
    argv: ["check_dummy", "1", "so | 'it''s a = b'=1.5ms;~:10;@1:2;0;20 n=U c=7c x=?"],
    status: "warn",
    message: /^WARNING: so$/,
    figures: ["c c", "it's a = b ms", "n "],
  },
  negate: {
    argv: ["negate", "-s", "-o", "WARNING", `${monitoring}/check_dummy`, "0", "fine"],
    status: "warn",
  },
};

describeOnHost("monitoring plugins by settings", { checks: [] }, (session) => {
  const state = "/var/lib/steward/monitoring";
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const own = ["/usr/bin/env", "STEWARD_STATE_DIR=/var/lib/steward", ...installedPrograms];

  beforeAll(async () => {
    await session.shell(`mkdir -p /srv/monitoring; install -d -o steward -g steward ${state}`);
    const listen = new URL(session.service.url).host;
    const checks = {
      ...Object.fromEntries(
        Object.entries(cases).map(
          ([
            id,
            {
              argv: [program, ...args],
              isRoots,
            },
          ]) => [id, { command: [`${monitoring}/${program}`, ...args], ...(isRoots && { user: "root" }) }],
        ),
      ),
      log: { command: [`${monitoring}/check_log`, "-F", "/srv/monitoring/log", "-O", `${state}/old`, "-q", "error"] },
      own: { command: [...own, "check", "dummy_figures", "--nagios"] },
    };
    // JSON is YAML.
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      `listen: ${listen}\nrate_limits: off\nhealth: ${JSON.stringify({ interval: "1h", checks })}\n`,
    );
    // The environment of the unit wins over the settings, and the command line of a check reads the settings.
    await session.host.writeFile(
      "/etc/systemd/system/steward.service.d/60-address.conf",
      `[Service]\nEnvironment=STEWARD_LISTEN=${listen}\n`,
    );
    await session.host.exec(["systemctl", "daemon-reload"]);
    await session.service.restart();
  });

  it.each(Object.entries(cases))("%s has the status, the text and the figures of the program", async (id, each) => {
    const { status, message, details } = await check(id);
    expect([status, message]).toEqual([each.status, expect.stringMatching(each.message ?? /\S/)]);
    expect(details).toMatchObject({ exit_code: statuses.indexOf(each.status), truncated: false });
    const figures = Reflect.get(details, "perfdata") as readonly { readonly label: string; readonly unit: string }[];
    // Versions of a plugin print them in another order.
    expect(figures.map(({ label, unit }) => `${label} ${unit}`).sort()).toEqual(each.figures ?? []);
  });

  it("check_log keeps a state of its own and reports a line once", async () => {
    await session.shell("echo 'error one' > /srv/monitoring/log");
    expect(await check("log")).toMatchObject({ status: "pass", message: "Log check data initialized..." });
    await session.shell("echo 'error two' >> /srv/monitoring/log");
    expect(await check("log")).toMatchObject({ status: "fail", message: "(1) < error two" });
    expect(await check("log")).toMatchObject({ status: "pass" });
  });

  it("a check of the service is a plugin that negate and the service itself understand", async () => {
    const nagios = [...installedPrograms, "check", "dummy_figures", "--nagios"];
    const environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent"];
    const negated = await session.host.exec(
      [...environment, `${monitoring}/negate`, "-t", "30", "-s", "-w", "CRITICAL", ...nagios],
      { allowFailure: true },
    );
    expect(negated).toMatchObject({ exitCode: 2, stdout: expect.stringMatching(/^DUMMY_FIGURES CRITICAL - /) });
    const [origin, seen] = [await check("dummy_figures"), await check("own")];
    expect(seen).toMatchObject({ status: "warn", message: "DUMMY_FIGURES WARNING - WARNING: so" });
    expect(Reflect.get(seen.details, "perfdata")).toEqual(Reflect.get(origin.details, "perfdata"));
  });
});
