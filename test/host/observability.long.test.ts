import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { driver, installedPrograms } from "./program.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import { type Received, receivers } from "./support/observability.ts";
import { describeOnHost } from "./support/session.ts";

const folder = "/etc/steward-observability";
const steward = installedPrograms.join(" ");
/** Says that it hangs, not that the machine is busy. */
const patienceMs = 200_000;

const settings = [
  "listen: 127.0.0.1:8470",
  "metrics: { public: never }",
  // The alerts are those of Prometheus here.
  "alerts: { local: off }",
  "notifications:",
  `  email: { smtp: "smtp://127.0.0.1:${receivers.smtpPort}", from: steward@example.org, to: [ops@example.org] }`,
  "",
].join("\n");

/** Only in the copy of this test: minutes become seconds, and of memory so much is used as can be had without harm. */
const shorten = (memoryPercent: number): string =>
  [
    `sed -i -e 's/for: [15]m/for: 3s/' -e 's/\\[1m\\]/[5s]/' -e 's/> 85/> ${memoryPercent}/' ${folder}/prometheus/steward-alerts.yml`,
    `sed -i -e 's/15s/1s/' ${folder}/prometheus/prometheus.yml`,
    `sed -i -e 's/group_wait: 30s/group_wait: 1s/' -e 's/group_interval: 5m/group_interval: 2s/' ${folder}/alertmanager/alertmanager.yml`,
  ].join("\n");

/** A second job that differs in its key alone. */
const wrongKeyJob = `
  - job_name: steward-wrong-key
    authorization:
      credentials: stw_wrong
    static_configs:
      - targets: ["127.0.0.1:8470"]
`;

interface Target {
  readonly labels: { readonly job: string; readonly instance: string };
  readonly health: string;
  readonly lastError: string;
}

