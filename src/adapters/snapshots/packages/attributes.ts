import { existsSync } from "node:fs";
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";

/** Extended attributes, capabilities among them, and ACLs, as tar names them in pax headers; values in base64. */
export type Attributes = Readonly<Record<string, string>>;

const block = 512;
const timeoutMs = 10 * 60_000;
const program = "/usr/bin/tar";
const options = ["--acls", "--xattrs", "--xattrs-include=*"] as const;
/** Labels come back with restorecon, by the policy of now. The kernel itself writes those of integrity. */
const isRecorded = (key: string): boolean =>
  /^SCHILY\.(xattr|acl)\./.test(key) && !/^SCHILY\.xattr\.(system\.|security\.(selinux|ima|evm)$)/.test(key);

const padded = (size: number): number => Math.ceil(size / block) * block;
const textOf = (field: Buffer): string => field.toString("utf8").replace(/\0.*$/s, "");

function parseRecords(body: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(" ", at);
    const length = Number(body.toString("latin1", at, space));
    const equals = body.indexOf("=", space);
    if (space < 0 || equals < 0 || !(length > 0)) break;
    records.set(body.toString("utf8", space + 1, equals), body.subarray(equals + 1, at + length - 1));
    at += length;
  }
  return records;
}

/** Reads an archive that comes in chunks, without its contents. */
function createArchiveReader(onEntry: (path: string, attributes: Attributes) => void) {
  let pending = Buffer.alloc(0);
  let skip = 0;
  let records: ReadonlyMap<string, Buffer> = new Map();
  const step = (): boolean => {
    const passed = Math.min(skip, pending.length);
    pending = pending.subarray(passed);
    skip -= passed;
    if (skip > 0 || pending.length < block) return false;
    const size = Number.parseInt(textOf(pending.subarray(124, 136)), 8) || 0;
    const type = String.fromCharCode(pending[156] ?? 0);
    if (type === "x" && pending.length < block + padded(size)) return false;
    if (type === "x") {
      records = parseRecords(pending.subarray(block, block + size));
    } else {
      const kept = [...records].filter(([key]) => isRecorded(key)).sort(([one], [other]) => (one < other ? -1 : 1));
      const name = records.get("path")?.toString("utf8") ?? `${textOf(pending.subarray(0, 100))}`;
      const path = name.replace(/^\.\//, "").replace(/\/$/, "").replace(/^\.$/, "");
      if (kept.length > 0)
        onEntry(path, Object.fromEntries(kept.map(([key, value]) => [key, value.toString("base64")])));
      const given = records.get("size")?.toString("latin1");
      skip = padded(given === undefined ? size : Number(given));
      records = new Map();
    }
    pending = pending.subarray(block + (type === "x" ? padded(size) : 0));
    return true;
  };
  return (chunk: Buffer): void => {
    pending = Buffer.concat([pending, chunk]);
    while (step());
  };
}

function header(
  name: string,
  type: string,
  { size, mode, uid, gid, mtimeMs }: Metadata & { readonly size: number },
): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, digits: number): void => {
    bytes.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "latin1");
  };
  bytes.write(name, 0, 100, "utf8");
  octal(mode, 100, 7);
  octal(Math.min(uid, 0o7777777), 108, 7);
  octal(Math.min(gid, 0o7777777), 116, 7);
  octal(size, 124, 11);
  octal(Math.floor(mtimeMs / 1000), 136, 11);
  bytes.write(`        ${type}`, 148, "latin1");
  bytes.write("ustar\x0000", 257, "latin1");
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  return bytes;
}

interface Metadata {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeMs: number;
}

function recordOf(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  // The length counts its own digits.
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

const fill = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);

/** What keeps attributes and brings them back: tar, which every distribution has. */
export function createAttributes({ exec }: { readonly exec: Exec }) {
  return {
    isAvailable: () => existsSync(program),

    /** Those of all files below a directory that have any, by their paths. */
    async read(root: string, signal: AbortSignal): Promise<ReadonlyMap<string, Attributes>> {
      const found = new Map<string, Attributes>();
      const onOutput = createArchiveReader((path, attributes) => found.set(path, attributes));
      const words = [
        "--directory",
        root,
        "--format=posix",
        "--one-file-system",
        ...options,
        "--create",
        "--file=-",
        ".",
      ];
      const { exitCode, stderr } = await exec([program, ...words], { signal, timeoutMs, onOutput });
      // 1: a file changed while it was read.
      if (exitCode > 1) throw new Error(`tar cannot read ${root}: ${stderr.trim()}`);
      return found;
    },

    /** Writes a file, or an existing directory's metadata, with its attributes. */
    async write(
      { directory, name }: { readonly directory: FileHandle; readonly name: string },
      entry: Metadata & { readonly attributes: Attributes; readonly type: "file" | "folder" },
      content: Buffer,
    ): Promise<void> {
      const records = Object.entries(entry.attributes).map(([key, value]) =>
        recordOf(key, Buffer.from(value, "base64")),
      );
      for (const key of ["uid", "gid"] as const) records.push(recordOf(key, Buffer.from(String(entry[key]))));
      records.push(recordOf("mtime", Buffer.from((entry.mtimeMs / 1000).toFixed(3))));
      const pax = Buffer.concat(records);
      const archive = Buffer.concat([
        header("attributes", "x", { ...entry, size: pax.length }),
        fill(pax),
        header(name, entry.type === "file" ? "0" : "5", { ...entry, size: content.length }),
        fill(content),
        Buffer.alloc(2 * block),
      ]);
      const work = await mkdtemp(join(tmpdir(), "steward-attributes-"));
      try {
        await using file = await open(join(work, "archive"), "wx", 0o600);
        await file.writeFile(archive);
        const within = `/proc/${process.pid}/fd/${directory.fd}`;
        const words = ["--directory", within, "--preserve-permissions", "--same-owner", "--numeric-owner", ...options];
        const argv = [program, ...words, "--extract", "--file", join(work, "archive"), "--", name] as const;
        const { exitCode, stderr } = await exec(argv, { timeoutMs });
        if (exitCode !== 0) throw new Error(`tar cannot write it with its attributes: ${stderr.trim()}`);
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
  };
}

export type KeptAttributes = ReturnType<typeof createAttributes>;
