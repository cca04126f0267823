import { beforeAll, expect, it } from "vitest";
import type { TraceSummary } from "#contract/traces.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

/** Sends traces of one span, 4 KiB each, to a port: so many, with ids that begin like this, of a service. */
const sender = `
import json, sys, urllib.request
port, count, first, service = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
for start in range(0, count, 100):
    spans = [{"traceId": first + "%030x" % (at + 1), "spanId": "%016x" % (at + 1), "name": "x", "startTimeUnixNano": "1800000000000000000",
      "attributes": [{"key": "text", "value": {"stringValue": "x" * 4000}}]} for at in range(start, min(count, start + 100))]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()
    request = urllib.request.Request("http://127.0.0.1:%s/v1/traces" % port, body, {"content-type": "application/json"})
    urllib.request.urlopen(request).read()
`;

describeOnHost("traces that users of the host send to the installed service", (session) => {
  const port = 14_318;
  const send = (user: string, count: number, first: string, service: string) =>
    session.host.exec(
      ["runuser", "-u", user, "--", "python3", "/srv/send.py", String(port), String(count), first, service],
      { timeoutMs: 60_000 },
    );

  beforeAll(async () => {
    await session.host.writeFile("/srv/send.py", sender, 0o644);
    await session.host.startService({
      config: `updates: { enabled: false }\ntracing: { keep: 1MiB, ports: { grpc: 14317, http: ${port} } }\n`,
      env: { STEWARD_RATE_LIMITS: "off" },
    });
    await session.service.restart();
  });

  it("are marked as received, and a flood of one user pushes out no others", async () => {
    await eventually(async () => expect(await session.service.logs()).toContain("receiving traces"));
    await send("root", 5, "aa", "backup");
    await send("daemon", 5, "bb", "app");
    await session.api.getSystemInfo();
    // Fifty times the space, by the name of the service.
    await send("nobody", 12_000, "cc", "steward");
    const list = async (query: object): Promise<readonly TraceSummary[]> =>
      (await session.api.listTraces({ query: { limit: 1000, ...query } })).traces;
    expect(await list({ service: "backup" })).toHaveLength(5);
    expect(await list({ service: "app" })).toHaveLength(5);
    const own = await list({ origin: "own" });
    expect(own.map(({ name }) => name)).toContain("GET /api/v1/system/info");
    expect(own.filter(({ trace_id: id }) => id.startsWith("cc"))).toEqual([]);
    const flood = (await list({ service: "steward" })).filter(({ trace_id: id }) => id.startsWith("cc"));
    expect(flood.length).toBeGreaterThan(10);
    expect(new Set(flood.map(({ origin }) => origin))).toEqual(new Set(["received"]));
  });
});
