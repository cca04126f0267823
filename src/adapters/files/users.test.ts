import { expect, it } from "vitest";
import { parseUsers } from "./users.ts";

it("users are named by their first line", () => {
  expect([...parseUsers("root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/\n+::::::\nbad:x:a:\nwww:x:33:33")]).toEqual([
    [0, "root"],
    [33, "www"],
  ]);
});
