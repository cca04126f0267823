import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { alertConditions, alertRouting } from "#domain/alerts/conditions.ts";
import { makePair } from "./support/certificates.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { root, writeSettings } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const [promtool, amtool] = ["/usr/bin/promtool", "/usr/bin/amtool"] as const;
const hasTools = existsSync(promtool) && existsSync(amtool);
if (!hasTools) process.stdout.write(`skipped: promtool, amtool: Debian packages prometheus, prometheus-alertmanager\n`);
const withTools = it.skipIf(!hasTools && process.env["CI"] !== "true");

const shipped = join(root, "deploy/observability");
const rulesFile = join(shipped, "prometheus/steward-alerts.yml");
const alertmanagerFile = join(shipped, "alertmanager/alertmanager.yml");
const read = (file: string): string => readFileSync(join(shipped, file), "utf8");

const workspace = createWorkspace();
afterAll(workspace.dispose);
const isFine = { code: 0, stderr: expect.not.stringContaining("FAILED") };

let made = 0;
/** Runs `steward observability init` with these settings. */
async function init(settings: string, environment = {}, words: readonly string[] = []) {
  made += 1;
  const directory = workspace.path(`stack-${made}`);
  const ran = await runSteward(workspace, ["observability", "init", directory, ...words], {
    STEWARD_CONFIG: writeSettings(workspace, settings),
    ...environment,
  });
  return { directory, ran, text: (file: string) => readFileSync(join(directory, file), "utf8") };
}

/** Values of a series for promtool: each so many times. */
type Values = readonly (readonly [value: number, times: number])[];

const intervalSeconds = 15;
const written = (values: Values): string => values.map(([value, times]) => `${value}x${times - 1}`).join(" ");
/** A counter that grows by each value in turn. */
function counted(values: Values): string {
  let total = 0;
  return values
    .flatMap(([step, times]) => Array.from({ length: times }, () => (total += step)))
    .map((each) => String(Number(each.toFixed(4))))
    .join(" ");
}

const nodeLabels = 'job="node",instance="web1"';
/** Series that make the figure of an alert be these values, one every 15 s. */
const seriesOf: Readonly<Record<string, (figures: Values) => readonly { series: string; values: string }[]>> = {
  HighCPUUsage: (figures) =>
    (["idle", "iowait", "user", "system"] as const).flatMap((mode) =>
      ["0", "1"].map((cpu) => ({
        series: `node_cpu_seconds_total{${nodeLabels},cpu="${cpu}",mode="${mode}"}`,
        values: counted(
          figures.map(([percent, times]) => {
            const share = mode === "idle" || mode === "iowait" ? 100 - percent : percent;
            return [(intervalSeconds * share) / 200, times];
          }),
        ),
      })),
    ),
  HighMemoryUsage: (figures) => [
    { series: `node_memory_MemTotal_bytes{${nodeLabels}}`, values: written(figures.map(([, times]) => [1000, times])) },
    {
      series: `node_memory_MemAvailable_bytes{${nodeLabels}}`,
      values: written(figures.map(([percent, times]) => [1000 - percent * 10, times])),
    },
  ],
  // A tenth is reserved for root: neither used nor free.
  DiskSpaceLow: (figures) =>
    ["/", "/home"].flatMap((mountpoint) => {
      const labels = `{${nodeLabels},device="/dev/vda",fstype="ext4",mountpoint="${mountpoint}"}`;
      const isRoot = mountpoint === "/";
      const used = figures.map(([percent, times]) => [isRoot ? percent * 10 : 1000, times] as const);
      return [
        { series: `node_filesystem_size_bytes${labels}`, values: written(used.map(([, times]) => [1100, times])) },
        {
          series: `node_filesystem_free_bytes${labels}`,
          values: written(used.map(([each, times]) => [1100 - each, times])),
        },
        {
          series: `node_filesystem_avail_bytes${labels}`,
          values: written(used.map(([each, times]) => [1000 - each, times])),
        },
      ];
    }),
  ServiceDown: (figures) => [
    {
      series: 'up{job="steward",instance="web1"}',
      values: written(figures.map(([isDown, times]) => [1 - isDown, times])),
    },
    // Another job that is down is not a concern of this alert.
    { series: 'up{job="node",instance="web1"}', values: written(figures.map(([, times]) => [0, times])) },
  ],
};

