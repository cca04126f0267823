/** What is to be done about a finding. */
export const texts = {
  runbook: (title: string) => `Runbook: ${title}`,
  local: "Written for this host.",
} as const;
