import type { KernelLog, KernelMessage } from "#domain/ports/journal.ts";

/** A log with these messages; none at all where there is no journal. */
export const createFakeKernelLog = (messages: readonly KernelMessage[] | undefined): KernelLog => ({
  matching: (pattern, sinceMicros) =>
    Promise.resolve(
      messages?.filter(
        ({ timestamp, message }) => Date.parse(timestamp) * 1000 >= sinceMicros && new RegExp(pattern).test(message),
      ),
    ),
});
