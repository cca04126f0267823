export interface FrameSink {
  readonly write: (bytes: Uint8Array) => void;
  /** Whether it should not get more before it has sent what it has. */
  readonly isFull: () => boolean;
}

/** What may wait for one client. Frames are shared by all clients, so stalled ones need little more memory than one. */
const outboxBounds = { frames: 4096, bytes: 2 * 1024 * 1024 } as const;

/** Frames are joined up to this size: one write costs more than the copy. */
const joinedBytes = 64 * 1024;

const totalBytes = (frames: readonly Uint8Array[]): number => {
  let bytes = 0;
  for (const frame of frames) bytes += frame.byteLength;
  return bytes;
};

/** Joins frames for a write, undefined where that is too big. The last result is kept: one list goes to many clients. */
export function createJoiner(): (frames: readonly Uint8Array[]) => Uint8Array | undefined {
  let last: { readonly frames: readonly Uint8Array[]; readonly joined: Uint8Array | undefined } | undefined;
  return (frames) => {
    const [first] = frames;
    if (frames.length === 1) return first;
    if (last?.frames === frames) return last.joined;
    last = { frames, joined: totalBytes(frames) > joinedBytes ? undefined : Buffer.concat(frames) };
    return last.joined;
  };
}

/** The bounded queue of one client. Past the bounds the oldest frames are dropped, and a frame with their number is sent. */
export function createOutbox(ports: {
  readonly sink: FrameSink;
  readonly join: (frames: readonly Uint8Array[]) => Uint8Array | undefined;
  readonly encodeDropped: (count: number) => Uint8Array;
  readonly onDropped: (count: number) => void;
  readonly bounds?: { readonly frames: number; readonly bytes: number };
}) {
  const { sink, join, encodeDropped, onDropped, bounds = outboxBounds } = ports;
  /** Starts at `head`; entries before it are cleared, so that they can be collected. */
  let queue: (Uint8Array | undefined)[] = [];
  let head = 0;
  let bytes = 0;
  /** Frames dropped before the head of the queue. */
  let lost = 0;

  const size = (): number => queue.length - head;

  const takeFirst = (): Uint8Array | undefined => {
    const frame = queue[head];
    if (frame === undefined) return undefined;
    queue[head] = undefined;
    head += 1;
    bytes -= frame.byteLength;
    if (head === queue.length || head >= bounds.frames) {
      queue = queue.slice(head);
      head = 0;
    }
    return frame;
  };

  const keep = (frames: readonly Uint8Array[], from: number): void => {
    for (const frame of from === 0 ? frames : frames.slice(from)) {
      queue.push(frame);
      bytes += frame.byteLength;
    }
    const before = lost;
    // A single frame over the bound is still sent.
    while (size() > bounds.frames || (bytes > bounds.bytes && size() > 1)) {
      takeFirst();
      lost += 1;
    }
    if (lost > before) onDropped(lost - before);
  };

  return {
    send: (frames: readonly Uint8Array[]) => {
      if (size() > 0 || lost > 0 || sink.isFull()) return keep(frames, 0);
      const joined = join(frames);
      if (joined !== undefined) return sink.write(joined);
      let at = 0;
      for (; at < frames.length && !sink.isFull(); at += 1) {
        const frame = frames[at];
        if (frame !== undefined) sink.write(frame);
      }
      if (at < frames.length) keep(frames, at);
    },
    /** Sends what waits; to be called when the sink has room again. */
    flush: (): void => {
      while (!sink.isFull()) {
        const batch: Uint8Array[] = [];
        if (lost > 0) batch.push(encodeDropped(lost));
        lost = 0;
        let total = 0;
        for (let frame = takeFirst(); frame !== undefined; frame = total < joinedBytes ? takeFirst() : undefined) {
          batch.push(frame);
          total += frame.byteLength;
        }
        const [first] = batch;
        if (first === undefined) return;
        sink.write(batch.length === 1 ? first : Buffer.concat(batch));
      }
    },
    isCongested: (): boolean => size() > 0 || lost > 0 || sink.isFull(),
  };
}
