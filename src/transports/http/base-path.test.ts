import { describe, expect, it } from "vitest";
import { createBasePath } from "./base-path.ts";

describe("the base path", () => {
  const { strip } = createBasePath("/web1");
  it.each([
    ["/web1/api/v1/health", "/api/v1/health"],
    ["/api/v1/health", "/api/v1/health"],
    ["/web1", "/"],
    ["/web1/", "/"],
    ["/web1?a=/web1", "/?a=/web1"],
    ["/web12/api", "/web12/api"],
    ["/web1/web1/api", "/web1/api"],
    ["/web1//api", "//api"],
    ["//web1/api", "//web1/api"],
    ["/WEB1/api", "/WEB1/api"],
    ["*", "*"],
    ["http://h/web1/api", "http://h/web1/api"],
  ])("is removed from %s, which leaves %s", (target, rest) => {
    expect(strip(target)).toBe(rest);
  });

  it("changes nothing where it is empty", () => {
    const { strip: none, addToAnswers } = createBasePath("");
    expect([none("/web1/api"), addToAnswers]).toEqual(["/web1/api", undefined]);
  });
});
