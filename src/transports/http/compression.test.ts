import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { codings, compress } from "./compression.ts";

it.each(codings)("compression with %s ends with its client", async (coding) => {
  const gone = new AbortController();
  const work = compress(coding, randomBytes(8 * 1024 * 1024), gone.signal);
  setImmediate(() => gone.abort());
  await expect(work).rejects.toMatchObject({ name: "AbortError" });
});
