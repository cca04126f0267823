import type { Socket } from "node:net";

/** The uid of a sender. */
export type Peer = number;

/** Of senders that the kernel does not name. */
export const unknownPeer: Peer = -2;

/** Connections of one receiver that are served at a time, and that wait. */
const mostActive = 32;
const mostWaiting = 256;
const tickMs = 500;
/** A connection is closed for a waiting one when idle for so long, or served for so long. */
const usualIdleMs = 5_000;
const turnMs = 30_000;

interface Active {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly sinceMs: number;
  bytes: number;
  /** When data came, as of the last check. */
  movedMs: number;
}

export type Gate = ReturnType<typeof createGate>;

export interface GateLimits {
  readonly active: number;
  readonly waiting: number;
  readonly idleMs?: number;
}

export interface GateOptions {
  readonly peerOf: (socket: Socket) => Promise<Peer>;
  readonly admit: (socket: Socket, peer: Peer) => void;
  readonly limits?: GateLimits;
}

function countBy(list: Iterable<{ readonly peer: Peer }>): Map<Peer, number> {
  const counts = new Map<Peer, number>();
  for (const { peer } of list) counts.set(peer, (counts.get(peer) ?? 0) + 1);
  return counts;
}

const largest = (counts: ReadonlyMap<Peer, number>): Peer | undefined =>
  [...counts].reduce<readonly [Peer | undefined, number]>(
    (most, each) => (each[1] > most[1] ? each : most),
    [undefined, 0],
  )[0];

/**
 * Bounds the connections that are served; others wait. The peer with the fewest comes next. While some wait, connections are
 * closed: of peers that have more than those who wait, and idle or long-served ones. Exporters open new ones.
 */
export function createGate({ peerOf, admit, limits }: GateOptions) {
  const { active: most = mostActive, waiting: waitingMost = mostWaiting, idleMs = usualIdleMs } = limits ?? {};
  const active = new Map<Socket, Active>();
  let waiting: { readonly socket: Socket; readonly peer: Peer }[] = [];
  const arriving = new Set<Socket>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const start = (socket: Socket, peer: Peer): void => {
    const nowMs = performance.now();
    active.set(socket, { socket, peer, sinceMs: nowMs, bytes: socket.bytesRead, movedMs: nowMs });
    socket.once("close", () => {
      active.delete(socket);
      next();
    });
    admit(socket, peer);
  };

  function next(): void {
    while (active.size < most && waiting.length > 0) {
      const counts = countBy(active.values());
      const first = waiting.reduce((one, other) =>
        (counts.get(other.peer) ?? 0) < (counts.get(one.peer) ?? 0) ? other : one,
      );
      waiting = waiting.filter((each) => each !== first);
      if (!first.socket.destroyed) start(first.socket, first.peer);
    }
    if (waiting.length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  const makeWay = (): void => {
    const nowMs = performance.now();
    for (const each of active.values()) {
      if (each.socket.bytesRead !== each.bytes) each.movedMs = nowMs;
      each.bytes = each.socket.bytesRead;
    }
    const counts = countBy(active.values());
    const fewest = Math.min(...waiting.map(({ peer }) => counts.get(peer) ?? 0));
    const canGo = ({ peer, sinceMs, movedMs }: Active): boolean =>
      (counts.get(peer) ?? 0) > fewest + 1 || nowMs - movedMs >= idleMs || nowMs - sinceMs >= turnMs;
    const byNeed = (one: Active, other: Active): number =>
      (counts.get(other.peer) ?? 0) - (counts.get(one.peer) ?? 0) || one.movedMs - other.movedMs;
    [...active.values()].filter(canGo).toSorted(byNeed)[0]?.socket.destroy();
  };

  const wait = (socket: Socket, peer: Peer): void => {
    waiting.push({ socket, peer });
    if (waiting.length > waitingMost) {
      const hog = largest(countBy(waiting));
      const last = waiting.findLast((each) => each.peer === hog);
      waiting = waiting.filter((each) => each !== last);
      last?.socket.destroy();
    }
    makeWay();
    timer ??= setInterval(makeWay, tickMs).unref();
  };

  const enter = async (socket: Socket): Promise<void> => {
    const peer = await peerOf(socket).catch(() => unknownPeer);
    arriving.delete(socket);
    if (isClosed) socket.destroy();
    if (socket.destroyed) return;
    if (active.size < most) start(socket, peer);
    else wait(socket, peer);
  };

  return {
    connect: (socket: Socket): void => {
      socket.on("error", () => socket.destroy());
      // Peers are not looked up during a flood.
      if (isClosed || arriving.size >= waitingMost) return void socket.destroy();
      arriving.add(socket);
      void enter(socket);
    },
    close: (): void => {
      isClosed = true;
      clearInterval(timer);
      for (const socket of [...arriving, ...waiting.map((each) => each.socket), ...active.keys()]) socket.destroy();
      waiting = [];
    },
  };
}
