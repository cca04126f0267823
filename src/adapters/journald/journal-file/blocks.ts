import { readSync, readvSync } from "node:fs";

/** A part of a journal file is not what it must be: the reader leaves it out and continues. */
export class DamagedJournal extends Error {
  override readonly name = "DamagedJournal";

  constructor(what: string, offset: number) {
    super(`${what} at byte ${offset}`);
  }
}

/**
 * Bytes of a block that is asked for by its number. Blocks overlap, so that an object which begins near the end of
 * one can still be read from it as a whole.
 */
const blockShift = 14;
const blockSize = 1 << blockShift;
const overlap = 4096;
const wordSize = 4;
/**
 * Of a block that is asked for the first time only so many bytes before and after those that are wanted are read: what is
 * found by bisection mostly has no neighbour that is wanted too. Fields of an entry stand before it.
 */
const partBefore = 1024;
const partAfter = 512;

/** Memory, byte by byte and word by word. */
export interface View {
  bytes: Buffer;
  words: Uint32Array;
}

const viewOf = (memory: ArrayBuffer): View => ({ bytes: Buffer.from(memory), words: new Uint32Array(memory) });

interface Memory extends View {
  /** The bytes that no other block has. */
  readonly own: Buffer;
}

interface Block extends Memory {
  readonly evicted: () => void;
  /** Which of its bytes are there. */
  from: number;
  to: number;
}

export interface BlockPool {
  /** So many blocks may be read ahead: a part of all, so that they are still there when they are wanted. */
  readonly maxAhead: number;
  /** Called before bytes of a file are read; what it throws ends the work for which they were wanted. */
  readonly beforeRead: () => void;
  readonly get: (key: number) => Block | undefined;
  readonly take: (key: number, evicted: () => void) => Block;
  readonly drop: (key: number) => void;
}

const keysPerFile = 2 ** 31;

/** What blocks are counted in, so that they and others share the memory. */
export interface BlockBudget {
  readonly space: () => number;
  readonly count: (bytes: number) => void;
}

const unbounded: BlockBudget = { space: () => Infinity, count: () => {} };

