/** One measurement of one side: requests per second, milliseconds, bytes; whatever the row compares. */
export type Measure<T = number> = () => Promise<T>;

/** What both sides gave in one round. */
export interface Pair<T = number> {
  readonly ours: T;
  readonly peer: T;
}

/** Which way round a ratio is: throughput and cost are `ours/peer`, how many times faster is `peer/ours`. */
export type RatioKind = "ours/peer" | "peer/ours";

/** The figures of a row, made from all its rounds. */
export interface Summary {
  readonly rounds: number;
  readonly ours: number;
  readonly peer: number;
  /** Median of the ratios of the rounds, which is not the ratio of the medians. */
  readonly ratio: number;
  readonly leastRatio: number;
  readonly greatestRatio: number;
}

/** What a figure must be. */
export interface Goal {
  readonly is: "at least" | "more than" | "at most" | "less than";
  readonly value: number;
}

/** @throws Error when there is nothing to take the middle of. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new Error("cannot take the median: there are no values");
  return (lower + upper) / 2;
}

/**
 * Measures both sides in turn. The machine drifts, so each round has both, and who goes first changes every
 * round. The first round warms both up and is not counted.
 * @param options `onRound` is called with each round that counts.
 */
export async function alternate<T = number>(options: {
  rounds: number;
  ours: Measure<T>;
  peer: Measure<T>;
  onRound?: (pair: Pair<T>, round: number) => void;
}): Promise<readonly Pair<T>[]> {
  const { rounds, ours, peer, onRound } = options;
  const pairs: Pair<T>[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const pair = round % 2 === 0 ? await oursFirst(ours, peer) : await peerFirst(ours, peer);
    if (round === 0) continue;
    pairs.push(pair);
    onRound?.(pair, round);
  }
  return pairs;
}

async function oursFirst<T>(measureOurs: Measure<T>, measurePeer: Measure<T>): Promise<Pair<T>> {
  const ours = await measureOurs();
  return { ours, peer: await measurePeer() };
}

async function peerFirst<T>(measureOurs: Measure<T>, measurePeer: Measure<T>): Promise<Pair<T>> {
  const peer = await measurePeer();
  return { ours: await measureOurs(), peer };
}

/**
 * The value that so large a part of all values does not exceed, by the nearest rank: 0.99 of a hundred is the second largest.
 * @throws Error when there are no values.
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
  if (value === undefined) throw new Error("cannot take a quantile: there are no values");
  return value;
}

/** @throws Error when no round was counted. */
export function summarise(pairs: readonly Pair[], kind: RatioKind): Summary {
  const ratios = pairs.map(({ ours, peer }) => (kind === "ours/peer" ? ours / peer : peer / ours));
  return {
    rounds: pairs.length,
    ours: median(pairs.map(({ ours }) => ours)),
    peer: median(pairs.map(({ peer }) => peer)),
    ratio: median(ratios),
    leastRatio: Math.min(...ratios),
    greatestRatio: Math.max(...ratios),
  };
}

/** Whether a figure reaches its goal. */
export function meets({ is, value }: Goal, figure: number): boolean {
  switch (is) {
    case "at least":
      return figure >= value;
    case "more than":
      return figure > value;
    case "at most":
      return figure <= value;
    case "less than":
      return figure < value;
  }
}
