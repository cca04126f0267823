import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "#client/index.ts";
import { createClient } from "#client/index.ts";
import type { HealthCheckResult } from "#contract/checks.ts";
import { installedPrograms } from "./program.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import type { PluginPeers } from "./support/plugin-peers.ts";
import { freePort, startPluginPeers } from "./support/plugin-peers.ts";
import { describeOnHost } from "./support/session.ts";

const plugins = "/usr/lib/nagios/plugins";
const folder = "/usr/local/lib/plugins";
/** What plugins read, and where those that remember something write: the service sees no other place to write to. */
const data = "/srv/monitoring";
const state = "/var/lib/steward/monitoring";
const steward = installedPrograms;
/** Started by the service, whose user is not root and has no home: it has to be told where the admin key is. */
const ownSteward = ["/usr/bin/env", "STEWARD_STATE_DIR=/var/lib/steward", ...steward];
/** The environment in which the service starts plugins. */
const environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent"];
const statuses = ["pass", "warn", "fail", "skip"] as const;

/** As the service runs what its settings do not give to root. */
const asSteward = ["setpriv", "--reuid=steward", "--regid=steward", "--init-groups", "--no-new-privs"];

interface Case {
  /** Words after the folder of the plugins; `{name}` is the port of a peer. */
  readonly argv: readonly string[];
  /** What is known before; how much swap there is, say, is up to the machine. */
  readonly status?: HealthCheckResult["status"];
  readonly message?: RegExp;
  /** Labels of the performance data with their units. */
  readonly figures?: readonly string[];
  /** Whether it prints the same whenever it is asked. */
  readonly isSteady?: true;
  /** Whether it needs root, and its settings say so. */
  readonly isRoots?: true;
}

const local = ["-H", "127.0.0.1"];
const rounds = ["rta ms", "pl %"];
const rtas = [...rounds, "rtmax ms", "rtmin ms"];

