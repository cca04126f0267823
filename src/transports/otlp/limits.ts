/** Limits on requests, spans and values; what exceeds them is dropped and counted. */

/** Largest body on the wire: gRPC's default. */
export const maxBodyBytes = 4 * 1024 * 1024;
/** Largest unpacked body. */
export const maxUnpackedBytes = 8 * 1024 * 1024;
/** Total size of bodies that arrive or wait at a time. */
export const maxWaitingBytes = 32 * 1024 * 1024;
/** Bodies that arrive over gRPC at a time, and the time limit of each. */
export const maxReading = 16;
export const readingMs = 10_000;

/** Exporters send 512 by default. */
export const maxRequestSpans = 10_000;
/** Resources and scopes of a request: empty ones cost time too. */
export const maxRequestGroups = 10_000;

/** The SDKs' defaults. */
export const maxAttributes = 128;
export const maxEvents = 128;
export const maxLinks = 128;
export const maxTextBytes = 4096;
/** Total size of the attributes, events and links of a span; of the attributes of a resource. */
export const maxSpanBytes = 64 * 1024;
/** Nesting of lists. */
export const maxDepth = 8;