describeOnHost("the observability stack", { privateNetwork: true }, (session) => {
  let service: RunningService;

  const get = async <T>(path: string): Promise<T> => {
    const answer = JSON.parse(await session.shell(`curl -sS 'http://127.0.0.1:9090${path}'`)) as { data: T };
    return answer.data;
  };
  const targets = async (): Promise<readonly Target[]> =>
    (await get<{ activeTargets: readonly Target[] }>("/api/v1/targets")).activeTargets;
  const received = async (): Promise<readonly Received[]> =>
    (await session.host.readFile(receivers.file))
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Received => JSON.parse(line));
  const mails = async () => (await received()).flatMap((each) => (each.by === "mail" ? [each] : []));
  const pages = async () => (await received()).flatMap((each) => (each.by === "webhook" ? [each] : []));
  const memoryPercent = async (): Promise<number> => {
    const text = await session.host.readFile("/proc/meminfo");
    const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
    return 100 * (1 - figure("MemAvailable") / figure("MemTotal"));
  };

  let memoryLimit = 100;
  beforeAll(async () => {
    service = await session.host.startService({ config: settings, env: { STEWARD_RATE_LIMITS: "off" } });
    await session.shell(`${steward} observability init ${folder}`);
    // What the command says is left to do.
    await session.shell(`install -m 640 -g prometheus /dev/null ${folder}/prometheus/steward.key`);
    await session.shell(`${steward} keys create prometheus --scope metrics:read > ${folder}/prometheus/steward.key`);
    await session.shell(`install -m 640 -g prometheus /dev/null ${folder}/alertmanager/paging-url`);
    await session.host.writeFile(`${folder}/alertmanager/paging-url`, `http://127.0.0.1:${receivers.webhookPort}/page`);
    await session.shell(`chown root:prometheus ${folder}/alertmanager/paging-url`);
    await session.shell(`cp -r ${folder}/systemd/. /etc/systemd/system/ && systemctl daemon-reload`);
  });

  it("is written filled in, and its programs and systemd accept it", async () => {
    const scrape = await session.host.readFile(`${folder}/prometheus/prometheus.yml`);
    expect(scrape).toContain('instance: "steward-testhost"');
    const routing = await session.host.readFile(`${folder}/alertmanager/alertmanager.yml`);
    expect(routing).toContain(`smtp_smarthost: "127.0.0.1:${receivers.smtpPort}"`);
    expect(routing).toContain('to: "ops@example.org"');
    await session.shell(`promtool check config ${folder}/prometheus/prometheus.yml`);
    await session.shell(`amtool check-config ${folder}/alertmanager/alertmanager.yml`);
    await session.shell(
      "systemd-analyze --man=no verify prometheus.service prometheus-alertmanager.service prometheus-node-exporter.service",
    );
    // A second time would write over what has been changed since.
    const again = await session.host.exec(["sh", "-c", `${steward} observability init ${folder}`], {
      allowFailure: true,
    });
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("it is there already") });
  });

  it("scrapes the service with its key alone, and the host", { timeout: 500_000 }, async () => {
    memoryLimit = Math.ceil(await memoryPercent()) + 3;
    await session.shell(shorten(memoryLimit));
    const config = `${folder}/prometheus/prometheus.yml`;
    await session.host.writeFile(config, `${await session.host.readFile(config)}${wrongKeyJob}`);
    await session.shell(`systemd-run --quiet --unit=receivers ${driver("run-receivers").join(" ")}`);
    await session.shell("systemctl start prometheus-node-exporter prometheus-alertmanager prometheus");
    await eventually(async () => {
      expect(Object.fromEntries((await targets()).map(({ labels, health }) => [labels.job, health]))).toEqual({
        steward: "up",
        node: "up",
        "steward-wrong-key": "down",
      });
    }, patienceMs);
    const wrong = (await targets()).find(({ labels }) => labels.job === "steward-wrong-key");
    expect(wrong?.lastError).toContain("401 Unauthorized");
    const status = "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:8470/metrics";
    expect(await session.shell(status)).toBe("401");
    const key = (await session.host.readFile(`${folder}/prometheus/steward.key`)).trim();
    expect(await session.shell(`${status} -H 'Authorization: Bearer ${key}'`)).toBe("200");
    // It is good for nothing else.
    const services = "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:8470/api/v1/system/services";
    expect(await session.shell(`${services} -H 'Authorization: Bearer ${key}'`)).toBe("403");
    const listening = await session.shell("ss -Hltn | awk '{print $4}'");
    expect(
      listening
        .trim()
        .split("\n")
        .filter((address) => !/^(127\.|\[::1\])/.test(address)),
    ).toEqual([]);
  });

  it("shows nothing that neither the service nor node_exporter tells", async () => {
    const key = (await session.host.readFile(`${folder}/prometheus/steward.key`)).trim();
    const told = new Set(
      [
        ...(
          await session.shell(
            `curl -sS -H 'Authorization: Bearer ${key}' http://127.0.0.1:8470/metrics; curl -sS http://127.0.0.1:9100/metrics`,
          )
        ).matchAll(/^# TYPE (\w+) /gm),
      ].map(([, name = ""]) => name),
    );
    const shown = ["grafana/steward.json", "prometheus/steward-alerts.yml"].flatMap((name) => [
      ...readFileSync(new URL(`../../deploy/observability/${name}`, import.meta.url), "utf8").matchAll(
        /\b(?:svc|process|node)_\w+(?=\{)/g,
      ),
    ]);
    const names = [...new Set(shown.map(([name]) => name.replace(/_bucket$/, "")))];
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !told.has(name))).toEqual([]);
  });

  it("tells by mail of busy processors and used memory, and pages of a full disk", { timeout: 500_000 }, async () => {
    expect(await pages()).toEqual([]);
    // Work that runs where nothing else wants to, so that the machine that the tests share stays as quick as it was.
    const unit = "systemd-run --quiet --property=RuntimeMaxSec=300";
    const loops = "for n in $(seq $(nproc)); do while :; do :; done & done; wait";
    await session.shell(`${unit} --unit=busy --property=CPUSchedulingPolicy=idle sh -c '${loops}'`);
    // Others of the machine may have taken some, or given some back, since the limit was set.
    const share = Math.max(0.04, (memoryLimit + 6 - (await memoryPercent())) / 100);
    const hold = `const held = Buffer.alloc(require('os').totalmem() * ${share}, 1); setInterval(() => held[0], 1000)`;
    await session.shell(`${unit} --unit=holder ${installedPrograms[0]} -e "${hold}"`);
    // Room that is taken and never written to costs the machine none.
    const size = "df -B1 --output=used,avail / | awk 'NR == 2 {printf \"%.0f\", 0.94 * ($1 + $2) - $1}'";
    await session.shell(`fallocate -l $(${size}) /full`);
    await eventually(async () => {
      const subjects = (await mails()).map(({ raw }) => /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(raw)?.[1] ?? "");
      expect(subjects.join("\n")).toMatch(/FIRING:1[^\n]*HighCPUUsage/);
      expect(subjects.join("\n")).toMatch(/FIRING:1[^\n]*HighMemoryUsage/);
      expect((await pages()).map(({ body }) => body).join("\n")).toContain("FIRING: DiskSpaceLow (critical)");
    }, patienceMs);
    await session.shell("systemctl stop busy holder; rm /full");
    for (const mail of await mails()) {
      expect(mail.to).toEqual(["ops@example.org"]);
      expect(mail.raw).not.toMatch(/DiskSpaceLow|ServiceDown/);
    }
    for (const { path, body } of await pages()) {
      expect(path).toBe("/page");
      expect(body).not.toMatch(/HighCPUUsage|HighMemoryUsage/);
    }
    expect((await pages())[0]?.body).toContain("More than 90 % of the root file system is used on steward-testhost");
  });

  it("pages when the service is down, and when it is back", { timeout: 500_000 }, async () => {
    const bodies = async () => (await pages()).map(({ body }) => body).join("\n");
    expect(await bodies()).not.toContain("ServiceDown");
    await service.stop();
    await eventually(async () => expect(await bodies()).toContain("FIRING: ServiceDown (critical)"), patienceMs);
    await service.restart();
    await eventually(async () => expect(await bodies()).toContain("RESOLVED: ServiceDown (critical)"), patienceMs);
    expect((await mails()).map(({ raw }) => raw).join("\n")).not.toContain("ServiceDown");
  });
});
