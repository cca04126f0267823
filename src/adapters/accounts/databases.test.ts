import fc from "fast-check";
import { expect, it } from "vitest";
import { parseGroups, parsePasswd, parseShadow } from "./databases.ts";

it("reads users, and ignores malformed lines", () => {
  expect(
    parsePasswd("root:x:0:0:root:/root:/usr/bin/zsh\n+::::::\nbad:x:-1:0::/:/bin/sh\nshort:x:1\na:x:7:8:A B,1,:/a:\n"),
  ).toEqual([
    { name: "root", uid: 0, gid: 0, comment: "root", home: "/root", shell: "/usr/bin/zsh" },
    { name: "a", uid: 7, gid: 8, comment: "A B,1", home: "/a", shell: "" },
  ]);
});

it("reads groups, the primary one first and each once", () => {
  const groupsOf = parseGroups("adm:x:4:eve\neve:x:1000:eve\nodd:x:nine:eve\n");
  expect(groupsOf({ name: "eve", gid: 1000 })).toEqual(["eve", "adm"]);
  expect(groupsOf({ name: "mal", gid: 77 })).toEqual(["77"]);
});

it("reads what shadow says of passwords, and nothing of the hashes", () => {
  const read = parseShadow(
    "a:$y$j9T$x:1:0:9:7:::\nb:!$y$x:1:0:9:7::0:\nc::1:0:9:7:::\nd:*:1:0:9:7:::\ne:*:1:0:9:7::9999999:\n",
  );
  expect([...read]).toEqual([
    ["a", { password: "set", expiresAt: null }],
    ["b", { password: "locked", expiresAt: 0 }],
    ["c", { password: "none", expiresAt: null }],
    ["d", { password: "locked", expiresAt: null }],
    // After the last year that a timestamp can name.
    ["e", { password: "locked", expiresAt: null }],
  ]);
});

it("throws at nothing that may be there", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(":", "\n", "x", "0", "9", "!", ",") }), (text) => {
      parsePasswd(text);
      parseShadow(text);
      parseGroups(text)({ name: "x", gid: 0 });
    }),
  );
});