/** Plugins of Debian against what is really there. */
const cases: Readonly<Record<string, Case>> = {
  disk: { argv: ["check_disk", "-w", "10%", "-c", "5%", "-p", "/"], status: "pass", figures: ["/ B"] },
  disk_two: {
    argv: ["check_disk", "-w", "99%", "-c", "1%", "-p", "/", "-p", "/run"],
    status: "warn",
    figures: ["/ B", "/run B"],
  },
  disk_low: { argv: ["check_disk", "-w", "100%", "-c", "100%", "-p", "/"], status: "fail", figures: ["/ B"] },
  disk_gone: {
    isSteady: true,
    argv: ["check_disk", "-w", "10%", "-p", "/nowhere"],
    status: "fail",
    message: /nowhere/,
  },
  load: {
    argv: ["check_load", "-w", "900,900,900", "-c", "999,999,999"],
    status: "pass",
    message: /^LOAD OK/,
    figures: ["load1 ", "load5 ", "load15 "],
  },
  procs: { argv: ["check_procs", "-w", "1:5000"], status: "pass", figures: ["procs "] },
  procs_few: {
    isSteady: true,
    argv: ["check_procs", "-C", "no-such-program", "-c", "1:"],
    status: "fail",
    figures: ["procs "],
  },
  swap: { argv: ["check_swap", "-w", "20%", "-c", "10%"], message: /^SWAP /, figures: ["swap B"] },
  users: { isSteady: true, argv: ["check_users", "-w", "20", "-c", "30"], status: "pass", figures: ["users "] },
  apt: {
    argv: ["check_apt"],
    status: "pass",
    message: /^APT OK/,
    figures: ["available_upgrades ", "critical_updates "],
  },
  icmp: { isRoots: true, argv: ["check_icmp", ...local], status: "pass", figures: rtas },
  rta_multi: { isRoots: true, argv: ["check_rta_multi", ...local], status: "pass", figures: rtas },
  host: { isRoots: true, argv: ["check_host", ...local], status: "pass", figures: ["pkt ", "rta "] },
  ping: {
    isRoots: true,
    argv: ["check_ping", ...local, "-w", "3000,80%", "-c", "5000,100%", "-p", "1"],
    status: "pass",
    figures: rounds,
  },
  dummy_pass: { isSteady: true, argv: ["check_dummy", "0", "all fine"], status: "pass", message: /^OK: all fine$/ },
  dummy_warn: { isSteady: true, argv: ["check_dummy", "1", "so so"], status: "warn", message: /^WARNING: so so$/ },
  dummy_fail: { isSteady: true, argv: ["check_dummy", "2", "bad"], status: "fail", message: /^CRITICAL: bad$/ },
  dummy_skip: {
    isSteady: true,
    argv: ["check_dummy", "3", "who knows"],
    status: "skip",
    message: /^UNKNOWN: who knows$/,
  },
  dummy_figures: {
    isSteady: true,
    argv: ["check_dummy", "1", "so | 'it''s a = b'=1.5ms;~:10;@1:2;0;20 n=U c=7c x=?"],
    status: "warn",
    message: /^WARNING: so$/,
    figures: ["it's a = b ms", "n ", "c c"],
  },
  cluster: {
    isSteady: true,
    argv: ["check_cluster", "-s", "-l", "web", "-w", "0", "-c", "2", "-d", "0,2,0"],
    status: "warn",
    message: /^CLUSTER WARNING: web: 2 ok, 0 warning, 0 unknown, 1 critical$/,
  },
  mrtg: {
    isSteady: true,
    argv: [
      "check_mrtg",
      "-F",
      `${data}/mrtg`,
      "-a",
      "AVG",
      "-v",
      "1",
      "-w",
      "50",
      "-c",
      "200",
      "-l",
      "Traffic",
      "-u",
      "B",
    ],
    status: "warn",
    message: /^Avg\. Traffic = 100 B$/,
    figures: ["Traffic B"],
  },
  mrtgtraf: {
    isSteady: true,
    argv: ["check_mrtgtraf", "-F", `${data}/mrtg`, "-a", "AVG", "-w", "1000,1000", "-c", "2000,2000"],
    status: "pass",
    figures: ["in B", "out B"],
  },
  nagios: {
    argv: ["check_nagios", "-F", `${data}/status.log`, "-e", "500", "-C", "plugin-marker"],
    status: "pass",
    message: /status log updated/,
  },
  sensors: { isSteady: true, argv: ["check_sensors"], status: "skip", message: /^SENSORS UNKNOWN/ },
  ide_smart: {
    isSteady: true,
    isRoots: true,
    argv: ["check_ide_smart", "-d", "/dev/testhost"],
    status: "fail",
    message: /SMART_CMD_ENABLE/,
  },
  negate: {
    isSteady: true,
    argv: ["negate", "-s", "-o", "WARNING", `${plugins}/check_dummy`, "0", "fine"],
    status: "warn",
  },
  urlize: {
    isSteady: true,
    argv: ["urlize", "http://example.org/", `${plugins}/check_dummy`, "1", "so"],
    status: "warn",
    message: /^<A href="http:\/\/example\.org\/">WARNING: so<\/A>$/,
  },
  file_age: {
    argv: ["check_file_age", "-w", "999999999", "-c", "999999999", "-f", "/etc/hostname"],
    status: "pass",
    message: /^FILE_AGE OK/,
    figures: ["age s", "size B"],
  },
  smtp: { argv: ["check_smtp", ...local, "-p", "{smtp}"], status: "pass", message: /^SMTP OK/, figures: ["time s"] },
  ftp: { argv: ["check_ftp", ...local, "-p", "{ftp}"], status: "pass", message: /^FTP OK/, figures: ["time s"] },
  imap: { argv: ["check_imap", ...local, "-p", "{imap}"], status: "pass", message: /^IMAP OK/, figures: ["time s"] },
  pop: { argv: ["check_pop", ...local, "-p", "{pop}"], status: "pass", message: /^POP OK/, figures: ["time s"] },
  nntp: { argv: ["check_nntp", ...local, "-p", "{nntp}"], status: "pass", message: /^NNTP OK/, figures: ["time s"] },
  jabber: { argv: ["check_jabber", ...local, "-p", "{jabber}"], status: "pass", figures: ["time s"] },
  clamd: { argv: ["check_clamd", ...local, "-p", "{clamd}"], status: "pass", figures: ["time s"] },
  time: {
    argv: ["check_time", ...local, "-p", "{time}", "-w", "300", "-c", "600"],
    status: "pass",
    message: /^TIME OK/,
    figures: ["time s", "offset s"],
  },
  ups: {
    isSteady: true,
    argv: ["check_ups", ...local, "-p", "{ups}", "-u", "myups"],
    status: "pass",
    message: /^UPS OK/,
    figures: ["voltage mV", "battery %", "load %", "temp degF"],
  },
  nt: {
    isSteady: true,
    argv: ["check_nt", ...local, "-p", "{nsclient}", "-v", "CLIENTVERSION"],
    status: "pass",
    message: /NSClient/,
  },
  ntp_time: {
    argv: ["check_ntp_time", ...local, "-p", "{ntp}", "-w", "30", "-c", "60"],
    status: "pass",
    message: /^NTP OK: Offset/,
    figures: ["offset s"],
  },
  ntp_peer: {
    isSteady: true,
    argv: ["check_ntp_peer", ...local, "-p", "{ntpControl}", "-w", "60", "-c", "120"],
    status: "pass",
    message: /^NTP OK: Offset/,
    figures: ["offset s"],
  },
  udp: {
    argv: ["check_udp", ...local, "-p", "{udp}", "-s", "ping", "-e", "pong"],
    status: "pass",
    figures: ["time s"],
  },
  http: {
    argv: ["check_http", ...local, "-p", "{http}"],
    status: "pass",
    message: /^HTTP OK: HTTP\/1\.1 200 OK/,
    figures: ["time s", "size B"],
  },
  http_down: {
    argv: ["check_http", ...local, "-p", "{broken}"],
    status: "fail",
    message: /503 Service Unavailable/,
    figures: ["time s", "size B"],
  },
  http_refused: { isSteady: true, argv: ["check_http", ...local, "-p", "{free}"], status: "fail", message: /refused/ },
  real: { isSteady: true, argv: ["check_real", ...local, "-p", "{real}"], status: "pass" },
  tcp: {
    argv: ["check_tcp", ...local, "-p", "{plain}", "-e", "hello"],
    status: "pass",
    message: /^TCP OK/,
    figures: ["time s"],
  },
  ssh: { argv: ["check_ssh", "-p", "{sshd}", "127.0.0.1"], status: "pass", message: /OpenSSH/, figures: ["time s"] },
  by_ssh: {
    isSteady: true,
    argv: [
      "check_by_ssh",
      ...local,
      "-p",
      "{sshd}",
      "-i",
      `${data}/client`,
      "-l",
      "root",
      "-E",
      "-C",
      `${plugins}/check_dummy 1 remote`,
    ].concat(
      ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"].flatMap((option) => [
        "-o",
        option,
      ]),
    ),
    status: "warn",
    message: /^WARNING: remote$/,
  },
};

