/** One message of a chat, as it comes. */
export interface AskedMessage {
  readonly role: string;
  readonly content: string;
}

const stands = "(This is the stand-in of the demo: a program that picks lines, not a language model.)";
const trouble = /\b(?:error|fail(?:ed|ure)?|cannot|timed out|denied|refused|no such|full|critical)\b/i;
const mostQuoted = 160;

const cut = (text: string): string => (text.length > mostQuoted ? `${text.slice(0, mostQuoted - 1)}…` : text);
const fieldOf = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.+)$`, "m").exec(text)?.[1]?.trim();

/** Journal lines as they are sent for an explanation: `L12 time unit: text`. */
function troubledLines(text: string): readonly { readonly number: string; readonly text: string }[] {
  const lines = [...text.matchAll(/^L(\d+) (.+)$/gm)].map(([, number = "", line = ""]) => ({ number, text: line }));
  const bad = lines.filter((line) => trouble.test(line.text));
  // What the program itself said says more than what systemd says of it.
  const own = bad.filter((line) => !line.text.includes(" systemd[1] "));
  // The newest say most of what is wrong now; more than a few are not read.
  return (own.length > 0 ? own : bad).slice(-3);
}

function explanation(data: string): string {
  const message = fieldOf(data, "message") ?? "the check did not say what it found";
  const fix = fieldOf(data, "fix") ?? "none";
  const lines = troubledLines(data);
  const evidence =
    lines.length === 0
      ? "No line of the journal that I was given says why."
      : `The journal says so:\n${lines.map(({ number, text }) => `- [L${number}] ${cut(text)}`).join("\n")}`;
  const next = /^none/.test(fix)
    ? "Next: fix the cause that the journal names, then look at the check again."
    : `Next: look at the plan of the fix (${fix.replace(/ \(.*/, "")}) with a dry run, then let it run.`;
  return [`What is wrong: ${message}.`, evidence, next, stands].join("\n\n");
}

function remark(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const bad = lines.filter((line) => trouble.test(line));
  if (lines.length < 3) return `You asked: “${cut(lines.join(" "))}”. ${stands}`;
  const first = bad[0];
  const found =
    first === undefined
      ? "None of them looks like trouble."
      : `${bad.length} of them look like trouble; the first is: ${cut(first.trim())}`;
  return `I was given ${lines.length} lines. ${found}\n\n${stands}`;
}

/** What the stand-in for a language model says: made from what it was asked, and from nothing else. */
export function answerTo(messages: readonly AskedMessage[]): string {
  // What is attached to a question stands in messages of its own before it.
  const before = messages.findLastIndex(({ role }) => role !== "user");
  const asked = messages
    .slice(before + 1)
    .map(({ content }) => content)
    .join("\n");
  return /^data begins /m.test(asked) ? explanation(asked) : remark(asked);
}

/** The pieces of a streamed answer: words, each with the space behind it. */
export const piecesOf = (answer: string): readonly string[] => answer.match(/\S+\s*/g) ?? [];
