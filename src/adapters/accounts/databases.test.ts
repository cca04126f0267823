import fc from "fast-check";
import { expect, it } from "vitest";
import { parseUsers } from "../files/etc.ts";
import { parseGroups, parsePasswd, parseShadow } from "./databases.ts";

it("passwd: users are read with their names, and malformed lines ignored", () => {
  expect(
    parsePasswd("root:x:0:0:root:/root:/usr/bin/zsh\n+::::::\nbad:x:-1:0::/:/bin/sh\nshort:x:1\na:x:7:8:A B,1,:/a:\n"),
  ).toEqual([
    { name: "root", uid: 0, gid: 0, comment: "root", home: "/root", shell: "/usr/bin/zsh" },
    { name: "a", uid: 7, gid: 8, comment: "A B,1", home: "/a", shell: "" },
  ]);
  expect([...parseUsers("root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/\n+::::::\nbad:x:a:\nwww:x:33:33")]).toEqual([
    [0, "root"],
    [33, "www"],
  ]);
});

it("group: groups of a user are read, the primary one first and each once", () => {
  const groupsOf = parseGroups("adm:x:4:eve\neve:x:1000:eve\nodd:x:nine:eve\n");
  expect(groupsOf({ name: "eve", gid: 1000 })).toEqual(["eve", "adm"]);
  expect(groupsOf({ name: "mal", gid: 77 })).toEqual(["77"]);
});

it("shadow: the state of a password is read, never its hash", () => {
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

it("passwd, group and shadow are read whatever they hold", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(":", "\n", "x", "0", "9", "!", ",") }), (text) => {
      parsePasswd(text);
      parseShadow(text);
      parseGroups(text)({ name: "x", gid: 0 });
    }),
  );
});
