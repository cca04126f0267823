import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createForwarder, type Forwarder, type ForwardLimits } from "#transports/otlp/forward.ts";
import { type OtlpProtocol, type OtlpReceiver, startOtlpReceiver } from "./support/otlp-receiver.ts";
import { createBatches } from "./support/span-load.ts";
import { until } from "./support/until.ts";

let receiver: OtlpReceiver | undefined;
let forwarder: Forwarder | undefined;
afterEach(async () => {
  await forwarder?.close();
  await receiver?.close();
});

const batches = createBatches();

async function start(protocol: OtlpProtocol, address: string, limits: Partial<ForwardLimits> = {}) {
  const counts = { exported: 0, dropped: 0 };
  const events: string[] = [];
  forwarder = await createForwarder({
    url: protocol === "http" ? `${address}/v1/traces` : address,
    protocol,
    onSpans(result, count) {
      counts[result] += count;
    },
    onLost: () => void events.push("lost"),
    onBack: () => void events.push("back"),
    limits: { pauseMs: 5, calmMs: 0, ...limits },
  });
  return { forwarder, counts, events };
}

const protocols: readonly OtlpProtocol[] = ["http", "grpc"];

it.each(protocols)("forwards requests as they are over %s", async (protocol) => {
  receiver = await startOtlpReceiver(protocol);
  const { url, bytes, spans } = receiver;
  const { forwarder: passing, counts, events } = await start(protocol, url);
  const bodies = [batches.next(), batches.next(), batches.next()];
  for (const body of bodies) passing.forward(body, batches.spans);
  await until("all spans", () => (spans().length === 3 * batches.spans ? true : undefined));
  expect(bytes().equals(Buffer.concat(bodies))).toBe(true);
  await until("the count", () => (counts.exported === 3 * batches.spans ? true : undefined));
  expect([counts.dropped, events]).toEqual([0, []]);
});

it.each(protocols)(
  "drops and counts what a collector refuses over %s, and continues when it takes some again",
  async (protocol) => {
    receiver = await startOtlpReceiver(protocol);
    const { url, refuse } = receiver;
    refuse(true);
    const body = batches.next();
    const limits = { attempts: 1, waitingBytes: 2 * body.length };
    const { forwarder: passing, counts, events } = await start(protocol, url, limits);
    // Two wait, and there is no space for more.
    for (let count = 0; count < 5; count += 1) passing.forward(body, 1);
    expect(counts.dropped).toBe(3);
    await until("all dropped", () => counts.dropped === 5 || undefined);
    expect([counts.exported, events]).toEqual([0, ["lost"]]);
    refuse(false);
    passing.forward(body, 1);
    await until("a span", () => counts.exported > 0 || undefined);
    expect(events).toEqual(["lost", "back"]);
  },
);

it("drops what waits when it is closed, without waiting for a collector that keeps silent", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const { forwarder: passing, counts } = await start("http", `http://127.0.0.1:${port}`, { closeMs: 10 });
  for (let count = 0; count < 3; count += 1) passing.forward(batches.next(), 1);
  await passing.close();
  passing.forward(batches.next(), 1);
  // The first is on its way.
  expect(counts).toEqual({ exported: 0, dropped: 3 });
  silent.close();
});
