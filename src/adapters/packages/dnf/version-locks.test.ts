import { expect, it } from "vitest";
import { locksOf } from "./version-locks.ts";

const steady = { name: "steady", version: "1.0-1", architecture: "noarch" };

it("takes the locks of a package itself, and neither patterns nor exclusions", () => {
  const list = `
# Added lock on Thu Nov 26 12:00:00 2026
steady-0:1.0-1.*
!steady-0:2.0-1.*
stea*
steady-0:0.9-1.*
steady-libs-0:1.0-1.*
steady
[a-z]*
`;
  expect(locksOf(list, [steady])).toEqual(["steady-0:1.0-1.*", "steady"]);
  expect(locksOf("", [steady])).toEqual([]);
  expect(locksOf(list, [])).toEqual([]);
});
