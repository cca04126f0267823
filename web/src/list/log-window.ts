import type { Answer } from "../api/call.ts";
import type { Stretch } from "./buckets.ts";
import { type Entry, kept } from "./entry.ts";

/** What a page of entries is asked for by, beside the filters. */
export interface PageQuery {
  readonly since?: string;
  readonly until?: string;
  readonly cursor?: string;
  readonly entry?: string;
  readonly order?: "asc" | "desc";
  readonly from?: "oldest";
  readonly limit?: number;
}

export interface LogWindowPorts {
  /** Asks for entries of the list. */
  readonly ask: (query: PageQuery, signal: AbortSignal) => Promise<Answer<"listLogs">>;
  /** Where in time an entry is, by its number. */
  readonly stretchOf: (index: number) => Stretch;
  /** Entries have come or gone. @param shift by how much their numbers grew. */
  readonly onChange: (shift: number) => void;
  /** The entry of this number could not be found; the one that is the nearest. */
  readonly onMiss: (index: number) => void;
  readonly onError: (error: unknown) => void;
}

/** So many entries are kept; the rest is asked for again. */
const mostKept = 20_000;
/** Beyond that so many more, so that not each one that comes moves all. */
const slack = 1_000;
const pageSize = 300;
/** So many beyond what is seen are asked for before they are seen. */
const ahead = 120;
/** A bar that is dragged leads past many places: they are asked for where it rests. */
const restsMs = 90;
const mostProbes = 14;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

const timestamp = (ms: number): string => new Date(ms).toISOString();
/** The last microsecond before a time. */
const before = (ms: number): string => timestamp(ms - 1).replace("Z", "999Z");

/**
 * The part of a list of entries that is kept: neighbours, around what is seen. An entry has the number that it has among all of the
 * list, the oldest one 0. How many there are is known from the service, which counts them exactly, so that a place in the list can be
 * found by asking how many entries are behind a time.
 */
export class LogWindow {
  readonly #ports: LogWindowPorts;
  readonly #stop = new AbortController();
  #entries: Entry[] = [];
  #start = 0;
  #total = 0;
  #newest: Entry | undefined;
  #wanted: readonly [number, number] = [0, 0];
  #isAsking = false;
  #jump: { readonly to: number; readonly stop: AbortController } | undefined;

  constructor(ports: LogWindowPorts) {
    this.#ports = ports;
  }

  get total(): number {
    return this.#total;
  }
  /** The newest entry that is known. */
  get newest(): Entry | undefined {
    return this.#newest;
  }
  get kept(): number {
    return this.#entries.length;
  }
  at(index: number): Entry | undefined {
    return this.#entries[index - this.#start];
  }
  /** The number of an entry that is kept. */
  indexOf(cursor: string): number | undefined {
    const at = this.#entries.findIndex((entry) => entry.cursor === cursor);
    return at < 0 ? undefined : this.#start + at;
  }
  end(): void {
    this.#stop.abort();
    this.#entries = [];
  }

  /** Begins with the newest entries of a list. */
  begin({ logs, total }: Answer<"listLogs">): void {
    this.#entries = logs.map(kept);
    this.#total = total;
    this.#start = total - logs.length;
    this.#newest = this.#entries.at(-1);
    this.#ports.onChange(0);
  }

  /** Takes entries that were written meanwhile. */
  append(entries: readonly Entry[]): void {
    const touchesEnd = this.#end === this.#total;
    this.#total += entries.length;
    const more = entries.map(kept);
    this.#newest = more.at(-1) ?? this.#newest;
    if (touchesEnd) {
      this.#entries.push(...more);
      this.#forget();
    }
    this.#ports.onChange(0);
  }

  /** Has these entries asked for, where they are not kept. */
  need(first: number, last: number): void {
    this.#wanted = [first, last];
    const { to, stop } = this.#jump ?? {};
    if (to !== undefined && Math.abs(to - first) > pageSize) stop?.abort();
    if (!this.#isAsking) void this.#work();
  }

  /** Goes to an entry. @returns its number, and the entry; nothing where the list does not have it. */
  async find(cursor: string): Promise<readonly [number, Entry] | undefined> {
    const { signal } = this.#stop;
    const ask = (query: PageQuery) => this.#ports.ask(query, signal);
    const entry = (await ask({ entry: cursor })).logs[0];
    if (entry === undefined) return undefined;
    const present = this.indexOf(cursor);
    if (present !== undefined) return [present, entry];
    const [upTo, older, newer] = [
      await ask({ until: entry.timestamp, limit: 1 }),
      await ask({ cursor, order: "desc", limit: pageSize }),
      await ask({ cursor, order: "asc", limit: pageSize }),
    ];
    if (signal.aborted) return undefined;
    const index = Math.max(older.logs.length, upTo.total - 1);
    this.#replace(index - older.logs.length, [...older.logs.toReversed(), entry, ...newer.logs]);
    return [index, entry];
  }

  get #end(): number {
    return this.#start + this.#entries.length;
  }

