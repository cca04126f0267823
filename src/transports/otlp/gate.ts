import type { Socket } from "node:net";

/** Who sends: the number of a user, or one for all whom the kernel does not name. */
export type Peer = number;

/** Nobody that the kernel names. */
export const unknownPeer: Peer = -2;

/** Served at the same time, the connections of one receiver, and waiting for their turn. */
const mostActive = 32;
const mostWaiting = 256;
/** How often it is looked whether one that is served can make way. */
const tickMs = 500;
/** A connection on which nothing came for so long makes way, and one that has had so long a turn. */
const idleMs = 5_000;
const turnMs = 30_000;

interface Active {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly sinceMs: number;
  bytes: number;
  /** When something came, as far as it was looked. */
  movedMs: number;
}

/** Lets only so many connections be served; the others are open and wait, which costs a socket and nothing else. */
export interface Gate {
  /** Takes a connection that nothing has been read of. */
  readonly connect: (socket: Socket) => void;
  readonly close: () => void;
}

export interface GateOptions {
  readonly peerOf: (socket: Socket) => Promise<Peer>;
  /** Serves a connection. */
  readonly admit: (socket: Socket, peer: Peer) => void;
  readonly limits?: { readonly active: number; readonly waiting: number };
}

function countBy(list: Iterable<{ readonly peer: Peer }>): Map<Peer, number> {
  const counts = new Map<Peer, number>();
  for (const { peer } of list) counts.set(peer, (counts.get(peer) ?? 0) + 1);
  return counts;
}

/** Whoever has the most of something; undefined where nobody has any. */
const largest = (counts: ReadonlyMap<Peer, number>): Peer | undefined =>
  [...counts].reduce<readonly [Peer | undefined, number]>(
    (most, each) => (each[1] > most[1] ? each : most),
    [undefined, 0],
  )[0];

/**
 * Makes a gate. Whoever has the fewest connections is next, and while somebody waits, connections make way: of a peer that has
 * more than those who wait, and any that is idle or has had its turn. An exporter whose connection is closed opens another one.
 */
export function createGate({ peerOf, admit, limits }: GateOptions): Gate {
  const { active: most = mostActive, waiting: waitingMost = mostWaiting } = limits ?? {};
  const active = new Map<Socket, Active>();
  let waiting: { readonly socket: Socket; readonly peer: Peer }[] = [];
  /** Of whom it is not known yet who they are. */
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

  /** Closes one connection for the sake of who waits. */
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
    connect(socket) {
      socket.on("error", () => socket.destroy());
      // A flood is not looked up one by one.
      if (isClosed || arriving.size >= waitingMost) {
        socket.destroy();
        return;
      }
      arriving.add(socket);
      void enter(socket);
    },
    close() {
      isClosed = true;
      clearInterval(timer);
      for (const socket of [...arriving, ...waiting.map((each) => each.socket), ...active.keys()]) socket.destroy();
      waiting = [];
    },
  };
}
