/** Entries of the journal. */
export const texts = {
  priorities: ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"],
  ofUnit: (unit: string) => `Log of ${unit}`,
  unitSilent: "It has written nothing yet.",
  allOfUnit: "All entries in Logs",
} as const;