interface Alert {
  readonly name: keyof typeof seriesOf;
  readonly severity: string;
  /** The figure at the threshold, and a little above. */
  readonly at: number;
  readonly above: number;
  readonly forSeconds: number;
  /** After how long the figure is known for the first time. */
  readonly knownAfter: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly description: string;
}

/** As they were agreed, not as the table has them. */
const alerts: readonly Alert[] = [
  {
    name: "HighCPUUsage",
    severity: "warning",
    at: 80,
    above: 80.4,
    forSeconds: 300,
    // A rate takes two samples.
    knownAfter: 15,
    labels: { job: "node" },
    summary: "The processors are more than 80 % busy on web1",
    description: "CPU usage above 80% for 5m, now 80.4 %",
  },
  {
    name: "HighMemoryUsage",
    severity: "warning",
    at: 85,
    above: 85.1,
    forSeconds: 300,
    knownAfter: 0,
    labels: { job: "node" },
    summary: "More than 85 % of memory is used on web1",
    description: "Memory usage above 85% for 5m, now 85.1 %",
  },
  {
    name: "DiskSpaceLow",
    severity: "critical",
    at: 90,
    above: 90.1,
    forSeconds: 300,
    knownAfter: 0,
    labels: { job: "node", device: "/dev/vda", fstype: "ext4", mountpoint: "/" },
    summary: "More than 90 % of the root file system is used on web1",
    description: "Root filesystem usage above 90% for 5m, now 90.1 %",
  },
  {
    name: "ServiceDown",
    severity: "critical",
    at: 0,
    above: 1,
    forSeconds: 60,
    knownAfter: 0,
    labels: { job: "steward" },
    summary: "Steward does not answer Prometheus on web1",
    description: "The service's scrape target is down for 1m",
  },
];

/** A test file for promtool: these figures, and at each time whether the alert fires. */
function ruleTest(alert: Alert, figures: Values, timestamps: Readonly<Record<number, boolean>>): string {
  const { name, severity, labels, summary, description } = alert;
  const firing = {
    exp_labels: { severity, instance: "web1", ...labels },
    exp_annotations: { summary, description },
  };
  const path = workspace.path(`rules-${name}-${randomUUID()}.yml`);
  const test = {
    rule_files: [rulesFile],
    evaluation_interval: `${intervalSeconds}s`,
    tests: [
      {
        interval: `${intervalSeconds}s`,
        input_series: seriesOf[name]?.(figures),
        alert_rule_test: Object.entries(timestamps).map(([seconds, fires]) => ({
          eval_time: `${seconds}s`,
          alertname: name,
          exp_alerts: fires ? [firing] : [],
        })),
      },
    ],
  };
  writeFileSync(path, stringify(test));
  return path;
}

const testRules = (path: string) => runProgram(workspace, [promtool, "test", "rules", path]);

describe("the alert rules", () => {
  withTools("are four that promtool accepts", async () => {
    expect(await runProgram(workspace, [promtool, "check", "rules", rulesFile])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("SUCCESS: 4 rules found"),
    });
  });

  it.skipIf(!hasTools && process.env["CI"] !== "true").each(alerts)(
    "$name fires after its time and not before, above its threshold and not at it",
    async (alert) => {
      const { at, above, forSeconds, knownAfter } = alert;
      const due = knownAfter + forSeconds;
      const fires = { [due - intervalSeconds]: false, [due]: true, [due + intervalSeconds]: true, [due + 600]: true };
      expect(await testRules(ruleTest(alert, [[above, 80]], fires))).toMatchObject({ code: 0 });
      const never = { [due]: false, [due + intervalSeconds]: false, [due + 600]: false };
      expect(await testRules(ruleTest(alert, [[at, 80]], never))).toMatchObject({ code: 0 });
      // What it says when the expectation is not met.
      expect(await testRules(ruleTest(alert, [[at, 80]], fires))).toMatchObject({ code: 1 });
    },
  );
});

