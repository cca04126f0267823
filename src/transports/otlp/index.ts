import { createServer, type Server } from "node:net";
import { errnoCode } from "#kernel/errors.ts";
import { createGate, type Gate, type GateOptions } from "./gate.ts";
import { createHttpReceiver } from "./http.ts";
import { createRoom, maxWaitingBytes, readingMs, type SocketServer, type TakeTraces } from "./receiver.ts";

export const otlpPorts = { grpc: 4317, http: 4318 } as const;
export type OtlpPorts = Readonly<Record<keyof typeof otlpPorts, number>>;

export class PortTaken extends Error {
  override readonly name = "PortTaken";
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const isTaken = errnoCode(error) === "EADDRINUSE";
      reject(
        isTaken ? new PortTaken(`cannot receive traces on ${host}:${port}: it is taken`, { cause: error }) : error,
      );
    });
    server.listen({ host, port }, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Errors where the host has no IPv6. */
const noSuchAddress: readonly unknown[] = ["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"];

/** Makes the server of a protocol with the first connection; after a failure the next connection tries again. */
function onDemand(make: () => Promise<SocketServer>, onTrouble: (error: unknown) => void): SocketServer {
  let made: Promise<SocketServer> | undefined;
  let isClosed = false;
  const get = (): Promise<SocketServer> => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      onTrouble(error);
      throw error;
    });
    return made;
  };
  return {
    accept(socket, peer) {
      // Until the server handles errors.
      const onError = (): void => void socket.destroy();
      socket.on("error", onError);
      get().then(
        (server) => {
          if (isClosed || socket.destroyed) return socket.destroy();
          server.accept(socket, peer);
          return socket.off("error", onError);
        },
        () => socket.destroy(),
      );
    },
    close() {
      isClosed = true;
      made?.then((server) => server.close()).catch(onTrouble);
    },
  };
}

export type Receivers = Awaited<ReturnType<typeof openReceivers>>;

/**
 * Receives traces over OTLP on loopback, from every local program. Each user has a share of connections and memory.
 * @throws PortTaken when another program has one of the ports; then none is open.
 */
export async function openReceivers(options: {
  readonly take: TakeTraces;
  readonly peerOf: GateOptions["peerOf"];
  readonly onTrouble: (error: unknown) => void;
  readonly ports?: OtlpPorts;
  readonly readingMs?: number;
  readonly connections?: GateOptions["limits"];
}) {
  const { take, peerOf, onTrouble, ports = otlpPorts, readingMs: bodyMs = readingMs, connections: limits } = options;
  const space = createRoom(maxWaitingBytes);
  const grpc = onDemand(async () => {
    const { createGrpcReceiver } = await import("./grpc.ts");
    return createGrpcReceiver({ take, space, readingMs: bodyMs });
  }, onTrouble);
  const http = createHttpReceiver({ take, space });
  const gates: Gate[] = [];
  const servers: Server[] = [];

  const listenOn = (host: string, port: number, gate: Gate, allowHalfOpen: boolean): Promise<number> => {
    const server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen }, gate.connect);
    servers.push(server);
    return listen(server, host, port);
  };
  /** Binds a port of loopback for IPv4, and IPv6 where there is any. */
  const bind = async (port: number, { accept: admit }: SocketServer, isHalfOpen: boolean): Promise<number> => {
    const gate = createGate({ peerOf, admit, ...(limits && { limits }) });
    gates.push(gate);
    const bound = await listenOn("127.0.0.1", port, gate, isHalfOpen);
    try {
      await listenOn("::1", bound, gate, isHalfOpen);
    } catch (error) {
      if (!noSuchAddress.includes(errnoCode(error))) throw error;
    }
    return bound;
  };
  const close = (): void => {
    for (const server of servers) server.close();
    for (const gate of gates) gate.close();
    grpc.close();
    http.close();
  };
  try {
    // An HTTP client may close its side before the answer.
    return { ports: { grpc: await bind(ports.grpc, grpc, false), http: await bind(ports.http, http, true) }, close };
  } catch (error) {
    close();
    throw error;
  }
}
