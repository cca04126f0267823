import { checkMeanings } from "#contract/check-meanings.ts";

const lineWidth = 120;

function entry([id, { meaning, remedy }]: readonly [
  string,
  { readonly meaning: string; readonly remedy: string },
]): string {
  const texts = [meaning, remedy].map((text) => JSON.stringify(text));
  const line = `  ${id}: [${texts.join(", ")}],`;
  return line.length <= lineWidth ? line : `  ${id}: [\n${texts.map((text) => `    ${text},\n`).join("")}  ],`;
}

/** What the console says about each check; it loads that when a check is looked at. */
export const consoleCheckMeanings = (): string => `// Made by \`npm run generate\` from src/contract.

/** What a warning or failure of each check means, and what to do about it. */
export const checkMeanings: Readonly<Record<string, readonly [meaning: string, remedy: string]>> = {
${Object.entries(checkMeanings).map(entry).join("\n")}
};
`;
