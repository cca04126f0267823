import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

/** A body as it was before it was compressed. @param coding the value of `Content-Encoding`. */
export function decoded(body: Buffer, coding: unknown): Buffer {
  if (typeof coding !== "string") return body;
  const decode = decoders[coding];
  if (decode === undefined) throw new Error(`cannot read a body in ${coding}`);
  return decode(body);
}
