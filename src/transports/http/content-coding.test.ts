import fc from "fast-check";
import Negotiator from "negotiator";
import { describe, expect, it } from "vitest";
import { chooseCoding, codings } from "./compression.ts";

describe("the coding of an answer", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["identity", undefined],
    ["gzip", "gzip"],
    ["GZip", "gzip"],
    ["x-gzip", "gzip"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, deflate, br", "br"],
    ["gzip;q=1.0, br;q=0.9, zstd;q=0.8", "gzip"],
    ["br ; q=0.5 , gzip;q=0.500", "br"],
    ["*", "zstd"],
    ["zstd;q=0, *", "br"],
    ["zstd;q=0, br;q=0.000, *;q=0.1", "gzip"],
    ["gzip;q=0", undefined],
    ["*;q=0", undefined],
    ["*;q=0, gzip", "gzip"],
    ["identity;q=0", undefined],
    ["identity;q=0, gzip", "gzip"],
    ["identity;q=0, deflate", undefined],
    ["identity, gzip;q=0.5", undefined],
    ["identity, gzip", "gzip"],
    ["identity;q=0.5, gzip;q=0.4, br;q=0.6", "br"],
    ["deflate, compress", undefined],
    ["gzip;q=2", undefined],
    ["gzip;level=9", undefined],
    ["gzip;q=0.1234", undefined],
    ["g zip", undefined],
    [",, gzip ,", "gzip"],
    ["gzipgzip", undefined],
    [["gzip", "br"], "br"],
  ])("of %j is %j", (header, expected) => {
    expect(chooseCoding(header)).toBe(expected);
  });

  const name = fc.constantFrom("zstd", "br", "gzip", "identity", "*", "deflate");
  const weight = fc.constantFrom("", ";q=0", ";q=0.001", "; q=0.5", ";q=0.9", ";q=1", ";q=1.000");
  const header = fc
    .uniqueArray(fc.tuple(name, weight), { selector: ([each]) => each, maxLength: 6 })
    .map((elements) => elements.map(([each, q]) => `${each}${q}`).join(", "));

  it("is one that another implementation accepts", () => {
    fc.assert(
      fc.property(header, (text) => {
        const chosen = chooseCoding(text);
        // Without "identity" in the header RFC 9110 gives it no weight, that library the least.
        const list = [...codings, "identity"];
        const accepted = new Negotiator({ headers: { "accept-encoding": text } }).encodings(list);
        if (chosen === undefined) expect(["identity", undefined]).toContain(accepted[0]);
        else expect(accepted).toContain(chosen);
      }),
      { numRuns: 500 },
    );
  });

  it("is a known one or none for any header", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect([undefined, ...codings]).toContain(chooseCoding(text));
      }),
    );
  });
});
