/** One command of the tour. */
export interface Stop {
  /** Said above it, as a comment at the prompt. */
  readonly comment: string;
  readonly words: readonly string[];
  /** How its process ends: 1 where it finds trouble. */
  readonly exitCode: 0 | 1;
  /** How long its last screen stays. */
  readonly holdMs: number;
}

/** The tour, in the order in which it tells its story. */
export const stops: readonly Stop[] = [
  { comment: "How is this host?", words: ["steward", "status"], exitCode: 1, holdMs: 4500 },
  { comment: "What is wrong with it?", words: ["steward", "doctor"], exitCode: 1, holdMs: 6000 },
  {
    comment: "What happened, and what does a language model make of it?",
    words: ["steward", "explain", "systemd_failed"],
    exitCode: 0,
    holdMs: 6000,
  },
  {
    comment: "Errors of all services, read from the journal files",
    words: ["steward", "logs", "-p", "err", "-n", "8"],
    exitCode: 0,
    holdMs: 4000,
  },
  {
    comment: "Make room on the full disk; the plan comes first",
    words: ["steward", "doctor", "--check", "disk_space", "--fix", "--yes"],
    exitCode: 0,
    holdMs: 5000,
  },
  {
    comment: "The security update, with a snapshot before it",
    words: ["steward", "updates", "apply", "--security", "--yes"],
    exitCode: 0,
    holdMs: 4500,
  },
  { comment: "And the way back", words: ["steward", "snapshots"], exitCode: 0, holdMs: 5000 },
];
