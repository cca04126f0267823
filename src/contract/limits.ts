/** First part of every HTTP and WebSocket path but the probes and `/metrics`. */
export const apiBase = "/api/v1";

/** Requests for each key, as the contract sets them. */
export const defaultRateLimits = { perMinute: 100, perHour: 1000 } as const;

/** Largest request body that is read. */
export const maxBodyBytes = 1024 * 1024;

/** Bounds and default of `limit` on the service listing. Outside them is an error, never a silent cut. */
export const serviceListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

/** Bounds and default of `limit` on the log query. */
export const logQueryLimit = { minimum: 1, maximum: 10_000, default: 1000 } as const;

/** How far back a log query looks unless it says otherwise. */
export const logWindowMs = 60 * 60 * 1000;

/** Upper bounds of the request duration histogram, in seconds. */
export const durationBuckets = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0] as const;

/** How often each monitored component is probed. */
export const probeIntervalMs = 30_000;
