import { describe, expect, it } from "vitest";
import { explainError } from "./errors.ts";

const failed = (code: string, message: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });

describe("a service whose certificate is not trusted", () => {
  it.each([
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "of an authority that this host does not know (--cacert FILE"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "of an authority that this host does not know (--cacert FILE"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "of an authority that this host does not know (--cacert FILE"],
    ["CERT_HAS_EXPIRED", "has expired (it has to be renewed there)"],
  ])("%s is said in words, with an option of this program", (code, words) => {
    const error = failed(code, "unable to verify; try running Node.js with --use-system-ca");
    expect(explainError(error)).toContain("cannot trust the service: its certificate");
    expect(explainError(error)).toContain(words);
    expect(explainError(error)).not.toContain("Node");
    // Of a stream it comes without a call around it.
    expect(explainError(error.cause)).toBe(explainError(error));
  });

  it("is distinguished from one that cannot be reached", () => {
    expect(explainError(failed("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1"))).toBe(
      "cannot reach the service: connect ECONNREFUSED 127.0.0.1:1 (is it running?)",
    );
  });
});
