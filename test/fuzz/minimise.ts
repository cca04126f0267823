/**
 * Makes an input smaller as long as it still fails: takes parts out, large ones first.
 * @param stillFails says whether a smaller one does.
 * @param tries how often it may be called.
 */
export async function minimise(
  input: Buffer,
  stillFails: (smaller: Buffer) => boolean | Promise<boolean>,
  tries: number,
): Promise<Buffer> {
  let smallest = input;
  let left = tries;
  for (let part = Math.ceil(input.length / 2); part >= 1 && left > 0; part = part === 1 ? 0 : Math.ceil(part / 2)) {
    for (let from = 0; from < smallest.length && left > 0; ) {
      const smaller = Buffer.concat([smallest.subarray(0, from), smallest.subarray(from + part)]);
      left -= 1;
      if (await stillFails(smaller)) smallest = smaller;
      else from += part;
    }
  }
  return smallest;
}
