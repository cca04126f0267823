import type { Socket } from "node:net";
import { createPeerLookup } from "#adapters/sockets/peers.ts";
import type { Config } from "#config/load.ts";
import { isOwnCollector, keepBytes, receiverPorts } from "#config/tracing.ts";
import type { TraceStore } from "#domain/ports/traces.ts";
import { errorSummary } from "#kernel/errors.ts";
import type { Logger } from "#telemetry/logger.ts";
import { onceAMinute } from "#telemetry/logger.ts";
import type { SpanResult } from "#telemetry/metrics.ts";
import { tracesUrl } from "#telemetry/tracing.ts";
import { createForwarder, type Forwarder } from "#transports/otlp/forward.ts";
import { type Peer, unknownPeer } from "#transports/otlp/gate.ts";
import { openReceivers, PortTaken } from "#transports/otlp/index.ts";
import type { ReceivedBody } from "#transports/otlp/receiver.ts";
import { createOwnTraces } from "./own-traces.ts";
import { createHostTraces, type HostTraces } from "./traces.ts";

/** In the sandbox the kernel names root, the service's user, and all others by one number. */
export function createPeers(): (socket: Socket) => Promise<Peer> {
  const lookup = createPeerLookup();
  return async (socket) => (await lookup(socket)) ?? unknownPeer;
}

interface Ports {
  readonly version: string;
  readonly log: Logger;
  readonly onSpans: (result: SpanResult, count: number) => void;
}

async function openForwarder(tracing: Config["settings"]["tracing"], ports: Ports): Promise<Forwarder | undefined> {
  const { endpoint, protocol = "http" } = tracing ?? {};
  if (endpoint === undefined) return undefined;
  const { log, onSpans } = ports;
  const { host: collector } = new URL(endpoint);
  return createForwarder({
    url: protocol === "http" ? tracesUrl(endpoint) : endpoint,
    protocol,
    onSpans,
    onLost: (error) => log.warn({ collector, reason: errorSummary(error) }, "cannot export received traces"),
    onBack: () => log.info({ collector }, "received traces are exported again"),
  });
}

async function receive(traces: HostTraces, forwarder: Forwarder | undefined, body: ReceivedBody, ports: Ports) {
  const { kept, rejected, reason, protobuf } = await traces.takeBody(body);
  ports.onSpans("kept", kept);
  if (rejected > 0) ports.onSpans("rejected", rejected);
  if (protobuf !== undefined) forwarder?.forward(protobuf, kept + rejected);
  return { rejected, message: reason };
}

export function createTraceParts({ settings, stateDir }: Pick<Config, "settings" | "stateDir">, ports: Ports) {
  const { log, onSpans, version } = ports;
  const { tracing = {} } = settings;
  const { endpoint, receiver = "auto" } = tracing;
  const onTrouble = onceAMinute(
    (message, aside) => log.warn({ reason: message, moved_aside: aside ?? null }, "cannot store traces"),
    () => performance.now(),
  );
  const traces = createHostTraces({
    stateDir,
    keepBytes: keepBytes(tracing),
    forwards: endpoint !== undefined,
    onTrouble,
  });
  const own =
    endpoint === undefined
      ? createOwnTraces({
          store: traces,
          version,
          onDropped: (spans) => onSpans("dropped", spans),
          onTrouble: (error) => onTrouble(errorSummary(error)),
        })
      : undefined;
  const closers: (() => void | Promise<void>)[] = [traces.close];

  /** Stores own spans first, so that answers have the latest ones. */
  const current = async <T>(work: () => Promise<T>): Promise<T> => {
    await own?.flush();
    return work();
  };

  return {
    store: {
      list: (query) => current(() => traces.list(query)),
      trace: (traceId) => current(() => traces.trace(traceId)),
    } satisfies Pick<TraceStore, "list" | "trace">,
    own,
    /** Opens the ports of the settings. @throws PortTaken with `receiver: on`. */
    open: async (): Promise<void> => {
      // The settings expect another collector on these ports.
      if (receiver === "off" || (receiver === "auto" && isOwnCollector(tracing))) return;
      const forwarder = await openForwarder(tracing, ports);
      try {
        const receivers = await openReceivers({
          take: (body) => receive(traces, forwarder, body, ports),
          peerOf: createPeers(),
          onTrouble: (error) => log.error({ err: error }, "receiver of traces failed"),
          ports: receiverPorts(tracing),
        });
        closers.push(...(forwarder === undefined ? [] : [() => forwarder.close()]), receivers.close);
        // A counter that starts at 0 has a rate from the start.
        onSpans("kept", 0);
        onSpans("rejected", 0);
        log.info(receivers.ports, "receiving traces");
      } catch (error) {
        await forwarder?.close();
        if (receiver === "on" || !(error instanceof PortTaken)) throw error;
        log.debug({ reason: error.message }, "cannot receive traces");
      }
    },
    close: async (): Promise<void> => {
      await own?.flush();
      for (const close of closers.toReversed()) await close();
    },
  };
}
