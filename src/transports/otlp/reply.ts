/** What is told to an exporter whose spans were taken, at least in part. */
export interface Taken {
  readonly rejected: number;
  /** Why; empty when none were rejected. */
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

/** ExportTraceServiceResponse: empty when everything was taken. Its few fields are written by hand, so that nothing is loaded for it. */
export function takenReply({ rejected, message }: Taken): Buffer {
  if (rejected === 0) return Buffer.alloc(0);
  const partial = Buffer.concat([Buffer.from([1 << 3, ...varint(rejected)]), delimited(2, Buffer.from(message))]);
  return delimited(1, partial);
}

/** The same as JSON; integers of 64 bits are text there. */
export const takenReplyJson = ({ rejected, message }: Taken): string =>
  JSON.stringify(rejected === 0 ? {} : { partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } });

/** google.rpc.Status, which a refusal over HTTP has. */
export const refusalReply = (message: string): Buffer => delimited(2, Buffer.from(message));
export const refusalReplyJson = (message: string): string => JSON.stringify({ message });
