import { Command } from "commander";
import { expect, test } from "vitest";
import { addKeyFlags, keysIn } from "./key-flags.js";

const NAMES = ["testDomains", "algorithm", "seed"] as const;

function given(...args: string[]) {
  const command = addKeyFlags(new Command("train"), NAMES);
  command.parse(args, { from: "user" });
  return keysIn(command.opts(), NAMES);
}

test("a flag with a list of names can be repeated, and of others the last one counts", () => {
  expect(given("--test-domain", "clinic", "--test-domain", "street,shop")).toEqual({
    testDomains: "clinic,street,shop",
  });
  expect(given("--algorithm", "ERM", "--algorithm", "CORAL", "--seed", "3")).toEqual({ algorithm: "CORAL", seed: "3" });
});
