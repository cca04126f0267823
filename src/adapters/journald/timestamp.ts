const microsecondsPerSecond = 1_000_000;
const microsecondsPerMinute = 60_000_000;
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/** Microseconds since the epoch as RFC 3339 in UTC. Minutes repeat from entry to entry, so the last one is kept. */
export function createTimestampFormat(): (micros: number) => string {
  let lastMinute = Number.NaN;
  let prefix = "";
  return (micros) => {
    const minute = Math.floor(micros / microsecondsPerMinute);
    if (minute !== lastMinute) {
      lastMinute = minute;
      prefix = new Date(minute * 60_000).toISOString().slice(0, 17);
    }
    const rest = micros - minute * microsecondsPerMinute;
    const second = Math.floor(rest / microsecondsPerSecond);
    // A leading 1 keeps the zeros.
    return `${prefix}${twoDigits[second] ?? ""}.${String(rest - second * microsecondsPerSecond + microsecondsPerSecond).slice(1)}Z`;
  };
}
