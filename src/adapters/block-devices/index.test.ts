import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDevices } from "./index.ts";

const row = (kname: string, more: object = {}) => ({
  ...{ kname, path: `/dev/${kname}`, "maj:min": "8:0", type: "disk", size: 1000, ro: false, rm: false, rota: true },
  ...{ model: null, tran: null, fstype: null, label: null, uuid: null },
  ...more,
});
const answer = (...rows: readonly object[]): string => JSON.stringify({ blockdevices: rows });

describe("the output of lsblk", () => {
  it("has each device once, after all that it is made of", () => {
    const array = row("md0", { type: "raid1", children: [row("dm-0", { type: "lvm", path: "/dev/mapper/vg-root" })] });
    const devices = parseDevices(
      answer(
        row("sda", {
          model: "Disk One   ",
          tran: "sata",
          children: [row("sda1", { type: "part", children: [array] })],
        }),
        row("sdb", { children: [row("sdb1", { type: "part", children: [array] })] }),
      ),
    );
    expect(devices?.map(({ name, parents }) => [name, parents])).toEqual([
      ["sda", []],
      ["sda1", ["sda"]],
      ["sdb", []],
      ["sdb1", ["sdb"]],
      ["md0", ["sda1", "sdb1"]],
      ["dm-0", ["md0"]],
    ]);
    expect(devices?.[0]).toMatchObject({ model: "Disk One", transport: "sata", isRotational: true, content: null });
  });

  it("of an old version has numbers and booleans as strings, and anything in labels", () => {
    const [device] = parseDevices(answer(row("sr0", { size: "42", ro: "1", rm: "1", rota: "0" }))) ?? [];
    expect(device).toMatchObject({ sizeBytes: 42, isReadOnly: true, isRemovable: true, isRotational: false });
    const label = 'a\nb\u001b[2J"\\ü';
    const devices = parseDevices(answer(row("sda", { fstype: "ext4", label, uuid: "" }), { kname: null }, row("")));
    expect(devices?.map(({ content }) => content)).toEqual([{ type: "ext4", label, uuid: null }]);
  });

  it("is a list of devices or rejected, whatever it holds", () => {
    const anyRow = fc.letrec((tie) => ({
      row: fc.record(
        {
          kname: fc.oneof(fc.constantFrom("a", "b", "c"), fc.jsonValue()),
          size: fc.jsonValue(),
          fstype: fc.jsonValue(),
          children: fc.oneof({ depthSize: "small" }, fc.jsonValue(), fc.array(tie("row"), { maxLength: 3 })),
        },
        { requiredKeys: [] },
      ),
    })).row;
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 4 }), (rows) => {
        const devices = parseDevices(JSON.stringify({ blockdevices: rows })) ?? [];
        const names = devices.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        for (const { parents, name } of devices) expect(parents).not.toContain(name);
        for (const { parents } of devices) expect(names).toEqual(expect.arrayContaining([...parents]));
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => parseDevices(text) === undefined));
  });
});
