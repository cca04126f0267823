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

it.each(protocols)("passes requests on as they are over %s", async (protocol) => {
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

it.each(protocols)("drops and counts what nobody takes over %s, and goes on when somebody does", async (protocol) => {
  const first = await startOtlpReceiver(protocol);
  const { url, port } = first;
  await first.close();
  const body = batches.next();
  const {
    forwarder: passing,
    counts,
    events,
  } = await start(protocol, url, {
    attempts: 1,
    waitingBytes: 2 * body.length,
  });
  // Two wait, and there is no room for more.
  for (let count = 0; count < 5; count += 1) passing.forward(body, 1);
  expect(counts.dropped).toBe(3);
  await until("all dropped", () => (counts.dropped === 5 ? true : undefined), 60_000);
  expect([counts.exported, events]).toEqual([0, ["lost"]]);
  receiver = await startOtlpReceiver(protocol, port);
  await until(
    "a span",
    () => {
      if (counts.exported > 0) return true;
      passing.forward(body, 1);
      return undefined;
    },
    60_000,
  );
  expect(events).toEqual(["lost", "back"]);
});

it("drops what waits when it is closed, without waiting for a collector that is not there", async () => {
  const { forwarder: passing, counts } = await start("http", "http://127.0.0.1:9");
  for (let count = 0; count < 3; count += 1) passing.forward(batches.next(), 1);
  await passing.close();
  passing.forward(batches.next(), 1);
  await until("all dropped", () => (counts.dropped === 4 ? true : undefined), 30_000);
  expect(counts.exported).toBe(0);
});
