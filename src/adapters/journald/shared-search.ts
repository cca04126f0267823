import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Source } from "./source.ts";

/** The files of a search that several threads share, and who has taken each. */
export interface SharedSearch {
  readonly pattern: string;
  readonly files: readonly { readonly inode: string; readonly entries: number }[];
  readonly taken: Int32Array<SharedArrayBuffer>;
}

/** What a helper sends of a file: offsets of the entries that fit. */
interface Found {
  readonly index: number;
  readonly offsets: Float64Array<ArrayBuffer>;
  /** What is wrong with the file. */
  readonly damage: string | undefined;
}

export interface Help {
  /** Has another thread help; it sends what it finds through the port. */
  readonly ask: (search: SharedSearch, port: MessagePort) => void;
  /** Called while the other thread is waited for; what it throws ends the search. */
  readonly whileWaiting: () => void;
}

/** What is known of a file before it is searched, and what the search has found wrong with it. */
interface Searchable extends Pick<Source, "damage" | "noteDamage"> {
  readonly file: { readonly inode: string; readonly size: number; readonly header: { readonly entries: number } };
}

type SearchFile<File> = (source: File) => Float64Array | undefined;

const free = 0;
const byAsker = 1;
const byHelper = 2;
const sent = 3;
const left = 4;

/** One thread alone searches as fast on one processor. */
export const isHelpful = availableParallelism() > 1;
/** A search of fewer bytes is over before another thread has started. */
const minSharedBytes = 128 * 1024 * 1024;
/** A helper is waited for as long as it may need for its last file; then this thread searches that one too. */
const [waitMs, maxWaits] = [20, 100];

const claim = (taken: Int32Array, index: number, who: number): boolean =>
  Atomics.compareExchange(taken, index, free, who) === free;

/**
 * Searches files, together with other threads where there is much to search. What a file gives is used at once: that of all
 * files would take much memory.
 * @returns what was made of each file.
 */
export function searchTogether<File extends Searchable, Used extends object>(
  sources: readonly File[],
  {
    pattern,
    searchFile,
    use,
  }: { readonly pattern: string } & {
    readonly searchFile: SearchFile<File>;
    readonly use: (source: File, offsets: Float64Array | undefined) => Used;
  },
  help: Help | undefined,
): readonly Used[] {
  const searchAlone = (source: File): Used => use(source, searchFile(source));
  const size = sources.reduce((sum, { file }) => sum + file.size, 0);
  if (help === undefined || sources.length < 2 || size < minSharedBytes) return sources.map(searchAlone);
  const taken = new Int32Array(new SharedArrayBuffer(sources.length * Int32Array.BYTES_PER_ELEMENT));
  const files = sources.map(({ file }) => ({ inode: file.inode, entries: file.header.entries }));
  const { port1, port2 } = new MessageChannel();
  const results = new Map<File, Used>();
  const receive = (): void => {
    for (let next = receiveMessageOnPort(port1); next !== undefined; next = receiveMessageOnPort(port1)) {
      const { index, offsets, damage } = next.message as Found;
      const source = sources[index];
      if (damage !== undefined) source?.noteDamage(damage);
      if (source !== undefined) results.set(source, use(source, offsets));
    }
  };
  try {
    help.ask({ pattern, files, taken }, port2);
    for (const [index, source] of sources.entries()) {
      if (claim(taken, index, byAsker)) results.set(source, searchAlone(source));
      receive();
    }
    for (let index = 0; index < sources.length; index += 1) {
      for (let waits = 0; waits < maxWaits && Atomics.load(taken, index) === byHelper; waits += 1) {
        help.whileWaiting();
        Atomics.wait(taken, index, byHelper, waitMs);
      }
    }
    receive();
    return sources.map((source) => results.get(source) ?? searchAlone(source));
  } finally {
    for (let index = 0; index < taken.length; index += 1) claim(taken, index, byAsker);
    port1.close();
  }
}

/** Takes files from the other end of the list until none is free. */
export function helpSearch<File extends Searchable>(
  { files, taken }: SharedSearch,
  sources: readonly File[],
  { searchFile, port }: { readonly searchFile: SearchFile<File>; readonly port: MessagePort },
): void {
  const byInode = new Map(sources.map((source) => [source.file.inode, source]));
  for (const [index, { inode, entries }] of [...files.entries()].reverse()) {
    if (!claim(taken, index, byHelper)) continue;
    const source = byInode.get(inode);
    let state = left;
    try {
      const offsets = source === undefined || source.file.header.entries < entries ? undefined : searchFile(source);
      if (offsets !== undefined) {
        const own = new Float64Array(offsets);
        port.postMessage({ index, offsets: own, damage: source?.damage() } satisfies Found, [own.buffer]);
        state = sent;
      }
    } finally {
      Atomics.store(taken, index, state);
      Atomics.notify(taken, index);
    }
  }
}
