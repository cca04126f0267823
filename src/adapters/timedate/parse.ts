/** `timedatectl show`: `Name=value` lines, switches as `yes` and `no`. Undefined where one of them is missing. */
export function parseTimedate(text: string) {
  const values = new Map(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()] as const];
    }),
  );
  const [canSync, isEnabled, isSynchronised] = ["CanNTP", "NTP", "NTPSynchronized"].map((name) => values.get(name));
  if (canSync === undefined || isEnabled === undefined || isSynchronised === undefined) return undefined;
  return { canSync: canSync === "yes", isEnabled: isEnabled === "yes", isSynchronised: isSynchronised === "yes" };
}
