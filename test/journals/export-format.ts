/** A field of an entry; a text is written as UTF-8. */
export type Field = readonly [name: string, value: string | Buffer];

/** An entry as it is to be written. Times are microseconds: since the epoch, and since the boot. */
export interface NewEntry {
  readonly realtime: number;
  readonly monotonic: number;
  /** 32 hex digits. */
  readonly bootId: string;
  readonly fields: readonly Field[];
}

/** The same of any time: a number holds those up to the year 2255. */
export type AnyEntry = Omit<NewEntry, "realtime"> & { readonly realtime: number | bigint };

const newline = Buffer.from("\n");

/** Text that a line can hold; everything else is written with its length before it. */
const isPlain = (value: string | Buffer): value is string => typeof value === "string" && !/[\n\0]/.test(value);

function encodeField([name, value]: Field): Buffer {
  if (isPlain(value)) return Buffer.from(`${name}=${value}\n`);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, bytes, newline]);
}

/** The entry in systemd's "Journal Export Format", which systemd-journal-remote reads. */
export function encodeEntry({ realtime, monotonic, bootId, fields }: AnyEntry): Buffer {
  return Buffer.concat([
    Buffer.from(`__REALTIME_TIMESTAMP=${realtime}\n__MONOTONIC_TIMESTAMP=${monotonic}\n_BOOT_ID=${bootId}\n`),
    ...fields.map(encodeField),
    newline,
  ]);
}
