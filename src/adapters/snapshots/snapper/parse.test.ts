import { describe, expect, it } from "vitest";
import {
  parseConfigOf,
  parseDefault,
  parseExclusive,
  parseList,
  parseNumber,
  parseStatus,
  parseSubvolumes,
} from "./parse.ts";

const entry = {
  subvolume: "/",
  number: 4,
  default: false,
  active: false,
  type: "pre",
  "pre-number": null,
  date: "2026-01-31 23:59:59",
  user: "root",
  "used-space": 327_680,
  cleanup: "number",
  description: "apt",
  userdata: { important: "yes" },
};

describe("what snapper lists", () => {
  it("is read without the present", () => {
    const present = { ...entry, number: 0, date: "", userdata: null, description: "current" };
    expect(parseList(JSON.stringify({ root: [present, entry] }), "root")).toEqual([
      {
        number: 4,
        type: "pre",
        createdAt: Date.parse("2026-01-31T23:59:59Z"),
        description: "apt",
        userdata: { important: "yes" },
        usedSpace: 327_680,
      },
    ]);
  });

  it("may lack what nobody has set", () => {
    const bare = { ...entry, userdata: null, "used-space": null, date: "" };
    expect(parseList(JSON.stringify({ root: [bare] }), "root")).toMatchObject([
      { userdata: {}, usedSpace: null, createdAt: 0 },
    ]);
  });

  it.each(["", "Unknown config.", "[]", "{}", '{"other": []}', '{"root": {}}', '{"root": [1]}', '{"root": [{}]}'])(
    "is refused when it is %j",
    (text) => {
      expect(() => parseList(text, "root")).toThrow(/./);
    },
  );

  it("names the configuration of the root", () => {
    const configs = [
      { config: "home", subvolume: "/home" },
      { config: "root", subvolume: "/" },
    ];
    expect(parseConfigOf(JSON.stringify({ configs }), "/")).toBe("root");
    expect(parseConfigOf(JSON.stringify({ configs: configs.slice(0, 1) }), "/")).toBe(undefined);
    expect(parseConfigOf("{}", "/")).toBe(undefined);
  });
});

describe("the number of a new snapshot", () => {
  it("is the whole of what is printed", () => {
    expect(parseNumber("12\n")).toBe(12);
    for (const text of ["", "\n", "12 13", "-1", "created 12"]) expect(() => parseNumber(text)).toThrow(/no number/);
  });
});

describe("what has changed since a snapshot", () => {
  it("is read with names that are unusual", () => {
    const text = [
      "+..... /etc/a b",
      "-..... /etc/gone",
      "c..... /etc/hosts",
      ".p.... /etc/mode",
      "t..... /etc/kind",
      "..ug.. /etc/owner",
      "+..... /etc/two",
      "lines",
      "....xa /etc/back\\slash",
      "",
    ].join("\n");
    expect(parseStatus(text)).toEqual([
      { path: "/etc/a b", change: "added" },
      { path: "/etc/gone", change: "removed" },
      { path: "/etc/hosts", change: "modified" },
      { path: "/etc/mode", change: "modified" },
      { path: "/etc/kind", change: "modified" },
      { path: "/etc/owner", change: "modified" },
      { path: "/etc/two\nlines", change: "added" },
      { path: "/etc/back\\slash", change: "modified" },
    ]);
  });

  it("may be nothing", () => {
    expect(parseStatus("")).toEqual([]);
  });
});

describe("what btrfs says", () => {
  it("are subvolumes", () => {
    const text = "ID 256 gen 44 top level 5 path @\nID 260 gen 44 top level 256 path @/srv/a b\n";
    expect(parseSubvolumes(text)).toEqual([
      { id: 256, parentId: 5, path: "@" },
      { id: 260, parentId: 256, path: "@/srv/a b" },
    ]);
    expect(parseSubvolumes("")).toEqual([]);
  });

  it("is the default subvolume", () => {
    expect(parseDefault("ID 5 (FS_TREE)\n")).toBe(5);
    expect(parseDefault("ID 264 gen 56 top level 257 path @snapshots/3/snapshot\n")).toBe(264);
    expect(() => parseDefault("")).toThrow(/default/);
  });

  it("is the size of a snapshot", () => {
    const text =
      "     Total   Exclusive  Set shared  Filename\n 398766080      286720   195878912  /.snapshots/1/snapshot\n";
    expect(parseExclusive(text)).toBe(286_720);
    expect(parseExclusive("     Total   Exclusive  Set shared  Filename\n    1     0       -  /x y\n")).toBe(0);
    expect(() => parseExclusive("")).toThrow(/how large/);
  });
});