describe("Alertmanager", () => {
  withTools("accepts its settings, also with all that they offer", async () => {
    const check = (path: string) => runProgram(workspace, [amtool, "check-config", path]);
    expect(await check(alertmanagerFile)).toMatchObject(isFine);
    const all = workspace.path("all.yml");
    const offered = read("alertmanager/alertmanager.yml").replaceAll(
      /^( +)# (?=smtp_|pagerduty_|opsgenie_|webhook_| )/gm,
      "$1",
    );
    expect(offered).toContain("\n    opsgenie_configs:\n      - api_key_file:");
    writeFileSync(all, offered);
    expect(await check(all)).toMatchObject(isFine);
    writeFileSync(all, offered.replace("receiver: paging", "receiver: nobody"));
    expect((await check(all)).code).not.toBe(0);
  });

  withTools("routes what is critical to paging and all else to email", async () => {
    const receiver = async (...labels: readonly string[]) =>
      (
        await runProgram(workspace, [
          amtool,
          "config",
          "routes",
          "test",
          `--config.file=${alertmanagerFile}`,
          ...labels,
        ])
      ).stdout.trim();
    const routed = await Promise.all(
      alerts.map(async ({ name, severity }) => [name, await receiver(`alertname=${name}`, `severity=${severity}`)]),
    );
    expect(Object.fromEntries(routed)).toEqual({
      HighCPUUsage: "email",
      HighMemoryUsage: "email",
      DiskSpaceLow: "paging",
      ServiceDown: "paging",
    });
    expect(await receiver("alertname=Other")).toBe("email");
    expect(await receiver("alertname=Other", "severity=info")).toBe("email");
    expect(await receiver("alertname=Other", "severity=critical")).toBe("paging");
  });

  it("groups and repeats as the service does itself", () => {
    const { route } = parse(read("alertmanager/alertmanager.yml"));
    expect(route).toMatchObject({ group_wait: "30s", group_interval: "5m", repeat_interval: "4h" });
    expect(alertRouting).toEqual({
      groupBy: route.group_by,
      groupWaitMs: 30_000,
      groupIntervalMs: 300_000,
      repeatIntervalMs: 14_400_000,
    });
    expect(alertConditions.map(({ name }) => name)).toEqual(alerts.map(({ name }) => name));
  });
});

