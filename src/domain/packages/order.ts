/** What people look for first: the name itself, names that begin with the word, names that have it, and the rest. */
function rankOf(name: string, word: string): number {
  if (name === word) return 0;
  if (name.startsWith(word)) return 1;
  return name.includes(word) ? 2 : 3;
}

export function inOrder<T extends { readonly name: string }>(found: readonly T[], word = ""): readonly T[] {
  const wanted = word.toLowerCase();
  return found
    .map((each) => ({ each, rank: rankOf(each.name, wanted) }))
    .sort((a, b) => a.rank - b.rank || (a.each.name < b.each.name ? -1 : 1))
    .map(({ each }) => each);
}
