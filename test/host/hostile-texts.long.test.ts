import { beforeAll, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { attack, sendTo } from "../security/support/attack.ts";
import { places } from "../security/support/hostile-requests.ts";
import { hostileTexts } from "../security/support/hostile-texts.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost, type Session } from "./support/session.ts";

const trace = "stw-trace";
/** Everybody may write here, so that who runs a hostile text leaves it whatever rights it has. */
const open = "/srv/open";
const sentinel = `${open}/owned`;
const texts = hostileTexts(sentinel, trace);
const script = "<script>globalThis.owned=1</script>";

/** What is there of the files that hostile text would have made, wherever. */
const leftBehind = async ({ shell }: Session): Promise<string> =>
  (
    await shell(
      `find / -xdev \\( -name '${trace}*' -o -path '${sentinel}' \\) 2>/dev/null; ls ${open} /run /tmp /dev/shm | grep -e owned -e stw- || true`,
    )
  ).trim();

/** Packages, unit files and what is enabled, users, and files of the settings but the one with the name of the host for people. */
const stateOf = async ({ shell }: Session): Promise<string> =>
  shell(
    [
      "dpkg --get-selections",
      "apt-mark showmanual",
      "systemctl list-unit-files --no-legend --no-pager | grep -v -e steward -e '[.]scope'",
      "cat /etc/passwd /etc/group",
      "find /etc -type f -newer /srv/before ! -path '/etc/steward/*' ! -path '/etc/snapper/*' ! -path /etc/machine-info",
    ].join("; "),
  );

const target = ({ service }: Session) => ({ url: service.url, key: service.adminKey });

describeOnHost("hostile text and names on a real host", (session) => {
  beforeAll(async () => {
    const { host, shell } = session;
    await shell(`mkdir -p ${open} && chmod 1777 ${open}`);
    const plugin = "/etc/steward/plugins/certificates";
    await host.writeFile(
      `${plugin}/plugin.yaml`,
      'name: certificates\nversion: "1"\ntype: command\nexec: run\n',
      0o644,
    );
    await host.writeFile(`${plugin}/run`, '#!/bin/sh\nprintf "<%s>" "$@"\ncat\n', 0o755);
    await shell("chmod -R go-w,a+rX /etc/steward");
    expect(await session.api.enablePlugin({ params: { name: "certificates" }, body: {} })).toMatchObject({
      success: true,
    });
    await shell("touch /srv/before");
  });

  it("hostile text: runs nothing and changes nothing on a host where everything works", async () => {
    const before = await stateOf(session);
    const pid = await session.service.pid();
    // What root is asked for takes the start of a process each time; a few texts are as good as all.
    const isSlow = ({ operation, name }: (typeof places)[number]) =>
      name.startsWith("params.snapshot_id") ||
      operation === "runPlugin" ||
      ["body.description", "body.pretty"].includes(name);
    const few = texts.filter((_, at) => at % 8 === 0);
    const quick = await attack(
      target(session),
      places.filter((place) => !isSlow(place)),
      texts,
    );
    expect(quick.faults).toEqual([]);
    expect(quick.statuses.get(errorStatus.VALIDATION_ERROR)).toBeGreaterThan(1_000);
    expect((await attack(target(session), places.filter(isSlow), few)).faults).toEqual([]);

    expect(await session.service.pid()).toBe(pid);
    // It has the name of the host for people, with any characters, and shells read it.
    await session.shell("set -a; . /etc/machine-info");
    expect(await leftBehind(session)).toBe("");
    expect(await stateOf(session)).toBe(before);
    const { snapshots } = await session.api.listSnapshots();
    expect(snapshots.map(({ description }) => description)).toContain(few[0]?.text);
  });

  it("hostile text: reaches a plugin as the words that they are", async () => {
    const args = texts.map(({ text }) => text);
    const answer = await session.api.runPlugin({
      params: { name: "certificates" },
      body: { args, stdin: "$(touch x)" },
    });
    expect(answer.stdout).toBe(`${args.map((text) => `<${text}>`).join("")}$(touch x)`);
    expect(await leftBehind(session)).toBe("");
  });

  it("hostile names: files, units and processes of others are text in every answer", async () => {
    const { host, shell, api } = session;
    await session.writeUnits({
      "marked.service": [
        "[Unit]",
        `Description=${script} $(touch ${sentinel}) \u001b[2J`,
        "[Service]",
        "ExecStart=/bin/sleep infinity",
      ],
      "-rf.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
      "--version.service": ["[Service]", "ExecStart=/bin/false"],
      "a\\x2db\\x3btouch\\x20x.service": ["[Service]", "ExecStart=/bin/false"],
    });
    await host.exec(["systemctl", "start", "--", "marked.service", "-rf.service"]);
    await host.exec(["systemctl", "start", "--", "--version.service", "a\\x2db\\x3btouch\\x20x.service"]);
    // Files in the directory that a snapshot keeps, with names that are no UTF-8 among them.
    await shell(`mkdir -p /etc/hostile && cd /etc/hostile && for each in '$(touch ${trace})' '-rf' '--help' 'a
b' '\`touch ${trace}\`' '<script>' "$(printf 'x\\033[2J')" "$(printf 'a\\377b')"; do : > "./$each"; done`);
    const line = `${script}\u001b[2J $(touch ${sentinel})`;
    await host.exec(["systemd-cat", "-t", `$(touch ${trace})`, "printf", "%s\\n", line]);
    await shell(`runuser -u nobody -- sh -c 'exec -a "\\$(touch ${trace})<script>" sleep 300' >/dev/null 2>&1 &`);

    const snapshot = await api.createSnapshot({ body: { description: script } });
    if (!("id" in snapshot)) throw new Error("a snapshot was asked for, not a plan");
    await shell('cd /etc/hostile && for each in ./*; do echo changed > "$each"; done');
    const changes = await api.diffSnapshot({ params: { snapshot_id: snapshot.id } });
    expect(changes.files.filter(({ path }) => path.startsWith("/etc/hostile/")).length).toBeGreaterThanOrEqual(7);

    for (const [name, operation] of Object.entries<Operation>(operations)) {
      if (operation.effect !== "read" || operation.path.includes("{")) continue;
      const path = `${operation.base === "root" ? "" : "/api/v1"}${operation.path}`;
      const reply = await sendTo(target(session), { method: "GET", path, headers: {}, body: undefined });
      expect([name, reply.headers]).toMatchObject([name, { "x-content-type-options": "nosniff" }]);
      if (String(reply.headers["content-type"]).startsWith("application/json")) JSON.parse(reply.body);
      else expect(["getMetrics", "exportLogs"]).toContain(name);
      expect([name, reply.status < errorStatus.INTERNAL_ERROR]).toEqual([name, true]);
    }
    const { services } = await api.listServices({ query: { limit: 1000 } });
    expect(services.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["-rf.service", "--version.service", "marked.service"]),
    );
    expect(services.find(({ name }) => name === "marked.service")?.description).toContain(script);
    await eventually(async () => {
      const { logs } = await api.listLogs({ query: { identifier: `$(touch ${trace})` } });
      expect(logs.map(({ message }) => message)).toEqual([line]);
    });
    await api.rollback({ params: { snapshot_id: snapshot.id }, query: { dry_run: true } });
    await api.deleteSnapshot({ params: { snapshot_id: snapshot.id } });
    expect(await leftBehind(session)).toBe("");
  });

  it("package names: only what the package manager itself has is ever handed to it [package-names]", async () => {
    const before = await stateOf(session);
    // All of the form of a name; to apt-get they are a removal, an expression, an architecture, a release, and nothing.
    for (const name of ["cron-", "cro.", "cron+", "cron:i386", "c.on", "cron~", "no-such-package", "systemd-cron"]) {
      const answer = await sendTo(target(session), {
        method: "POST",
        path: "/api/v1/updates/apply",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ packages: [name], create_snapshot: false }),
      });
      const { packages_updated: updated = 0 } = JSON.parse(answer.body) as { packages_updated?: number };
      expect([name, answer.status, updated]).toEqual([name, expect.any(Number), 0]);
      expect([name, answer.body]).not.toEqual([name, expect.stringContaining('"success":true,"snapshot')]);
    }
    expect(await stateOf(session)).toBe(before);
    expect((await session.host.exec(["systemctl", "is-active", "cron.service"])).stdout.trim()).toBe("active");
  });

  it("processes of others: what still runs old files is found without running or reading anything of theirs", async () => {
    const { host, shell, api } = session;
    // A process as the incident had it: its interpreter is gone, and its environment says where its modules are.
    const interpreter = "/usr/lib/of-others/python3";
    await shell(
      `mkdir -p ${open}/modules /usr/lib/of-others && chmod 777 ${open}/modules && cp /usr/bin/sleep ${interpreter}`,
    );
    for (const name of ["sitecustomize.py", "importlib.py", "os.py", "usercustomize.py", "site.rb", "strict.pm"])
      await host.writeFile(`${open}/modules/${name}`, `open("${sentinel}", "w")\n`, 0o644);
    const hostile = ["PYTHONPATH", "RUBYLIB", "PERL5LIB", "NODE_PATH", "LD_LIBRARY_PATH"];
    await host.exec([
      "systemd-run",
      "--unit=of-others",
      // Its program is taken away once it runs.
      "--service-type=exec",
      "--uid=nobody",
      ...hostile.map((name) => `--setenv=${name}=${open}/modules`),
      `--setenv=PYTHONSTARTUP=${open}/modules/sitecustomize.py`,
      interpreter,
      "600",
    ]);
    await shell(`rm -r ${interpreter}`);
    const checked = await eventually(async () => {
      const answer = await api.checkUpdates();
      expect(answer.requires_restart).toContain("of-others.service");
      return answer;
    });
    expect(checked.package_manager).toBe("apt");
    await api.listChecks();
    await host.exec(["systemctl", "stop", "of-others.service"]);
    expect(await leftBehind(session)).toBe("");
  });

  it("PATH hijack: programs of the same name earlier in PATH are never run, and no process gets the environment", async () => {
    const { host, shell } = session;
    const programs = `${open}/programs`;
    await host.writeFile(`${programs}/fake`, `#!/bin/sh\necho "$0 $*" >> ${sentinel}\n`, 0o755);
    await shell(
      `cd ${programs} && for each in /usr/bin/* /usr/sbin/* /bin/* /sbin/*; do ln -sf fake "\${each##*/}"; done; chmod 1777 ${programs}`,
    );
    // The loader of every process that is given these writes a file, whose name ends in the number of the process.
    const environment = [
      `PATH=${programs}:/usr/sbin:/usr/bin:/sbin:/bin`,
      "LD_DEBUG=statistics",
      "LD_DEBUG_OUTPUT=/var/lib/steward/loaded",
    ];
    const { service } = session;
    // What systemd runs when the service has ended gets the environment of its unit too, so that comes first.
    await service.stop();
    const dropIn = "/etc/systemd/system/steward.service.d/60-hostile.conf";
    await host.writeFile(dropIn, ["[Service]", ...environment.map((each) => `Environment=${each}`), ""].join("\n"));
    await host.exec(["systemctl", "daemon-reload"]);
    await service.restart();
    const { url, adminKey: key } = service;
    const get = (path: string) => sendTo({ url, key }, { method: "GET", path, headers: {}, body: undefined });
    for (const path of ["/health/checks", "/updates/check?refresh=true", "/updates/snapshots", "/system/logs"])
      expect([path, (await get(`/api/v1${path}`)).status < errorStatus.INTERNAL_ERROR]).toEqual([path, true]);
    const json = { "Content-Type": "application/json" };
    const post = (path: string, body: object) =>
      sendTo({ url, key }, { method: "POST", path: `/api/v1${path}`, headers: json, body: JSON.stringify(body) });
    const run = await post("/plugins/certificates/run", { args: ["here"] });
    expect(run.body).toContain("<here>");
    expect((await post("/system/services/cron/restart", {})).status).toBe(200);

    const loaded = (await shell("ls /var/lib/steward | grep '^loaded\\.' || true")).trim().split("\n");
    expect(loaded).toEqual([`loaded.${await service.pid()}`]);
    expect(await leftBehind(session)).toBe("");
    await shell(`rm -f /var/lib/steward/loaded.* ${dropIn}`);
  });

  it("secrets: no memory of the service is written out when it crashes", async () => {
    const { host, shell } = session;
    const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
    const pid = await service.pid();
    expect(await host.readFile(`/proc/${pid}/limits`)).toMatch(/^Max core file size\s+0\s/m);
    // A process of another user reads neither its memory nor its environment.
    for (const name of ["mem", "environ", "maps"]) {
      const read = await host.exec(["cat", `/proc/${pid}/${name}`], { user: "nobody", allowFailure: true });
      expect([name, read.exitCode, read.stdout]).toEqual([name, 1, ""]);
    }
    await host.exec(["kill", "-ABRT", String(pid)]);
    await eventually(async () => expect(await service.pid()).toBe(0), 30_000);
    expect((await shell("find / -xdev -name 'core*' -newer /srv/before -type f 2>/dev/null || true")).trim()).toBe("");
  });
});