/** Programs that do what plugins should not. */
const scripts: Readonly<Record<string, string>> = {
  deaf: `trap '' TERM\nsh -c 'trap "" TERM; echo $$ > ${state}/deaf-child; while :; do sleep 1; done' &\necho $$ > ${state}/deaf\nwhile :; do sleep 1; done`,
  lines: "printf 'LINES OK | a=1s;2\\nfirst\\n\\tsecond <b>\\n\\nlast | b=2%%\\nc=3 d=\\n'",
  latin: "printf 'gr\\374n \\033[31mund\\000 \\303\\274ber | l\\374=1\\n'",
  flood: "echo 'FLOOD OK | a=1 b=2'\nhead -c 300000 /dev/zero | tr '\\0' x",
  grumble: "head -c 300000 /dev/zero | tr '\\0' x >&2\necho 'GRUMBLE OK | a=1 b=2'",
  odd: "echo odd; exit 42",
  killed: "echo before; kill -KILL $$",
  silent: "exit 0",
  empty_input: "if read line; then exit 2; fi; echo \"$PWD $HOME\"; env | sort | tr '\\n' ' '",
};

describeOnHost("monitoring plugins", (session) => {
  let peers: PluginPeers | undefined;
  let api: Client;
  let service: RunningService;
  const commands = new Map<string, readonly string[]>();
  const check = (id: string) => api.getCheck({ params: { check_id: id } });
  const run = (argv: readonly string[], words: readonly string[] = []) =>
    session.host.exec([...words, ...environment, ...argv], { allowFailure: true });

  beforeAll(async () => {
    peers = await startPluginPeers();
    const sshd = await freePort();
    const ports: Readonly<Record<string, number>> = { ...peers.ports, sshd, free: await freePort() };
    for (const [id, { argv }] of Object.entries(cases)) {
      const [plugin, ...args] = argv.map((word) =>
        word.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ports[name])),
      );
      commands.set(id, [`${plugins}/${plugin}`, ...args]);
    }
    for (const [name, text] of Object.entries(scripts)) {
      await session.host.writeFile(`${folder}/${name}`, `#!/bin/sh\n${text}\n`, 0o755);
      commands.set(name, [`${folder}/${name}`]);
    }
    await session.host.writeFile(`${folder}/text`, "#!/bin/sh\nexit 0\n", 0o644);
    await session.host.writeFile(`${folder}/lost`, "#!/nonexistent/interpreter\n", 0o755);
    await session.shell(
      [
        "mkdir -p -m 700 /run/sshd /root/.ssh",
        "ssh-keygen -q -t ed25519 -N '' -f /root/server",
        `mkdir -p ${data}; install -d -o steward -g steward ${state}`,
        `ssh-keygen -q -t ed25519 -N '' -f ${data}/client; chown steward ${data}/client`,
        `cp ${data}/client.pub /root/.ssh/authorized_keys`,
        `systemd-run --unit=sshd-test /usr/sbin/sshd -D -f /dev/null -h /root/server -o Port=${sshd} -o ListenAddress=127.0.0.1`,
        'now=$(date +%s); { echo "$now 100 200"; for i in 0 300; do echo "$((now - i)) 100 200 300 400"; done; } > /srv/monitoring/mrtg',
        'echo "[$now] x;" > /srv/monitoring/status.log',
        "systemd-run --unit=plugin-marker sh -c 'sleep infinity; : plugin-marker'",
        `until ${plugins}/check_ssh -p ${sshd} 127.0.0.1; do sleep 0.1; done`,
      ].join("\n"),
    );
    const listen = `127.0.0.1:${await freePort()}`;
    const checks = Object.fromEntries(
      [...commands].map(([id, command]) => [id, cases[id]?.isRoots === true ? { command, user: "root" } : { command }]),
    );
    const health = {
      interval: "1h",
      checks: {
        ...checks,
        disk: { ...checks["disk"], name: "Disk by plugin", severity: "high", timeout: "20s" },
        deaf: { ...checks["deaf"], timeout: "2s" },
        missing: { command: [`${folder}/missing`] },
        text: { command: [`${folder}/text`] },
        lost: { command: [`${folder}/lost`] },
        a_folder: { command: [folder] },
        log: { command: [`${plugins}/check_log`, "-F", `${data}/log`, "-O", `${state}/log.old`, "-q", "error"] },
        off: { command: [`${folder}/silent`], enabled: false },
        own: { command: [...ownSteward, "check", "dummy_figures", "--nagios"] },
        own_disk: { command: [...ownSteward, "check", "disk_space", "--nagios"] },
      },
    };
    // JSON is YAML.
    const config = `listen: ${listen}\nrate_limits: off\nhealth: ${JSON.stringify(health)}\n`;
    service = await session.host.startService({ config });
    api = createClient({ url: service.url, key: service.adminKey });
  });
  afterAll(() => peers?.close());

  describe.each(Object.entries(cases))("%s", (id, { status, message, figures = [], isSteady, isRoots }) => {
    it("is to the service what it is when it is run directly", async () => {
      const command = commands.get(id) ?? [];
      const direct = await run(command, isRoots === true ? [] : asSteward);
      const result = await check(id);

      const [firstLine = ""] = direct.stdout.split("\n");
      const [text = "", perfdata = ""] = firstLine.split(/\|(.*)/s);
      expect(result).toMatchObject({ check_id: id, category: "custom", status: statuses[direct.exitCode] });
      if (status !== undefined) expect(result.status).toBe(status);
      if (message !== undefined) expect(result.message).toMatch(message);

      const { details } = result;
      const shape = (value: unknown): string =>
        String(value)
          .trim()
          .replaceAll(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, "#");
      expect(details).toMatchObject({ exit_code: direct.exitCode, truncated: false, perfdata_omitted: 0 });
      expect(shape(Reflect.get(details, "output"))).toBe(shape(text));
      const values: unknown = Reflect.get(details, "perfdata");
      if (!Array.isArray(values)) throw new Error(`no performance data in ${JSON.stringify(details)}`);
      // Versions of a plugin print them in another order.
      expect(values.map(({ label, unit }) => `${label} ${unit}`).sort()).toEqual(figures.toSorted());

      if (!isSteady) return;
      expect(Reflect.get(details, "output")).toBe(text.trim());
      const numbers = [...perfdata.matchAll(/=(-?[\d.]+|U)/g)].map(([, number]) => number);
      expect(values.map(({ value }) => value)).toEqual(
        numbers.map((number) => (number === "U" ? null : Number(number))),
      );
    });
  });

  it("are as many different programs of Debian as the table has", () => {
    expect(new Set(Object.values(cases).map(({ argv: [plugin] }) => plugin)).size).toBeGreaterThanOrEqual(36);
  });

  it("give thresholds and bounds as ranges", async () => {
    const { details } = await check("dummy_figures");
    const range = (text: string, start: number | null, end: number | null, inside = false) => ({
      text,
      start,
      end,
      inside,
    });
    expect(details).toMatchObject({
      perfdata_malformed: 1,
      perfdata: [
        { value: 1.5, warn: range("~:10", null, 10), crit: range("@1:2", 1, 2, true), min: 0, max: 20 },
        { label: "n", value: null, warn: null, crit: null, min: null, max: null },
        { label: "c", value: 7 },
      ],
    });
  });

  it("come after the checks of the service, and are not there when they are off", async () => {
    const { results, summary } = await api.listChecks();
    const ids = results.map(({ check_id }) => check_id);
    expect(ids.indexOf("disk")).toBeGreaterThan(ids.indexOf("raid_status"));
    expect(ids).not.toContain("off");
    expect(summary.total).toBe(ids.length);
    expect(await check("disk")).toMatchObject({ name: "Disk by plugin", severity: "high" });
    expect(await check("users")).toMatchObject({ name: "users", severity: "medium" });
    const { runs } = await api.getCheckHistory({ params: { check_id: "dummy_warn" } });
    expect(runs[0]).toMatchObject({ status: "warn", message: "WARNING: so so" });
  });

  it("may keep a state of their own: check_log sees a line once", async () => {
    await session.shell(`echo 'error one' > ${data}/log; rm -f ${state}/log.old`);
    expect(await check("log")).toMatchObject({ status: "pass", message: "Log check data initialized..." });
    expect(await check("log")).toMatchObject({ status: "pass", message: "Log check ok - 0 pattern matches found" });
    await session.shell(`echo 'error two' >> ${data}/log`);
    expect(await check("log")).toMatchObject({ status: "fail", message: "(1) < error two" });
    expect(await check("log")).toMatchObject({ status: "pass" });
  });

  describe("that misbehave", () => {
    it("are killed at their time limit, with a child, deaf to SIGTERM", async () => {
      expect(await check("deaf")).toMatchObject({
        status: "fail",
        message: "The check did not end within 2 s",
        details: { error: "no answer after 2 s" },
      });
      const pids = (await session.shell(`cat ${state}/deaf ${state}/deaf-child`)).trim().split("\n");
      expect(pids).toHaveLength(2);
      await eventually(async () => {
        for (const pid of pids)
          expect(await session.shell(`test -d /proc/${pid} && echo alive || echo dead`)).toBe("dead\n");
      });
    });

    it.each([
      ["missing", `${folder}/missing does not exist, or the interpreter in its first line does not`],
      ["lost", `${folder}/lost does not exist, or the interpreter in its first line does not`],
      ["text", `${folder}/text may not be executed`],
      ["a_folder", `${folder} may not be executed`],
      ["killed", `${folder}/killed was killed by SIGKILL`],
    ])("say what is wrong: %s", async (id, reason) => {
      expect(await check(id)).toMatchObject({
        status: "fail",
        message: `The plugin gave no result: ${reason}`,
        details: { error: expect.stringMatching(/\S/) },
      });
    });

    it("with an exit code that means nothing fail", async () => {
      expect(await check("odd")).toMatchObject({
        status: "fail",
        message: "The plugin ended with exit code 42, which means nothing to a monitoring system (0 to 3 do): odd",
        details: { exit_code: 42, output: "odd", error: "exit code 42" },
      });
    });

    it("without output have a message all the same", async () => {
      const message = "The plugin printed no text and ended with exit code 0";
      expect(await check("silent")).toMatchObject({ status: "pass", message, details: { output: "", perfdata: [] } });
    });

    it("with text that is not UTF-8 lose what is not, and nothing else", async () => {
      expect(await check("latin")).toMatchObject({
        status: "pass",
        message: "gr\ufffdn [31mund über",
        details: { perfdata: [{ label: "l\ufffd", value: 1 }] },
      });
    });

    it("with a flood keep the beginning of it, and their figures", async () => {
      const { status, message, details } = await check("flood");
      expect([status, message]).toEqual(["pass", "FLOOD OK"]);
      expect(details).toMatchObject({
        truncated: true,
        perfdata: [
          { label: "a", value: 1 },
          { label: "b", value: 2 },
        ],
      });
      expect(JSON.stringify(details).length).toBeLessThan(64 * 1024);
      expect(await check("grumble")).toMatchObject({
        message: "GRUMBLE OK",
        details: { truncated: false, perfdata: [{ value: 1 }, { value: 2 }] },
      });
    });
  });

  it("may have long text and figures over more lines", async () => {
    expect(await check("lines")).toMatchObject({
      status: "pass",
      message: "LINES OK",
      details: {
        long_output: "first\n\tsecond <b>\n\nlast",
        perfdata: [
          { label: "a", value: 1, unit: "s", warn: { text: "2" } },
          { label: "b", value: 2, unit: "%" },
          { label: "c", value: 3 },
        ],
        perfdata_malformed: 1,
      },
    });
  });

  it("get an empty input and an environment without anything of the service", async () => {
    expect(await check("empty_input")).toMatchObject({
      status: "pass",
      message: "/ /nonexistent",
      details: { long_output: "HOME=/nonexistent LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin PWD=/" },
    });
  });

  describe("and the checks of the service as a plugin", () => {
    const nagios = (...words: readonly string[]) => run([...steward, "check", ...words, "--nagios"]);

    it.each([
      ["dummy_pass", 0, "DUMMY_PASS OK - OK: all fine\n"],
      ["dummy_warn", 1, "DUMMY_WARN WARNING - WARNING: so so\n"],
      ["dummy_fail", 2, "DUMMY_FAIL CRITICAL - CRITICAL: bad\n"],
      ["dummy_skip", 3, "DUMMY_SKIP UNKNOWN - UNKNOWN: who knows\n"],
      ["dummy_figures", 1, "DUMMY_FIGURES WARNING - WARNING: so | 'it''s a = b'=1.5ms;~:10;@1:2;0;20 n=U c=7c\n"],
    ])("%s", async (id, exitCode, stdout) => {
      expect(await nagios(id)).toEqual({ exitCode, stdout, stderr: "" });
    });

    it("give the figures of a check", async () => {
      const { exitCode, stdout, stderr } = await nagios("disk_space");
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^DISK_SPACE OK - [^|\n]+ \| .*percent_used=[\d.]+%.*\n$/);
    });

    it("are understood by negate and by check_by_ssh", async () => {
      const negated = await run([
        `${plugins}/negate`,
        "-t",
        "30",
        "-s",
        "-o",
        "CRITICAL",
        ...steward,
        "check",
        "dummy_pass",
        "--nagios",
      ]);
      expect(negated).toMatchObject({ exitCode: 2, stdout: "DUMMY_PASS CRITICAL - CRITICAL: all fine\n" });
      const bySsh = (commands.get("by_ssh") ?? []).map((word) =>
        word.endsWith(" remote") ? [...steward, "check", "dummy_figures", "--nagios"].join(" ") : word,
      );
      expect(await run(bySsh)).toMatchObject({
        exitCode: 1,
        stdout: "DUMMY_FIGURES WARNING - WARNING: so | 'it''s a = b'=1.5ms;~:10;@1:2;0;20 n=U c=7c\n",
      });
    });

    it("are understood by the service itself, figure by figure", async () => {
      const [origin, own] = [await check("dummy_figures"), await check("own")];
      expect(own).toMatchObject({ status: "warn", message: "DUMMY_FIGURES WARNING - WARNING: so" });
      expect(Reflect.get(own.details, "perfdata")).toEqual(Reflect.get(origin.details, "perfdata"));
      expect(await check("own_disk")).toMatchObject({
        status: "pass",
        details: { perfdata: expect.arrayContaining([expect.objectContaining({ label: "percent_used", unit: "%" })]) },
      });
    });

    it("may be asked by a user with a key of its own", async () => {
      const { key } = await api.createKey({ body: { name: "monitoring", scopes: ["health:read"] } });
      await session.host.writeFile("/etc/monitoring.key", `${key}\n`);
      await session.shell("chown nobody /etc/monitoring.key; chmod 400 /etc/monitoring.key");
      const argv = ["/opt/steward/bin/steward", "check", "dummy_warn", "--nagios", "--url", service.url];
      const asNobody = (words: readonly string[]) => session.host.exec(words, { user: "nobody", allowFailure: true });
      expect(await asNobody([...argv, "--key-file", "/etc/monitoring.key"])).toEqual({
        exitCode: 1,
        stdout: "DUMMY_WARN WARNING - WARNING: so so\n",
        stderr: "",
      });
      const keyless = await asNobody(argv);
      expect(keyless).toMatchObject({
        exitCode: 3,
        stdout: expect.stringMatching(/^STEWARD UNKNOWN - cannot find a key.*\n$/),
      });
    });

    it("are unknown when there is no such check or no service", async () => {
      expect(await nagios("nothing")).toMatchObject({
        exitCode: 3,
        stdout: expect.stringMatching(/^STEWARD UNKNOWN - cannot find the check nothing.*\n$/),
        stderr: "",
      });
      await service.stop();
      expect(await nagios("dummy_pass")).toMatchObject({
        exitCode: 3,
        stdout: expect.stringMatching(/^STEWARD UNKNOWN - cannot reach the service: .*\n$/),
        stderr: "",
      });
    });
  });
});
