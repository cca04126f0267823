import { gunzipSync } from "node:zlib";
import type { SpanGroup } from "#domain/ports/traces.ts";
import { errnoCode } from "#kernel/errors.ts";
import { type DecodedTraces, decodeTraces } from "./decode.ts";
import { protobufOfJson } from "./json.ts";
import { maxRequestSpans, maxUnpackedBytes, type TraceBody, TracesRefused } from "./receiver.ts";
import { MalformedTraces } from "./wire.ts";

export interface ReadTraces {
  readonly groups: readonly SpanGroup[];
  readonly accepted: number;
  readonly rejected: number;
  readonly reason: string;
  readonly protobuf: Uint8Array;
}

const isTooLarge = (error: unknown): boolean => errnoCode(error) === "ERR_BUFFER_TOO_LARGE";

function unpack({ bytes, isGzip }: TraceBody): Uint8Array {
  if (!isGzip) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: maxUnpackedBytes });
  } catch (error) {
    if (isTooLarge(error))
      throw new TracesRefused("too_large", `the body is larger than ${maxUnpackedBytes} bytes when it is unpacked`);
    throw new TracesRefused("malformed", "the body is not gzip");
  }
}

function rejectionReason({ rejected }: DecodedTraces): string {
  const reasons = [
    [rejected.invalid_id, "with an invalid id"],
    [rejected.invalid_time, "with a time beyond the year 2255"],
    [rejected.too_many, `beyond the ${maxRequestSpans} of one request`],
  ] as const;
  return reasons
    .filter(([count]) => count > 0)
    .map(([count, why]) => `${count} spans ${why}`)
    .join(", ");
}

export function readTraces(body: TraceBody): ReadTraces {
  const unpacked = unpack(body);
  try {
    const protobuf = body.format === "json" ? protobufOfJson(unpacked) : unpacked;
    const decoded = decodeTraces(protobuf);
    const rejected = Object.values(decoded.rejected).reduce((sum, count) => sum + count, 0);
    return {
      groups: decoded.groups,
      accepted: decoded.spans - rejected,
      rejected,
      reason: rejectionReason(decoded),
      protobuf,
    };
  } catch (error) {
    if (error instanceof MalformedTraces)
      throw new TracesRefused("malformed", `the body is malformed: ${error.message}`);
    throw error;
  }
}
