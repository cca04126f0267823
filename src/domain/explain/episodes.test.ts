import { describe, expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import { episodeLine, episodesOf } from "./sources.ts";

const minuteMs = 60_000;
const runsOf = (...statuses: readonly CheckStatus[]) =>
  statuses.map((status, at) => ({ checkedAt: at * minuteMs, status, message: `${status} ${at}` }));
const shortly = (...statuses: readonly CheckStatus[]) =>
  episodesOf(runsOf(...statuses)).map(({ from, until, worst }) => [from / minuteMs, until / minuteMs, worst.message]);

describe("episodes of a check", () => {
  it.each<[string, readonly CheckStatus[], unknown]>([
    ["last from the first run in trouble to the next that is not", ["pass", "fail", "pass"], [[1, 2, "fail 1"]]],
    ["have the first of their worst runs", ["warn", "fail", "warn", "fail", "skip"], [[0, 4, "fail 1"]]],
    [
      "are several",
      ["fail", "pass", "skip", "warn", "warn", "pass"],
      [
        [0, 1, "fail 0"],
        [3, 5, "warn 3"],
      ],
    ],
    ["have ended: the present one is not listed", ["pass", "warn", "pass", "fail", "fail"], [[1, 2, "warn 1"]]],
    ["are none without runs", [], []],
  ])("%s", (_, statuses, episodes) => {
    expect(shortly(...statuses)).toEqual(episodes);
  });

  it("are reported with begin, end, length and the message of the worst run", () => {
    const [episode] = episodesOf(runsOf("warn", "fail", "pass"));
    expect(episode && episodeLine(episode)).toBe(
      "1970-01-01T00:00:00.000Z to 1970-01-01T00:02:00.000Z (2 min), fail: fail 1",
    );
  });
});
