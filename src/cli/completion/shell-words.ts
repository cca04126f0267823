/** What has been typed of a word: its text without quotes, and the quote that is still open. */
export interface TypedWord {
  readonly text: string;
  readonly open: "" | "'" | '"';
}

/** Reads a word as it stands on a command line of bash, zsh or fish. Nothing in it is expanded or run. */
export function readTyped(word: string): TypedWord {
  let text = "";
  let open: TypedWord["open"] = "";
  for (let at = 0; at < word.length; at += 1) {
    const each = word.charAt(at);
    if (each === open) open = "";
    else if (open === "" && (each === "'" || each === '"')) open = each;
    else if (each === "\\" && open !== "'" && at + 1 < word.length) {
      at += 1;
      text += word.charAt(at);
    } else text += each;
  }
  return { text, open };
}

const mostChars = 256;

/** Whether a name can be offered at a prompt: printable, without spaces, and not taken for an option. */
export const isOffered = (name: string): boolean =>
  name.length <= mostChars && /^[\x21-\x7e]+$/.test(name) && !name.startsWith("-");

const plain = /^[\w@%+=:,./-]+$/;

const escaped = (name: string): string => name.replaceAll(/[^\w@%+=:,./-]/g, String.raw`\$&`);

/**
 * What takes the place of the end of a word in bash, which inserts it as it is.
 * @param typed the word up to the cursor; bash replaces what follows its first `kept` characters.
 * @returns undefined where the name cannot be put there.
 */
export function bashReply(name: string, typed: string, kept: number): string | undefined {
  const { open } = readTyped(typed);
  // Bash keeps the quote and closes it; what would need more than that is not offered.
  if (open !== "") return typed.startsWith(open) && kept === 1 && plain.test(name) ? name : undefined;
  const word = escaped(name);
  return word.startsWith(typed.slice(0, kept)) ? word.slice(kept) : undefined;
}
