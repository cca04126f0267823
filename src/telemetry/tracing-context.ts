/** W3C Trace Context. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const sampledFlag = 1;

const isZero = (digits: string): boolean => /^0+$/.test(digits);

/** Parses `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header), also of later versions; undefined when malformed. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, version, traceId = "", spanId = "", flags = "", rest] = pattern.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag };
}

/** The `traceparent` header of a span, version 00. */
export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
