import { describe, expect, it } from "vitest";
import { fileNameOf, parseIdentity } from "./package-files.ts";

const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
const lib = { name: "lib", version: "2.0-1", architecture: "x86_64" };

describe("package files of rpm", () => {
  it("say what they are", () => {
    expect(parseIdentity("app|1|1.0|1|noarch\n")).toEqual(app);
    expect(parseIdentity("lib|0|2.0|1|x86_64\n")).toEqual(lib);
    expect(parseIdentity("")).toBeUndefined();
    expect(fileNameOf(app)).toBe("app-1.0-1.noarch.rpm");
  });
});
