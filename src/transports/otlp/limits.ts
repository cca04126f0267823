/** What is read of a request, of a span, and of a value; what goes beyond is left out and counted. */

/** The largest body as it comes over the wire: what gRPC takes unless told otherwise. */
export const maxBodyBytes = 4 * 1024 * 1024;
/** The largest body once it is unpacked. */
export const maxUnpackedBytes = 8 * 1024 * 1024;
/** Bodies that arrive or wait at the same time, all together. */
export const maxWaitingBytes = 32 * 1024 * 1024;
/** Bodies that arrive over gRPC at the same time, each of which may be as large as one can be, and how long each may take. */
export const maxReading = 16;
export const readingMs = 10_000;

/** Spans of one request. Exporters send 512 unless told otherwise. */
export const maxRequestSpans = 10_000;
/** Resources, and libraries of them, in one request: those that have no span cost time too. */
export const maxRequestGroups = 10_000;

/** Attributes of a span, an event, a link, a resource; events and links of a span: as the SDKs have it. */
export const maxAttributes = 128;
export const maxEvents = 128;
export const maxLinks = 128;
/** Bytes of one text: a name, a value. */
export const maxTextBytes = 4096;
/** What the attributes, events and links of a span may have together, and the attributes of a resource. */
export const maxSpanBytes = 64 * 1024;
/** Lists in lists. */
export const maxDepth = 8;
