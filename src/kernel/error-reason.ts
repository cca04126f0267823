const maxReasonLength = 200;

/** What is short and safe to log of an error: the words of another program may be long. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code = "code" in error ? String(error.code) : error.name;
  return (error.message === "" ? code : error.message).slice(0, maxReasonLength);
}
