import { expect, it } from "vitest";
import { conditionIn, startingOf } from "./parse.ts";

const bytes = Array.from({ length: 16 }, (_, index) => index);
const hex = "000102030405060708090a0b0c0d0e0f";

it.each([
  [
    { InvocationID: bytes, Job: [0, "/"] },
    { invocation: hex, hasJob: false },
  ],
  [
    { InvocationID: Buffer.from(bytes), Job: [7, "/job/7"] },
    { invocation: hex, hasJob: true },
  ],
  [
    { InvocationID: [], Job: "nonsense" },
    { invocation: "", hasJob: false },
  ],
  [undefined, { invocation: "", hasJob: false }],
])("reads the run of a unit from %j", (properties, run) => {
  expect(startingOf(properties)).toMatchObject({ run });
});

it.each([
  [{ CanStart: true, CanStop: true }, true],
  [{ CanStart: false, CanStop: true }, false],
  [{ CanStart: true, CanStop: false }, false],
  [{}, true],
])("reads from %j whether a unit is started and stopped on request", (properties, isManual) => {
  expect(startingOf(properties)).toMatchObject({ isManual });
});

it.each([
  [{ ConditionTimestamp: 0n, ConditionResult: false }, undefined],
  [{ ConditionTimestamp: 1_700_000_000_000_000n, ConditionResult: false }, false],
  [{ ConditionTimestamp: 1_700_000_000_000_000n, ConditionResult: true }, true],
  [{}, undefined],
])("reads from %o whether the conditions of a unit held", (properties, held) => {
  expect(conditionIn(properties)).toBe(held);
});
