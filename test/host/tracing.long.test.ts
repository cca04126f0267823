import { afterAll, beforeAll, expect, it } from "vitest";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../process/support/otlp-receiver.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const traceOf = (digit: string): string => digit.repeat(32);
const parent = "b7ad6b7169203331";

describeOnHost("traces of a host", (session) => {
  let receiver: OtlpReceiver;
  let service: RunningService;

  beforeAll(async () => {
    receiver = await startOtlpReceiver("http");
    service = await session.host.startService({
      config: `updates: { backend: packages }\ntracing: { endpoint: "${receiver.url}" }\n`,
      env: { STEWARD_RATE_LIMITS: "off" },
    });
  });
  afterAll(() => receiver?.close());

  const post = async (path: string, trace: string, headers = {}): Promise<Response> =>
    fetch(`${service.url}/api/v1${path}`, {
      method: "POST",
      body: "{}",
      headers: {
        "X-API-Key": service.adminKey,
        "Content-Type": "application/json",
        traceparent: `00-${trace}-${parent}-01`,
        ...headers,
      },
    });
  /** The spans of a trace, once those of these names are among them. */
  const spansUntil = async (trace: string, ...last: readonly string[]): Promise<readonly ReceivedSpan[]> => {
    const spans = () => receiver.spans().filter(({ traceId }) => traceId === trace);
    await eventually(() => {
      expect(spans().map(({ name }) => name)).toEqual(expect.arrayContaining([...last]));
      return Promise.resolve();
    });
    return spans();
  };
  const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
    const found = spans.find((span) => span.name === name);
    if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(", ")}`);
    return found;
  };

  it("have the calls over the system bus that a request leads to", async () => {
    const trace = traceOf("1");
    expect((await post("/system/services/cron/restart", trace)).status).toBe(200);
    const spans = await spansUntil(trace, "POST /api/v1/system/services/{name}/restart");
    const request = named(spans, "POST /api/v1/system/services/{name}/restart");
    expect(named(spans, "org.freedesktop.systemd1.Manager/RestartUnit")).toMatchObject({
      kind: "client",
      parentSpanId: request.spanId,
      isFailed: false,
      attributes: {
        "rpc.system": "dbus",
        "rpc.service": "org.freedesktop.systemd1.Manager",
        "rpc.method": "RestartUnit",
      },
    });
    // What the service asks the bus by itself is in no trace.
    expect(
      receiver
        .spans()
        .filter(({ parentSpanId }) => parentSpanId === "")
        .map(({ kind }) => kind),
    ).not.toContain("client");
  });

  it("have the operation that a request began, with its commands, from a process of its own", async () => {
    const packages = [
      { name: "traced", version: "1.0", place: "main" },
      { name: "traced", version: "1.1", place: "main" },
    ] as const;
    await makePackageSources(session, packages);
    await session.shell(`dpkg -i ${packageFile(packages[0])} >/dev/null 2>&1`);
    const trace = traceOf("2");
    const answer = await post("/updates/apply", trace);
    expect(await answer.json()).toMatchObject({ success: true, packages_updated: 1 });
    const spans = await spansUntil(trace, "operation updates.apply", "POST /api/v1/updates/apply");
    const request = named(spans, "POST /api/v1/updates/apply");
    const operation = named(spans, "operation updates.apply");
    expect(request).toMatchObject({ kind: "server", parentSpanId: parent });
    expect(operation).toMatchObject({
      kind: "internal",
      parentSpanId: request.spanId,
      isFailed: false,
      attributes: { "steward.operation.kind": "updates.apply", "steward.operation.outcome": "done" },
    });
    expect(operation.resource["process.pid"]).not.toBe(request.resource["process.pid"]);
    // By root's process, and from there to the unit in which packages change.
    expect(named(spans, "systemd-run")).toMatchObject({ attributes: { "process.exit.code": 0 } });
    const commands = spans.filter(({ parentSpanId }) => parentSpanId === operation.spanId);
    expect(commands.map(({ name }) => name)).toContain("apt-get");
    // What the bus reports of units is asked for all the time, and for nobody.
    expect(spans.map(({ name }) => name)).not.toContain("org.freedesktop.DBus.Properties/Get");
    for (const { resource } of commands) expect(resource["process.pid"]).toBe(operation.resource["process.pid"]);
  });
});
