import { readSync } from "node:fs";
import { DamagedJournal } from "./damage.ts";

/**
 * Bytes of a block that is asked for by its number. Blocks overlap, so that an object which begins near the end of
 * one can still be read from it as a whole.
 */
const blockShift = 14;
const blockSize = 1 << blockShift;
const overlap = 4096;
const wordSize = 4;

interface View {
  bytes: Buffer;
  words: Uint32Array;
}

interface Block extends View {
  readonly evicted: () => void;
  length: number;
}

export interface BlockPool {
  /** Called before bytes of a file are read; what it throws ends the work for which they were wanted. */
  readonly beforeRead: () => void;
  readonly get: (key: number) => Block | undefined;
  readonly take: (key: number, evicted: () => void) => Block;
  readonly drop: (key: number) => void;
}

const keysPerFile = 2 ** 31;

/** What blocks are counted in, so that they and others share the memory. */
export interface BlockBudget {
  readonly room: () => number;
  readonly count: (bytes: number) => void;
}

const unbounded: BlockBudget = { room: () => Infinity, count: () => {} };

export function createBlockPool(
  maxBlocks: number,
  beforeRead: () => void = () => {},
  budget: BlockBudget = unbounded,
): BlockPool & { readonly nextFileKey: () => number; clear(): void } {
  const blocks = new Map<number, Block>();
  const free: View[] = [];
  let files = 0;
  const viewSize = blockSize + overlap;
  const newView = (): View => {
    budget.count(viewSize);
    const memory = new ArrayBuffer(viewSize);
    return { bytes: Buffer.from(memory), words: new Uint32Array(memory) };
  };
  const drop = (key: number): void => {
    const block = blocks.get(key);
    if (block === undefined) return;
    blocks.delete(key);
    block.evicted();
    free.push({ bytes: block.bytes, words: block.words });
  };
  const dropOldest = (): void => {
    const [oldest] = blocks.keys();
    if (oldest !== undefined) drop(oldest);
  };
  const release = (views: number): void => {
    free.length -= views;
    budget.count(-views * viewSize);
  };
  return {
    beforeRead,
    get: (key) => blocks.get(key),
    take(key, evicted) {
      const room = budget.room();
      if (blocks.size >= maxBlocks || (free.length === 0 && room < viewSize)) dropOldest();
      // Others have taken theirs: memory is given back by and by.
      if (room < 0) {
        dropOldest();
        if (free.length > 1) release(1);
      }
      const block = { ...(free.pop() ?? newView()), evicted, length: 0 };
      blocks.set(key, block);
      return block;
    },
    drop,
    nextFileKey() {
      files += 1;
      return files * keysPerFile;
    },
    clear() {
      for (const key of [...blocks.keys()]) drop(key);
      release(free.length);
    },
  };
}

export interface Blocks {
  /**
   * Brings bytes into `view`.
   * @returns the position in `view.bytes` of the byte at `offset`; divided by four, that in `view.words`.
   * @throws DamagedJournal when they are not all in the file.
   */
  readonly seek: (offset: number, length: number) => number;
  readonly view: View;
  readonly forget: () => void;
  /** Fills memory with what stands from an offset on. @returns how many bytes there were. */
  readonly readInto: (memory: Buffer, offset: number) => number;
  /**
   * Copies bytes that need not stay in memory.
   * @throws DamagedJournal when they are not all in the file.
   */
  readonly copy: (offset: number, length: number) => Buffer;
}

/** The file is read with pread(2): a mapping would end the process when the file is truncated. */
export function createBlocks(fd: number, pool: BlockPool, fileKey: number): Blocks {
  const keys = new Set<number>();
  const empty = new ArrayBuffer(0);
  const view: View = { bytes: Buffer.from(empty), words: new Uint32Array(empty) };
  let start = 0;
  let end = 0;
  let shown = 0;

  const hide = (): void => {
    start = 0;
    end = 0;
  };
  const evicted = (key: number): void => {
    keys.delete(key);
    if (shown === key) hide();
  };

  const show = (block: View, from: number, length: number): void => {
    view.bytes = block.bytes;
    view.words = block.words;
    start = from;
    end = from + length;
  };

  const copy = (offset: number, length: number): Buffer => {
    pool.beforeRead();
    // Aligned, so that it can be read as words too.
    const bytes = Buffer.from(new ArrayBuffer(Math.ceil(length / wordSize) * wordSize));
    let done = 0;
    while (done < length) {
      const count = readSync(fd, bytes, done, length - done, offset + done);
      if (count === 0) throw new DamagedJournal("end of file", offset + done);
      done += count;
    }
    return bytes;
  };

  const load = (offset: number, length: number): void => {
    const number = Math.floor(offset / blockSize);
    const key = fileKey + number;
    let block = pool.get(key);
    if (block === undefined) {
      pool.beforeRead();
      block = pool.take(key, () => evicted(key));
      keys.add(key);
      block.length = readSync(fd, block.bytes, 0, blockSize + overlap, number * blockSize);
    }
    shown = key;
    show(block, number * blockSize, block.length);
    if (offset + length <= end) return;
    shown = 0;
    const bytes = copy(offset, length);
    show({ bytes, words: new Uint32Array(bytes.buffer) }, offset, length);
  };

  return {
    view,
    seek(offset, length) {
      if (offset < start || offset + length > end) load(offset, length);
      return offset - start;
    },
    forget() {
      for (const key of [...keys]) pool.drop(key);
      hide();
    },
    readInto(memory, offset) {
      pool.beforeRead();
      return readSync(fd, memory, 0, memory.length, offset);
    },
    copy,
  };
}
