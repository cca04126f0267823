import { describe, expect, it } from "vitest";
import type { AlertingSettings, ProbeEntry } from "./alerting-settings.ts";
import { alertEvaluator, probeFaults, probeTargets } from "./probes.ts";

const settings = (...list: readonly ProbeEntry[]): AlertingSettings => ({ probes: { list: [...list] } });
const faultsOf = (given: AlertingSettings): readonly string[] =>
  probeFaults(given, (path, message) => ({ source: "test", path: path.join("."), message })).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe("settings of probes", () => {
  it("have timeouts in milliseconds, and defaults", () => {
    const given = settings(
      { name: "site", http: "https://example.org/", statuses: [200, 401], timeout: "1500ms", certificate_days: 14 },
      { name: "db", tcp: "[::1]:5432" },
      { name: "zone", dns: "www.example.org", timeout: "2s" },
      { name: "web", unit: "nginx.service" },
      { name: "traces", collector: "http://127.0.0.1:4318" },
      { name: "prom", prometheus: "https://prom.example.org", ca_file: "/etc/ca.pem", timeout: "9s" },
    );
    expect(faultsOf(given)).toEqual([]);
    expect(probeTargets(given)).toEqual([
      {
        name: "site",
        target: {
          kind: "http",
          url: "https://example.org/",
          timeoutMs: 1500,
          statuses: [200, 401],
          certificateDays: 14,
        },
      },
      { name: "db", target: { kind: "tcp", host: "::1", port: 5432, timeoutMs: 5000 } },
      { name: "zone", target: { kind: "dns", hostname: "www.example.org", timeoutMs: 2000 } },
      { name: "web", target: { kind: "unit", unit: "nginx.service" } },
      { name: "traces", target: { kind: "collector", url: "http://127.0.0.1:4318", timeoutMs: 5000 } },
      {
        name: "prom",
        target: { kind: "prometheus", url: "https://prom.example.org", timeoutMs: 9000, caFile: "/etc/ca.pem" },
      },
    ]);
    expect(probeTargets({})).toEqual([]);
  });

  it.each<[ProbeEntry, string]>([
    [{ name: "a" }, "name: needs exactly one of http, tcp, unit, collector, prometheus, dns"],
    [{ name: "a", tcp: "a:1", unit: "a.service" }, "name: needs exactly one of"],
    [{ name: "ops", tcp: "a:1" }, "name: ops is a component of the service itself"],
    [{ name: "a", tcp: "5432" }, "tcp: must be host:port"],
    [{ name: "a", http: "example.org" }, "http: must be an address"],
    [{ name: "a", http: "file:///etc/passwd" }, "http: must be an address"],
    [{ name: "a", http: "http://u:p@example.org" }, "http: cannot contain a user name or a password"],
    [{ name: "a", collector: "grpc://x" }, "collector: must be an address"],
    [{ name: "a", tcp: "a:1", statuses: [200] }, "statuses: can be given only with http"],
    [{ name: "a", tcp: "a:1", timeout: "10s" }, "timeout: must not be longer than 9s"],
    [{ name: "a", http: "https://a", ca_file: "ca.pem" }, "ca_file: must be an absolute path"],
    [{ name: "a", http: "http://a", ca_file: "/ca.pem" }, "ca_file: can be given only for an https address"],
    [{ name: "a", http: "http://a", certificate_days: 3 }, "certificate_days: can be given only for an https address"],
  ])("are refused: %j", (entry, fault) => {
    expect(faultsOf(settings(entry))).toEqual([expect.stringContaining(`probes.list.0.${fault}`)]);
  });

  it("are refused with the same name twice", () => {
    expect(faultsOf(settings({ name: "a", tcp: "a:1" }, { name: "a", tcp: "b:1" }))).toEqual([
      "probes.list.1.name: there is another component a",
    ]);
  });
});

describe("the evaluator of alerts", () => {
  const prometheus = settings({ name: "p", prometheus: "http://127.0.0.1:9090" });
  it.each([
    ["steward", {}],
    ["steward", { alerts: { local: "auto" } }],
    ["prometheus", prometheus],
    ["prometheus", { ...prometheus, alerts: { local: "auto" } }],
    ["steward", { ...prometheus, alerts: { local: "on" } }],
    ["prometheus", { ...prometheus, alerts: { local: "off" } }],
    ["nobody", { alerts: { local: "off" } }],
  ] as const)("is %s with %j", (evaluator, given: AlertingSettings) => {
    expect(alertEvaluator(given)).toBe(evaluator);
  });
});
