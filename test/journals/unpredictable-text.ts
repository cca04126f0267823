/** A text of two letters in which no place is like another: always the same one, without a period that matters. */
export function unpredictableText(length: number): string {
  let seed = 1;
  let text = "";
  for (let at = 0; at < length; at += 1) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    text += seed & 0x10_0000 ? "a" : "b";
  }
  return text;
}
