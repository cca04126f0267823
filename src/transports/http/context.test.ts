import { describe, expect, it } from "vitest";
import { appliedPreferences, preferencesOf } from "./context.ts";

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
  ])("is recognized in %j", (header) => {
    expect(preferencesOf(header).isAsync).toBe(true);
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
  ])("is not recognized in %j", (header) => {
    expect(preferencesOf(header).isAsync).toBe(false);
  });
});

describe("Prefer: wait", () => {
  it.each([
    ["wait=10", 10, "wait=10"],
    ["respond-async, wait=10", 10, "respond-async, wait=10"],
    ['WAIT="7" ; x=1, respond-async', 7, "respond-async, wait=7"],
    ["wait=0", 0, "wait=0"],
    ["wait=5, wait=9", 5, "wait=5"],
    ["wait=999999999", 86_400, "wait=86400"],
    ["wait=-1", undefined, undefined],
    ["wait=1e9", undefined, undefined],
    ["wait=10s, respond-async", undefined, "respond-async"],
    ["wait=9999999999", undefined, undefined],
    ["wait", undefined, undefined],
    [undefined, undefined, undefined],
  ])("of %j is %j seconds", (header, seconds, applied) => {
    expect(preferencesOf(header).waitSeconds).toBe(seconds);
    expect(appliedPreferences(header)).toBe(applied);
  });
});
