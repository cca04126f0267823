import { describe, expect, it } from "vitest";
import { prefersAsync } from "./context.ts";

describe("Prefer: respond-async", () => {
  it.each([
    "respond-async",
    "Respond-Async",
    "respond-async, wait=10",
    "wait=10, respond-async",
    "  return=minimal ;foo=bar,  respond-async ; x=1 ",
    'foo="a, b; c", respond-async',
    'foo="a \\" , x", respond-async',
    'respond-async=""',
    "respond-async=",
    ",, respond-async",
    "bad thing, respond-async",
    ["return=minimal", "respond-async"],
    "respond-async, respond-async=no",
  ])("is seen in %j", (header) => {
    expect(prefersAsync(header)).toBe(true);
  });

  it.each([
    undefined,
    "",
    [],
    "respond-asynchronously",
    "foo=respond-async",
    'foo="x, respond-async"',
    'foo="x, respond-async',
    "foo; respond-async",
    "respond-async=no",
    "respond-async=no, respond-async",
    "respond async",
  ])("is not seen in %j", (header) => {
    expect(prefersAsync(header)).toBe(false);
  });
});