export function createBlockPool(
  maxBlocks: number,
  beforeRead: () => void = () => {},
  budget: BlockBudget = unbounded,
): BlockPool & { readonly nextFileKey: () => number; clear(): void } {
  const blocks = new Map<number, Block>();
  const free: Memory[] = [];
  let files = 0;
  const viewSize = blockSize + overlap;
  const newMemory = (): Memory => {
    budget.count(viewSize);
    const view = viewOf(new ArrayBuffer(viewSize));
    return { ...view, own: view.bytes.subarray(0, blockSize) };
  };
  const drop = (key: number): void => {
    const block = blocks.get(key);
    if (block === undefined) return;
    blocks.delete(key);
    block.evicted();
    free.push({ bytes: block.bytes, words: block.words, own: block.own });
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
    maxAhead: Math.floor(maxBlocks / 4),
    beforeRead,
    get: (key) => blocks.get(key),
    take(key, evicted) {
      const space = budget.space();
      if (blocks.size >= maxBlocks || (free.length === 0 && space < viewSize)) dropOldest();
      // Others have taken theirs: memory is given back by and by.
      if (space < 0) {
        dropOldest();
        if (free.length > 1) release(1);
      }
      const block = { ...(free.pop() ?? newMemory()), evicted, from: 0, to: 0 };
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
  /** Reads bytes at once that are about to be sought. Of more than there is space for the first are read. */
  readonly readAhead: (from: number, to: number) => void;
  readonly forget: () => void;
  /** Fills memory with what stands from an offset on. @returns how many bytes there were. */
  readonly readInto: (memory: Buffer, offset: number) => number;
  /**
   * Copies bytes that need not stay in memory.
   * @throws DamagedJournal when they are not all in the file.
   */
  readonly copy: (offset: number, length: number) => Buffer;
}

/** @throws DamagedJournal when the bytes are not all in the file. */
function readExactly(fd: number, offset: number, length: number): Buffer<ArrayBuffer> {
  // Aligned, so that it can be read as words too.
  const bytes = Buffer.from(new ArrayBuffer(Math.ceil(length / wordSize) * wordSize));
  let done = 0;
  while (done < length) {
    const count = readSync(fd, bytes, done, length - done, offset + done);
    if (count === 0) throw new DamagedJournal("end of file", offset + done);
    done += count;
  }
  return bytes;
}

const isWhole = (block: Block | undefined): boolean => block?.from === 0 && block.to === blockSize + overlap;

/** The numbers of the first and the last block to read for these bytes: those at their ends that are there are left out. */
function missing(pool: BlockPool, fileKey: number, from: number, to: number): readonly [first: number, last: number] {
  let first = Math.floor(Math.max(0, from) / blockSize);
  let last = Math.min(Math.floor(to / blockSize), first + pool.maxAhead - 1);
  while (first < last && isWhole(pool.get(fileKey + first))) first += 1;
  while (first < last && isWhole(pool.get(fileKey + last))) last -= 1;
  return [first, last];
}

/** @returns undefined where there is so little space that the first would give its memory to the last. */
function takeTogether(
  pool: BlockPool,
  first: number,
  last: number,
  take: (key: number) => Block,
): readonly Block[] | undefined {
  const blocks: Block[] = [];
  for (let key = first; key <= last; key += 1) {
    pool.drop(key);
    blocks.push(take(key));
    if (pool.get(first) === blocks[0]) continue;
    for (let taken = first; taken <= key; taken += 1) pool.drop(taken);
    return undefined;
  }
  return blocks;
}

/** Reads blocks that follow one another by one call. */
function fillBlocks(fd: number, blocks: readonly Block[], position: number): void {
  const memory = blocks.map(({ own, bytes }, index) => (index === blocks.length - 1 ? bytes : own));
  const count = readvSync(fd, memory, position);
  for (const [index, block] of blocks.entries()) {
    block.to = Math.max(0, Math.min(count - index * blockSize, blockSize + overlap));
    const next = blocks[index + 1];
    if (next !== undefined && block.to > blockSize) next.bytes.copy(block.bytes, blockSize, 0, block.to - blockSize);
  }
}

/** The file is read with pread(2): a mapping would end the process when the file is truncated. */
export function createBlocks(fd: number, pool: BlockPool, fileKey: number): Blocks {
  const keys = new Set<number>();
  const view = viewOf(new ArrayBuffer(0));
  /** Which bytes of the file can be seen, and which one would be the first in the view's memory. */
  let start = 0;
  let end = 0;
  let base = 0;
  let shown = 0;

  const hide = (): void => {
    start = 0;
    end = 0;
  };
  const evicted = (key: number): void => {
    keys.delete(key);
    if (shown === key) hide();
  };

  const show = (block: View, first: number, from: number, to: number): void => {
    view.bytes = block.bytes;
    view.words = block.words;
    base = first;
    start = first + from;
    end = first + to;
  };

  const copy = (offset: number, length: number): Buffer<ArrayBuffer> => {
    pool.beforeRead();
    return readExactly(fd, offset, length);
  };

  const takeBlock = (key: number): Block => {
    const block = pool.take(key, () => evicted(key));
    keys.add(key);
    return block;
  };

  /** Reads a part of a block, in which nothing else is known then. */
  const readBlock = (block: Block, number: number, from: number, to: number): void => {
    pool.beforeRead();
    block.from = from;
    block.to = from + readSync(fd, block.bytes, from, to - from, number * blockSize + from);
  };

  const load = (offset: number, length: number): void => {
    const number = Math.floor(offset / blockSize);
    const key = fileKey + number;
    const at = offset - number * blockSize;
    if (at + length > blockSize + overlap) {
      const bytes = copy(offset, length);
      shown = 0;
      show(viewOf(bytes.buffer), offset, 0, length);
      return;
    }
    const known = pool.get(key);
    const block = known ?? takeBlock(key);
    if (known === undefined) {
      const from = Math.max(0, at - partBefore) & -wordSize;
      readBlock(block, number, from, Math.min(at + length + partAfter, blockSize + overlap));
    } else if (at < block.from || at + length > block.to) readBlock(block, number, 0, blockSize + overlap);
    shown = key;
    show(block, number * blockSize, block.from, block.to);
    if (offset + length > end) throw new DamagedJournal("end of file", offset);
  };

  const readAhead = (from: number, to: number): void => {
    const [first, last] = missing(pool, fileKey, from, to);
    if (last <= first) return;
    pool.beforeRead();
    const blocks = takeTogether(pool, fileKey + first, fileKey + last, takeBlock);
    if (blocks !== undefined) fillBlocks(fd, blocks, first * blockSize);
  };

  return {
    view,
    readAhead,
    seek(offset, length) {
      if (offset < start || offset + length > end) load(offset, length);
      return offset - base;
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
