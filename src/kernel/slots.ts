/** Gives out a fixed number of slots, first come first served. */
export function createSlots(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = count;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // A slot is handed on to who waits, so that nobody who comes now gets in between.
      if (next === undefined) free += 1;
      else next();
    }
  };
}
