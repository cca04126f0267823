const redacted = "[redacted]";
/** Shorter ones, such as a user name, are words that an answer may have for other reasons. */
const shortest = 8;

export interface Screen {
  /** The text as far as it is sure that no secret begins in it which the next piece goes on with. */
  readonly push: (text: string) => string;
  readonly end: () => string;
}

/** How many characters at the end of a text may be the beginning of a secret. */
function lengthOfBeginning(text: string, secrets: readonly string[]): number {
  const longest = Math.max(0, ...secrets.map((secret) => secret.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    const tail = text.slice(-length);
    if (secrets.some((secret) => secret.startsWith(tail))) return length;
  }
  return 0;
}

/**
 * For what a model says: a server that repeats what it was sent, headers and all, must not tell the key to whoever may only
 * chat. Nothing but the secrets themselves is taken out, since an answer may be about anything.
 */
export function createScreen(given: readonly string[]): Screen {
  const secrets = given.filter(({ length }) => length >= shortest);
  const without = (text: string): string => secrets.reduce((each, secret) => each.replaceAll(secret, redacted), text);
  let kept = "";
  return {
    push(text) {
      const screened = without(kept + text);
      const length = lengthOfBeginning(screened, secrets);
      kept = screened.slice(screened.length - length);
      return screened.slice(0, screened.length - length);
    },
    end() {
      const rest = kept;
      kept = "";
      return rest;
    },
  };
}

export function screened(text: string, secrets: readonly string[]): string {
  const screen = createScreen(secrets);
  return screen.push(text) + screen.end();
}
