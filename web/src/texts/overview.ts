const checks = (count: number, verb: string): string =>
  `${count} ${count === 1 ? "check" : "checks"} ${count === 1 ? `${verb}s` : verb}`;

export const texts = {
  title: "Overview",
  allWell: "All is well: no check fails or warns.",
  verdict: (failed: number, warned: number, names: readonly string[]) => {
    const parts = [...(failed > 0 ? [checks(failed, "fail")] : []), ...(warned > 0 ? [checks(warned, "warn")] : [])];
    const more = failed + warned > names.length ? " and others" : "";
    return `${parts.join(" and ")}: ${names.join(", ")}${more}.`;
  },
  passed: (passed: number, total: number) => `${passed} of ${total} checks pass`,
  kernel: (release: string) => `kernel ${release}`,
  threads: (count: number) => `${count} ${count === 1 ? "processor" : "processors"}`,
  rebootAt: "Reboot scheduled:",
} as const;
