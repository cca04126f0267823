import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const directory = "/etc/steward-observability";
const steward = installedPrograms.join(" ");

const settings = [
  "listen: 127.0.0.1:8470",
  "metrics: { public: never }",
  // The alerts are those of Prometheus here.
  "alerts: { local: off }",
  "notifications:",
  '  email: { smtp: "smtp://127.0.0.1:2525", from: steward@example.org, to: [ops@example.org] }',
  "",
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
  const get = async <T>(path: string): Promise<T> => {
    const answer = JSON.parse(await session.shell(`curl -sS 'http://127.0.0.1:9090${path}'`)) as { data: T };
    return answer.data;
  };
  const targets = async (): Promise<readonly Target[]> =>
    (await get<{ activeTargets: readonly Target[] }>("/api/v1/targets")).activeTargets;
  beforeAll(async () => {
    await session.host.startService({ config: settings, env: { STEWARD_RATE_LIMITS: "off" } });
    await session.shell(`${steward} observability init ${directory}`);
    // What the command says is left to do.
    await session.shell(`install -m 640 -g prometheus /dev/null ${directory}/prometheus/steward.key`);
    await session.shell(`${steward} keys create prometheus --scope metrics:read > ${directory}/prometheus/steward.key`);
    await session.shell(`install -m 640 -g prometheus /dev/null ${directory}/alertmanager/paging-url`);
    await session.host.writeFile(`${directory}/alertmanager/paging-url`, "http://127.0.0.1:2526/page");
    await session.shell(`chown root:prometheus ${directory}/alertmanager/paging-url`);
    await session.shell(`cp -r ${directory}/systemd/. /etc/systemd/system/ && systemctl daemon-reload`);
  });

  it("observability init writes files that its programs and systemd accept, and never twice", async () => {
    const scrape = await session.host.readFile(`${directory}/prometheus/prometheus.yml`);
    expect(scrape).toContain('instance: "steward-testhost"');
    const routing = await session.host.readFile(`${directory}/alertmanager/alertmanager.yml`);
    expect(routing).toContain('smtp_smarthost: "127.0.0.1:2525"');
    expect(routing).toContain('to: "ops@example.org"');
    await session.shell(`promtool check config ${directory}/prometheus/prometheus.yml`);
    await session.shell(`amtool check-config ${directory}/alertmanager/alertmanager.yml`);
    await session.shell(
      "systemd-analyze --man=no verify prometheus.service prometheus-alertmanager.service prometheus-node-exporter.service",
    );
    // A second time would write over what has been changed since.
    const again = await session.host.exec(["sh", "-c", `${steward} observability init ${directory}`], {
      allowFailure: true,
    });
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("it is there already") });
  });

  it("Prometheus scrapes the host, and the service with its key alone", async () => {
    // Once a second, and not four times a minute.
    await session.shell(`sed -i -e 's/15s/1s/' ${directory}/prometheus/prometheus.yml`);
    const config = `${directory}/prometheus/prometheus.yml`;
    await session.host.writeFile(config, `${await session.host.readFile(config)}${wrongKeyJob}`);
    await session.shell("systemctl start prometheus-node-exporter prometheus-alertmanager prometheus");
    await eventually(async () => {
      expect(Object.fromEntries((await targets()).map(({ labels, health }) => [labels.job, health]))).toEqual({
        steward: "up",
        node: "up",
        "steward-wrong-key": "down",
      });
    });
    const wrong = (await targets()).find(({ labels }) => labels.job === "steward-wrong-key");
    expect(wrong?.lastError).toContain("401 Unauthorized");
    const status = "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:8470/metrics";
    expect(await session.shell(status)).toBe("401");
    const key = (await session.host.readFile(`${directory}/prometheus/steward.key`)).trim();
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

  it("dashboard and rules use only metrics that the service or node_exporter has", async () => {
    const key = (await session.host.readFile(`${directory}/prometheus/steward.key`)).trim();
    const reported = new Set(
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
    expect(names.filter((name) => !reported.has(name))).toEqual([]);
  });
});
