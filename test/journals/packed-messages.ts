import { unpack } from "#adapters/journald/journal-file/data.ts";
import { incompatible } from "./file-header.ts";
import { hostFixtures, readFixture } from "./fixture-files.ts";
import { anatomyOf } from "./mutations.ts";
import type { Packing } from "./small-journal.ts";

const objectFlags = { LZ4: 2, XZ: 1 } as const;
const headerFlags = { LZ4: incompatible.lz4, XZ: incompatible.xz } as const;

/** Messages as systemd has packed them with a compression that Node cannot do, taken out of a fixture. */
export function packedMessages(compression: "LZ4" | "XZ"): { readonly messages: readonly string[] } & Packing {
  const fixture = hostFixtures.find((each) => each.compression === compression && !each.compact);
  if (fixture === undefined) throw new Error(`no fixture is packed with ${compression}`);
  const { bytes, objects } = anatomyOf(readFixture(fixture.name));
  const payloads = objects
    .filter(({ type, isCompressed }) => type === 1 && isCompressed)
    .map(({ offset, size }) => bytes.subarray(offset + 64, offset + size));
  const packed = new Map(
    payloads.map((each) => [unpack(each, objectFlags[compression], 0).toString("latin1"), each] as const),
  );
  const isMessage = (payload: string): boolean => payload.startsWith("MESSAGE=");
  return {
    messages: [...packed.keys()].filter(isMessage).map((payload) => payload.slice("MESSAGE=".length)),
    objectFlag: objectFlags[compression],
    headerFlag: headerFlags[compression],
    pack: (payload) => packed.get(payload.toString("latin1")),
  };
}