describe("steward observability init", () => {
  it("fills in host, address and mail server, and prints the next steps", async () => {
    const settings = [
      "listen: '[::1]:9470'",
      'notifications: { email: { smtp: "smtps://mail.example.org", from: a@example.org, to: [b@example.org, c@example.org], user: d, password_file: /etc/hostname } }',
      "",
    ].join("\n");
    const { directory, ran, text } = await init(settings, {}, ["--json"]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const report = JSON.parse(ran.stdout);
    expect(report).toMatchObject({
      path: directory,
      next_steps: expect.arrayContaining([expect.stringContaining("smtp-password")]),
    });
    for (const file of report.files) {
      expect(statSync(join(directory, file)).mode & 0o777).toBe(0o644);
      expect(text(file)).not.toContain("/etc/steward-observability");
      if (!file.endsWith(".md")) expect([file, text(file)]).toEqual([file, expect.not.stringContaining("localhost")]);
    }
    expect(text("prometheus/prometheus.yml")).toContain('targets: ["[::1]:9470"]');
    expect(parse(text("alertmanager/alertmanager.yml"))).toMatchObject({
      global: {
        smtp_smarthost: "mail.example.org:465",
        smtp_from: "a@example.org",
        smtp_require_tls: true,
        smtp_auth_username: "d",
        smtp_auth_password_file: `${directory}/alertmanager/smtp-password`,
      },
      receivers: [{ email_configs: [{ to: "b@example.org, c@example.org" }] }, { name: "paging" }],
    });
  });

  it("trusts the certificate that the service made itself, or takes another address", async () => {
    const stateDir = workspace.path("state");
    mkdirSync(stateDir, { mode: 0o700 });
    const { cert } = await makePair(workspace, "own");
    copyFileSync(cert, join(stateDir, "tls-cert.pem"));
    const { directory, text } = await init("tls: auto\n", {
      STEWARD_STATE_DIR: stateDir,
      STEWARD_LISTEN: "127.0.0.1:9",
    });
    const [scrape] = parse(text("prometheus/prometheus.yml")).scrape_configs;
    expect(scrape).toMatchObject({
      ...{ scheme: "https", follow_redirects: false, static_configs: [{ targets: ["127.0.0.1:9"] }] },
      tls_config: { ca_file: `${directory}/prometheus/steward-ca.pem` },
    });
    expect(text("prometheus/steward-ca.pem")).toBe(readFileSync(cert, "utf8"));
    const other = await init("", {}, ["--url", "https://web1.example.org"]);
    expect(parse(other.text("prometheus/prometheus.yml")).scrape_configs[0]).toMatchObject({
      scheme: "https",
      static_configs: [{ targets: ["web1.example.org:443"] }],
    });
  });

  it("overwrites nothing, and uses no directory whose name settings would have to quote", async () => {
    const directory = workspace.path("taken");
    mkdirSync(join(directory, "grafana"), { recursive: true });
    writeFileSync(join(directory, "grafana/steward.json"), "mine");
    const run = (dir: string) => runSteward(workspace, ["observability", "init", dir]);
    expect(await run(directory)).toMatchObject({ code: 2, stderr: expect.stringContaining("it is there already") });
    expect(readdirSync(directory)).toEqual(["grafana"]);
    const odd = workspace.path("a b");
    expect(await run(odd)).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot use the directory") });
    expect(existsSync(odd)).toBe(false);
  });
});

describe("the settings of log shippers", () => {
  it("make a label of the level, and of nothing else in a line", () => {
    const promtail = parse(read("promtail/steward.yml")).scrape_configs[0];
    expect(promtail.pipeline_stages[1]).toEqual({ labels: { level: "level" } });
    expect(Object.keys(promtail.journal.labels)).toEqual(["service_name", "host"]);
    expect(Object.keys(parse(read("vector/steward.yaml")).sinks.steward_loki.labels)).toEqual([
      "service_name",
      "host",
      "level",
    ]);
    expect(parse(read("fluent-bit/steward.yaml")).pipeline.outputs[0]).toMatchObject({
      labels: "service_name=steward, host=localhost",
      label_keys: "$level",
    });
    expect(parse(read("otel-collector/steward.yaml")).processors["groupbyattrs/level"]).toEqual({ keys: ["level"] });
    expect(read("alloy/steward.alloy")).toContain('stage.labels {\n    values = { level = "level" }\n  }');
  });

  it("read the service's unit alone, and name only parts that exist", () => {
    const collector = parse(read("otel-collector/steward.yaml"));
    const pipelines: readonly Record<string, readonly string[]>[] = Object.values(collector.service.pipelines);
    for (const kind of ["receivers", "processors", "exporters"]) {
      const used = new Set(pipelines.flatMap((pipeline) => pipeline[kind] ?? []));
      expect([...used].sort()).toEqual(Object.keys(collector[kind]).sort());
    }
    expect(collector.receivers).toMatchObject({
      otlp: { protocols: { grpc: { endpoint: "127.0.0.1:4317" }, http: { endpoint: "127.0.0.1:4318" } } },
      journald: { units: ["steward.service"] },
    });
    const vector = parse(read("vector/steward.yaml"));
    expect(vector.transforms.steward_lines.inputs).toEqual(Object.keys(vector.sources));
    expect(vector.sinks.steward_loki.inputs).toEqual(Object.keys(vector.transforms));
    const { inputs, filters, outputs } = parse(read("fluent-bit/steward.yaml")).pipeline;
    expect([filters[0].match, outputs[0].match]).toEqual([inputs[0].tag, inputs[0].tag]);
    const alloy = read("alloy/steward.alloy");
    const parts = [...alloy.matchAll(/^(loki\.\w+(?:\.\w+)?) "(\w+)" \{/gm)].map(([, kind, name]) => `${kind}.${name}`);
    for (const [, target] of alloy.matchAll(/forward_to\s+= \[([\w.]+)\.receiver\]/g)) expect(parts).toContain(target);
    expect(alloy.split("{").length).toBe(alloy.split("}").length);
  });
});

interface ShownPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

describe("the dashboard", () => {
  const dashboard = JSON.parse(read("grafana/steward.json"));
  const panels: readonly ShownPanel[] = dashboard.panels;

  it("has panels with unique ids that do not overlap", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { type, targets = [] } of panels) {
      expect(targets.length > 0).toBe(type !== "row");
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
    expect(dashboard.templating.list.map(({ name }: { name: string }) => name)).toEqual(["datasource", "instance"]);
  });

  withTools("has queries that Prometheus understands", async () => {
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const rules = queries.map((expr, index) => ({
      record: `panel:query:${index}`,
      expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*"),
    }));
    const path = workspace.path("dashboard.yml");
    const check = async (all: readonly unknown[]) => {
      writeFileSync(path, stringify({ groups: [{ name: "dashboard", rules: all }] }));
      return runProgram(workspace, [promtool, "check", "rules", path]);
    };
    expect(await check(rules)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${queries.length} rules found`),
    });
    expect((await check([{ record: "wrong", expr: "sum by (" }])).code).not.toBe(0);
  });
});
