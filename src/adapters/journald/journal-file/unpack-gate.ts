/**
 * Node aborts the whole process when a thread is ended between making a decompressor and setting it up. So a thread says when it
 * unpacks, and anyone who ends it waits for that: each writes its own place first and reads the other's then, so that one of them
 * always sees the other.
 */
export type UnpackGate = Int32Array<SharedArrayBuffer>;

const [isUnpacking, isEnding] = [0, 1];

export const createUnpackGate = (): UnpackGate =>
  new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));

let own: UnpackGate | undefined;

/** For all that this thread unpacks from now on. */
export function setUnpackGate(gate: UnpackGate): void {
  own = gate;
}

/** Unpacks while the thread is not ended. A thread that is being ended waits here for its end. */
export function unpacking<T>(work: () => T): T {
  const gate = own;
  if (gate === undefined) return work();
  for (;;) {
    Atomics.store(gate, isUnpacking, 1);
    if (Atomics.load(gate, isEnding) === 0) break;
    leave(gate);
    Atomics.wait(gate, isEnding, 1);
  }
  try {
    return work();
  } finally {
    leave(gate);
  }
}

function leave(gate: UnpackGate): void {
  Atomics.store(gate, isUnpacking, 0);
  Atomics.notify(gate, isUnpacking);
}

/** Ends a thread as soon as it does not unpack; nothing is unpacked in it from now on. */
export function endOutsideUnpacking(gate: UnpackGate, end: () => void): void {
  Atomics.store(gate, isEnding, 1);
  if (Atomics.load(gate, isUnpacking) === 0) end();
  else setTimeout(() => endOutsideUnpacking(gate, end), 1);
}

/** Waits at the end of the process, which ends its threads. @param maxWaitMs for all of them. */
export function closeGates(gates: Iterable<UnpackGate>, maxWaitMs: number): void {
  const untilMs = performance.now() + maxWaitMs;
  for (const gate of gates) {
    Atomics.store(gate, isEnding, 1);
    while (Atomics.load(gate, isUnpacking) === 1) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return;
      Atomics.wait(gate, isUnpacking, 1, leftMs);
    }
  }
}
