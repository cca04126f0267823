import fc from "fast-check";
import { expect, it } from "vitest";
import { unpackXz } from "./xz.ts";

const limit = 1 << 24;
const of = (base64: string): Buffer => Buffer.from(base64, "base64");
const lines = Buffer.from(Array.from({ length: 40 }, (_, number) => `line ${number} of the journal, `).join(""));

/** Written by liblzma: with the settings of systemd, and with every kind of context for literals and positions. */
const bySystemd = of(
  "/Td6WFoAAAD/EtlBAgAhARAAAACocI6G4AO1AG9dADYaSh8IoCYDTQad+LKlrKv8WZv2qR9g6HDDaIM3VoxWC7hy7znwlpLHmN9yluQ423Xs0ojUprHMRRokmsgFGVty0ZOx2nlu0D4RcV38oC+RoG8o6XDYL42kXcy1x5CEJD22qdJVWvMXP+HcpRGPOgAAAAGDAbYHAADYnEdbqAAK/AIAAAAAAFla",
);
const byPosition = of(
  "/Td6WFoAAAD/EtlBAgAhARYAAAB0L+Wj4AO1AHjYADYaScZRAMBAbzMIDoaIBg1G88SDDLMPWZSmdeYLzrE2meDwUDglYW10GvTUKyZSZXoH4Me4G7AJZeN0AyjXJJiO9DnYSogxmkhnWFCwsDJ/TsKLp0xZ+flBMT9AdID1efpDFoOMZVKAGXsNoldQmOuc7S/3nlMuAAAAAYwBtgcAAA0uEaqoAAr8AgAAAAAAWVo=",
);
const byLiterals = of(
  "/Td6WFoAAAD/EtlBAgAhARYAAAB0L+Wj4AO1AG8EADYbHXYTSXVq223JULsu9LwdQB3Sdz9VsfQlYf+CI+9uC5bFSC40ekAh7mG7KjGDpuvH5VuPYODMQ7a/1TSSqT3ANrZUT4BxY+JTtRrkj557y7D/G31QQfD+iJSi73vxnJffnpV+zfm8QGYCO+MHAAAAAAGDAbYHAADYnEdbqAAK/AIAAAAAAFla",
);
/** Three million bytes in two chunks. */
const long = of(
  "/Td6WFoAAAD/EtlBAgAhARYAAAB0L+Wj//8TAW9dADCYiK1LNxKjMYXd+lME7evfQrgS8x/qmK6BARbvZMTWAMZN6eRdTCrA6Ew7H1KdTgkvyVR7yu+RFktjQNTpNuystdI+if/efUoERucR5vHRfKJ/9ZlJWfZIaLqxfnFGcQgjAW0TVzRPHp++rnwxGp+3jTFucJ6nI1/sKMuF0ZWYin4qkfIndfcZwAaYTZj92K/VkA/EJVP49ZE2MQWlsO5vwXBNRwzRkRGqrWAdus6xJxhcWYbpZlJYvul2rFnk5VsFCPnH2q38+1IrdM0eWyBC+d1TPfgpZAk7gMsqbN+1O/DEvS5fqg8+S2ZCkBMO/xCT+HF4WfgLzf+VKEYPqfx83vuaMC5WwI+F84OBwGXEJVP49ZE2MQWlsO5vwXBNRwzRkRGqrWAdus6xJxhcWYbpZlJYvul2rFnk5VsFCPnH2q38+1IrdM0eWyBC+d1TPfgpZAk7gMsqbN+1O/DEvS5fqg8+S2ZCkBMO/w9Rmr6Nx6sAgwDsc1On/b6ufDEan7eNMW5wnqcjX+woy4XRlZiKfiqR8id19xnABphNmP3Yr9WQD8QlU/j1kTYxBaWw7m/BcE1HDNGREaqtYB26zrEnGFxZhulmUli+6XasWeTlWwUI+cfarfz7Uit0zR5bIEL53VM9+ClkCTuAyyps37U78MS9EymDLgAAAYwEwI23AYLIhByoAAr8AgAAAAAAWVo=",
);

it.each([
  ["the settings of systemd", bySystemd, lines],
  ["literals distinguished by their position", byPosition, lines],
  ["literals distinguished by what is before them", byLiterals, lines],
  ["several chunks", long, Buffer.alloc(3_000_000, "abc")],
])("XZ: unpacks %s", (_, packed, content) => {
  expect(unpackXz(packed, limit).equals(content)).toBe(true);
});

const header = bySystemd.subarray(0, 24);
const plain = (control: number, bytes: readonly number[]): readonly number[] => [
  control,
  Math.floor((bytes.length - 1) / 256),
  (bytes.length - 1) % 256,
  ...bytes,
];
const stream = (...chunks: readonly (readonly number[])[]): Buffer =>
  Buffer.concat([header, Buffer.from([...chunks.flat(), 0])]);

it("XZ: unpacks chunks that are not packed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat({ max: 255 }), { minLength: 1, maxLength: 600 }), { minLength: 1, maxLength: 5 }),
      (parts) => {
        const packed = stream(...parts.map((part, at) => plain(at === 0 ? 1 : 2, part)));
        expect(unpackXz(packed, limit)).toEqual(Buffer.from(parts.flat()));
      },
    ),
    { numRuns: 100 },
  );
});

it("XZ: knows the size of the content before it reserves memory", () => {
  const claim = [0x9f, 0xff, 0xff, 0, 4, 0, 0, 0, 0, 0];
  const first = [0xff, 0xff, 0xff, 0, 4, 0x5d, 0, 0, 0, 0, 0];
  const bomb = stream(first, ...Array.from({ length: 200 }, () => claim));
  const before = process.memoryUsage().arrayBuffers;
  expect(() => unpackXz(bomb, limit)).toThrow(RangeError);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  expect(() => unpackXz(long, 2_999_999)).toThrow(RangeError);
  expect(unpackXz(long, 3_000_000)).toHaveLength(3_000_000);
});

it.each([
  ["nothing", Buffer.alloc(0)],
  ["a header alone", header],
  ["another filter", Buffer.concat([bySystemd.subarray(0, 14), Buffer.from([0x03]), bySystemd.subarray(15)])],
  ["a first chunk that continues an earlier one", stream(plain(2, [1]))],
  ["a chunk without properties", stream(plain(1, [1]), [0x80, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0])],
  ["a chunk of another kind", stream(plain(1, [1]), [3, 0, 0, 1])],
  ["properties beyond the bound", stream([0xe0, 0, 0, 0, 5, 0xe0, 0, 0, 0, 0, 0, 0])],
  ["a chunk that is cut off", bySystemd.subarray(0, 90)],
  ["no end", Buffer.concat([header, Buffer.from(plain(1, [1, 2]))])],
])("XZ: refuses %s", (_, packed) => {
  expect(() => unpackXz(packed, limit)).toThrow(RangeError);
});

it("XZ: throws nothing but RangeError for any bytes", () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.constantFrom(bySystemd, byPosition, byLiterals, long), damage, (sound, changes) => {
      const packed = Buffer.from(sound);
      for (const [at, value] of changes) packed[12 + (at % (packed.length - 12))] = value;
      try {
        expect(unpackXz(packed, limit).length).toBeLessThanOrEqual(limit);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
    { numRuns: 500 },
  );
});
