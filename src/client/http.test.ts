import { describe, expect, it } from "vitest";
import { addressOf } from "./http.ts";

describe("the address of a request", () => {
  it.each([
    ["http://127.0.0.1:8470", "http://127.0.0.1:8470/api/v1/health"],
    ["http://127.0.0.1:8470/", "http://127.0.0.1:8470/api/v1/health"],
    ["https://hosts.example.org/web1", "https://hosts.example.org/web1/api/v1/health"],
    ["https://hosts.example.org/a/b//", "https://hosts.example.org/a/b/api/v1/health"],
  ])("of %s is %s", (url, expected) => {
    expect(addressOf(url, "/api/v1/health").href).toBe(expected);
  });

  it("keeps escapes in a path, and refuses a malformed URL", () => {
    expect(addressOf("https://h.example/w", "/units/dev-disk-by%5Cx2dlabel%2F.device").href).toBe(
      "https://h.example/w/units/dev-disk-by%5Cx2dlabel%2F.device",
    );
    expect(() => addressOf("web1", "/")).toThrow(TypeError);
  });
});
