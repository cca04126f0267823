import { describe, expect, it } from "vitest";
import { dpkgEntry } from "../../../../test/ports/support/dpkg.ts";
import { wordFor } from "./database.ts";
import { isPackageName, isVersion } from "./words.ts";

describe("words for packages", () => {
  it("have an architecture where it is needed", () => {
    expect(wordFor(dpkgEntry("one"), "amd64")).toBe("one");
    expect(wordFor(dpkgEntry("one", { architecture: "all" }), "amd64")).toBe("one");
    expect(wordFor(dpkgEntry("one", { isMultiArchSame: true }), "amd64")).toBe("one:amd64");
    expect(wordFor(dpkgEntry("one", { architecture: "i386" }), "amd64")).toBe("one:i386");
  });

  it("are names and versions as Debian's policy has them", () => {
    expect(["g++", "libstdc++6:i386", "0ad", "python3.11"].every(isPackageName)).toBe(true);
    expect(["", "-o", "a b", "A", "a=1", "a\n", "../x", "a:b:c"].some(isPackageName)).toBe(false);
    expect(["1", "2:1.0~rc1-1+b2", "1.0+dfsg"].every(isVersion)).toBe(true);
    expect(["", "-1", "1 --purge", "1\n", "$(x)", "1/2"].some(isVersion)).toBe(false);
  });
});
