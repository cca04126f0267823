import type { FuzzTarget } from "../target.ts";

/** Fails on one word of three bytes, each of which is inspected only after those before it: chance alone takes millions of runs. */
export const target: FuzzTarget = {
  maxBytes: 64,
  maxSteps: 1_000,
  dictionary: () => [],
  seeds: () => [Buffer.from("in")],
  open: () =>
    Promise.resolve({
      run(input) {
        if (input[0] !== 70) return;
        if (input[1] !== 85) return;
        if (input[2] === 90) throw new Error("it was found");
      },
    }),
};
