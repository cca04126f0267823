import { describe, expect, it } from "vitest";
import { ApiError } from "#client/index.ts";
import { explainError } from "./errors.ts";

const failed = (code: string, message: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });

describe("the message for an untrusted certificate", () => {
  it.each([
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "of an authority that this host does not know (--cacert FILE"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "of an authority that this host does not know (--cacert FILE"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "of an authority that this host does not know (--cacert FILE"],
    ["CERT_HAS_EXPIRED", "has expired (it must be renewed there)"],
  ])("names %s and the option to use", (code, words) => {
    const error = failed(code, "unable to verify; try running Node.js with --use-system-ca");
    expect(explainError(error)).toContain("cannot trust the service: its certificate");
    expect(explainError(error)).toContain(words);
    expect(explainError(error)).not.toContain("Node");
    // Of a stream it comes without a call around it.
    expect(explainError(error.cause)).toBe(explainError(error));
  });

  it("differs from that of an unreachable service", () => {
    expect(explainError(failed("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1"))).toBe(
      "cannot reach the service: connect ECONNREFUSED 127.0.0.1:1 (is it running? systemctl status steward, journalctl -u steward)",
    );
  });
});

it("the message for a refused connection says how to look at the unit, on its host where that is another", () => {
  const refused = (address: string): Error =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:1`), { code: "ECONNREFUSED", address });
  const toNowhere = (cause: Error): string => explainError(new TypeError("fetch failed", { cause }));
  expect(toNowhere(refused("192.0.2.1"))).toMatch(/ECONNREFUSED .* journalctl -u steward on its host\)$/);
  const both = new AggregateError([refused("::1"), refused("127.0.0.1")]);
  expect(toNowhere(both)).toMatch(/ECONNREFUSED ::1:1, .* journalctl -u steward\)$/);
  expect(explainError(failed("ENOTFOUND", "getaddrinfo ENOTFOUND web-1"))).not.toContain("journalctl");
});

it("the message for an invalid request has each fault on its own line", () => {
  const faults = [
    { field: "priorty", issue: "Unknown parameter", did_you_mean: "priority" },
    { field: "limit", issue: "Must be at least 1" },
    { field: "evil\n\u001b[2J", issue: "Unknown parameter" },
  ];
  const error = new ApiError({
    code: "VALIDATION_ERROR",
    message: "cannot accept priorty: unknown parameter (did you mean priority?)",
    status: 400,
    details: { field: "priorty", issue: "Unknown parameter", faults },
  });
  expect(explainError(error)).toBe(
    [
      "cannot accept priorty: unknown parameter (did you mean priority?) (VALIDATION_ERROR)",
      "  limit: must be at least 1",
      "  evil [2J: unknown parameter",
    ].join("\n"),
  );
  expect(explainError(new ApiError({ code: "VALIDATION_ERROR", message: "no", status: 400 }))).toBe(
    "no (VALIDATION_ERROR)",
  );
});
