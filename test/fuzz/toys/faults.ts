import type { FuzzTarget } from "../target.ts";

const held: Buffer[] = [];

/** Fails in every way in which a target can, by the word that it is given. */
export const target: FuzzTarget = {
  maxBytes: 64,
  maxSteps: 1_000,
  dictionary: () => [],
  seeds: () => [],
  open: () =>
    Promise.resolve({
      run(input) {
        const word = input.toString("latin1");
        if (word === "throws") throw new Error("as requested");
        if (word === "exits") process.exit(0);
        if (word === "rejects") void Promise.reject(new Error("nobody waits for it"));
        if (word === "works") for (let step = 0; step < 2_000; step += 1) held.length = 0;
        if (word === "swells") held.push(Buffer.alloc(400 * 1024 * 1024, 1));
        if (word === "loops") for (;;) held.length = 0;
        // An unhandled rejection is reported at the end of a turn of the event loop.
        return new Promise((resolve) => setImmediate(resolve));
      },
    }),
};
