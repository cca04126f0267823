import type { Socket } from "node:net";
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { type Peer, unknownPeer } from "./gate.ts";
import {
  createRoom,
  maxBodyBytes,
  maxReading,
  type RefusalKind,
  type SocketServer,
  type Space,
  type TakeTraces,
  TracesRefused,
  takenReply,
} from "./receiver.ts";

const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const maxStreams = 8;
const maxHeaderBytes = 16 * 1024;
const pingMs = 60_000;
/** Connections without requests are closed; exporters open new ones. */
const idleMs = 300_000;

const codeOf: Readonly<Record<RefusalKind, status>> = {
  malformed: status.INVALID_ARGUMENT,
  too_large: status.RESOURCE_EXHAUSTED,
  overloaded: status.UNAVAILABLE,
  failed: status.INTERNAL,
};

interface Connection {
  readonly socket: Socket;
  readonly peer: Peer;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const overloaded = "too many traces at the same time";

/**
 * Bounds the bodies that arrive at a time: the library buffers each, and reports its size only at the end. A body that does not
 * arrive in time costs the connection, which frees the memory.
 */
function limitReading(readingMs: number, connections: ReadonlyMap<string, Connection>): ServerInterceptor {
  const places = createRoom(maxReading);
  return (_, call) =>
    new ServerInterceptingCall(call, {
      start(next) {
        const connection = connections.get(call.getPeer());
        const { peer = unknownPeer } = connection ?? {};
        if (!places.take(peer, 1)) return call.sendStatus({ code: status.UNAVAILABLE, details: overloaded });
        let isReading = true;
        const late = setTimeout(() => connection?.socket.destroy(), readingMs).unref();
        const read = (): void => {
          if (!isReading) return;
          isReading = false;
          clearTimeout(late);
          places.give(peer, 1);
        };
        return next({
          onReceiveMessage(message, pass) {
            read();
            pass(message);
          },
          // However it ends.
          onCancel: read,
        });
      },
    });
}

/** Serves OTLP over gRPC on given sockets. To be imported only when there is one. */
export function createGrpcReceiver(ports: {
  readonly take: TakeTraces;
  readonly space: Space;
  readonly readingMs: number;
}): SocketServer {
  const { take, space, readingMs } = ports;
  const connections = new Map<string, Connection>();
  const server = new Server({
    interceptors: [limitReading(readingMs, connections)],
    "grpc.max_receive_message_length": maxBodyBytes,
    "grpc.max_concurrent_streams": maxStreams,
    "grpc.max_metadata_size": maxHeaderBytes,
    "grpc.keepalive_time_ms": pingMs,
    "grpc.max_connection_idle_ms": idleMs,
    "grpc.enable_channelz": 0,
  });
  const definition = {
    path: method,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  } as const;
  const answerCall = async (bytes: Buffer, peer: Peer): Promise<Buffer> => {
    if (!space.take(peer, bytes.length)) throw new TracesRefused("overloaded", overloaded);
    try {
      return takenReply(await take({ bytes, format: "protobuf", isGzip: false, peer }));
    } finally {
      space.give(peer, bytes.length);
    }
  };
  server.addService(
    { Export: definition },
    {
      Export(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
        answerCall(call.request, connections.get(call.getPeer())?.peer ?? unknownPeer).then(
          (reply) => answer(null, reply),
          (error: unknown) => {
            const refusal = error instanceof TracesRefused ? error : new TracesRefused("failed", "cannot keep traces");
            answer({ code: codeOf[refusal.kind], details: refusal.message });
          },
        );
      },
    },
  );
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    accept(socket, peer) {
      // The library's name of the peer.
      const name = `${socket.remoteAddress}:${socket.remotePort}`;
      connections.set(name, { socket, peer });
      socket.once("close", () => connections.delete(name));
      injector.injectConnection(socket);
      socket.resume();
    },
    close() {
      injector.destroy();
      server.forceShutdown();
    },
  };
}