  #replace(start: number, entries: readonly Entry[]): void {
    this.#entries = entries.map(kept);
    this.#start = start;
    this.#total = Math.max(this.#total, this.#end);
    this.#ports.onChange(0);
  }

  /** Forgets those that are the farthest from what is seen. */
  #forget(): void {
    const excess = this.#entries.length - mostKept;
    if (excess < slack) return;
    const [first, last] = this.#wanted;
    if (first - this.#start > this.#end - last) {
      this.#entries.splice(0, excess);
      this.#start += excess;
    } else this.#entries.length = mostKept;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stop;
    this.#isAsking = true;
    try {
      while (!signal.aborted && (await this.#step()));
    } catch (error) {
      if (!signal.aborted) this.#ports.onError(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @returns whether there may be more to do. */
  async #step(): Promise<boolean> {
    const [first, last] = this.#wanted;
    if (this.#total === 0 || last < first) return false;
    const isFar = first > this.#end + pageSize || last < this.#start - pageSize || this.#entries.length === 0;
    if (isFar) {
      return this.#goTo(first, last);
    }
    if (this.#start > 0 && first - ahead < this.#start) {
      await this.#older();
      return true;
    }
    if (this.#end < this.#total && last + ahead >= this.#end) {
      await this.#newer();
      return true;
    }
    return false;
  }

  async #older(): Promise<void> {
    const [oldest] = this.#entries;
    if (oldest === undefined) return;
    const { logs } = await this.#ports.ask(
      { cursor: oldest.cursor, order: "desc", limit: pageSize },
      this.#stop.signal,
    );
    if (this.#entries[0] !== oldest) return;
    this.#entries.unshift(...logs.toReversed().map(kept));
    this.#start -= logs.length;
    // The journal has removed some, or has more by now: the oldest one has the number 0.
    const shift = logs.length < pageSize || this.#start < 0 ? -this.#start : 0;
    this.#start += shift;
    this.#total += shift;
    this.#forget();
    this.#ports.onChange(shift);
  }

  async #newer(): Promise<void> {
    const newest = this.#entries.at(-1);
    if (newest === undefined) return;
    const { logs } = await this.#ports.ask({ cursor: newest.cursor, order: "asc", limit: pageSize }, this.#stop.signal);
    if (this.#entries.at(-1) !== newest) return;
    this.#entries.push(...logs.map(kept));
    const isLast = logs.length < pageSize;
    this.#total = isLast ? this.#end : Math.max(this.#total, this.#end);
    if (isLast) this.#newest = this.#entries.at(-1);
    this.#forget();
    this.#ports.onChange(0);
  }

  async #goTo(to: number, last: number): Promise<boolean> {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#stop.signal]);
    this.#jump = { to, stop };
    try {
      await pause(restsMs, signal);
      if (signal.aborted) return true;
      const [start, logs] = await (to >= this.#total - pageSize ? this.#last(signal) : this.#probe(to, signal));
      if (logs.length === 0) return false;
      const isMissed = to < start || to >= start + logs.length;
      if (isMissed) this.#wanted = [start, start + last - to];
      this.#replace(start, logs);
      if (isMissed) this.#ports.onMiss(start);
      return true;
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      return true;
    } finally {
      this.#jump = undefined;
    }
  }

  async #last(signal: AbortSignal): Promise<readonly [number, readonly Entry[]]> {
    const { logs, total } = await this.#ports.ask({ limit: pageSize }, signal);
    this.#total = total;
    return [total - logs.length, logs];
  }

  /** Finds a page that has an entry, by times: the number of its first entry is that of all without those from it on. */
  async #probe(to: number, signal: AbortSignal): Promise<readonly [number, readonly Entry[]]> {
    let { since, until, first, end } = this.#ports.stretchOf(to);
    let found: readonly [number, readonly Entry[]] = [to, []];
    for (let probe = 0; probe < mostProbes; probe += 1) {
      const aim = Math.max(first, to - ahead);
      const share = probe % 2 === 0 ? (aim - first) / Math.max(1, end - first) : 0.5;
      const at = Math.min(until - 1, Math.floor(since + (until - since) * share));
      const { logs, total } = await this.#ports.ask(
        { since: timestamp(at), until: before(until), from: "oldest", limit: pageSize },
        signal,
      );
      const start = end - total;
      found = [start, logs];
      const isThere = start <= to && to < start + logs.length;
      if (isThere || until - since <= 1) break;
      if (start > to) [until, end] = [at, start];
      else [since, first] = [at, start];
    }
    return found;
  }
}
