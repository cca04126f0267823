/** The result for an exporter whose spans were accepted, at least in part. */
export interface Taken {
  readonly rejected: number;
  /** Why spans were rejected; empty when none were. */
  readonly message: string;
}

const varint = (value: number): readonly number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
};
const delimited = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);

/** ExportTraceServiceResponse: empty when all was accepted. Encoded by hand, so that no library is loaded for it. */
export function takenReply({ rejected, message }: Taken): Buffer {
  if (rejected === 0) return Buffer.alloc(0);
  const partial = Buffer.concat([Buffer.from([1 << 3, ...varint(rejected)]), delimited(2, Buffer.from(message))]);
  return delimited(1, partial);
}

/** {@link takenReply} as JSON, where 64-bit integers are strings. */
export const takenReplyJson = ({ rejected, message }: Taken): string =>
  JSON.stringify(rejected === 0 ? {} : { partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } });

/** google.rpc.Status, for a refusal over HTTP. */
export const refusalReply = (message: string): Buffer => delimited(2, Buffer.from(message));
export const refusalReplyJson = (message: string): string => JSON.stringify({ message });
