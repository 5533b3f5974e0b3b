import { expect, test } from "vitest";
import { cutLine, wrapProse } from "./wrap-prose.js";

/** A text whose lines are at most 40 characters long. */
const at40 = (text: string): string => wrapProse(text, 40);

test("a long sentence breaks between words, and short lines stay", () => {
  expect(at40("The accuracy is measured on pictures of domains that were held out.\nshort\n\nend\n")).toBe(
    "The accuracy is measured on pictures of\ndomains that were held out.\nshort\n\nend\n",
  );
  const exact = "a".repeat(20);
  expect(at40(`${exact} ${"b".repeat(19)}`)).toBe(`${exact} ${"b".repeat(19)}`);
  expect(at40(`${exact} ${"b".repeat(20)}`)).toBe(`${exact}\n${"b".repeat(20)}`);
});

test("the further lines of an item keep its indentation", () => {
  expect(at40("  - runs/one was skipped: it has no accuracy of sketch")).toBe(
    "  - runs/one was skipped: it has no\n    accuracy of sketch",
  );
  expect(at40("  indented words that are longer than the width")).toBe(
    "  indented words that are longer than\n  the width",
  );
});

test("a description stays in its column, or goes below a long name", () => {
  expect(at40("libtorch  1.13.0 from the system, /usr/lib/libtorch.so")).toBe(
    "libtorch  1.13.0 from the system,\n          /usr/lib/libtorch.so",
  );
  expect(at40("  nudge report runs --claims   write all files, with claims")).toBe(
    "  nudge report runs --claims\n      write all files, with claims",
  );
});

test("tables, JSON and commands keep their lines", () => {
  for (const line of [
    "| model | on a new domain             | validation |",
    "  candidate             cartoon  photo  sketch  mean",
    '  "message": "a value with many words in it, of a JSON file",',
    '{"step": 1, "words": "a value with many words in it"}',
    "  nudge train --data ./pictures optimizer=adamw schedule=cosine",
  ])
    expect(at40(line)).toBe(line);
});

test("a command in a sentence is not broken", () => {
  const command = "nudge train --resume runs/a-long-name-of-a-run-folder";
  expect(at40(`Stopped at step 3. Resume with: ${command}`)).toBe(`Stopped at step 3. Resume with:\n${command}`);
  expect(at40("Use one with: nudge predict own/latest PICTURES. It prints classes.")).toBe(
    "Use one with:\nnudge predict own/latest PICTURES. It\nprints classes.",
  );
  expect(at40(`Stopped at step 3. Resume with \`${command}\`. Or not.`)).toBe(
    `Stopped at step 3. Resume with\n\`${command}\`.\nOr not.`,
  );
});

test("a word that is longer than the width stays whole, and a question keeps its last space", () => {
  const path = `/${"folder/".repeat(8)}`;
  expect(at40(`run folder: ${path} is here`)).toBe(`run folder:\n${path}\nis here`);
  expect(at40("Download the pretrained weights of this network now? [Y/n] ")).toBe(
    "Download the pretrained weights of this\nnetwork now? [Y/n] ",
  );
});

test("nothing is wrapped in a very narrow terminal", () => {
  expect(wrapProse("words and more words and more words", 10)).toBe("words and more words and more words");
});

test("a progress line is cut to less than one line of the terminal", () => {
  expect(cutLine("step 3 of 20, 0:17 left", 40)).toBe("step 3 of 20, 0:17 left");
  expect(cutLine("step 3 of 20, 0:17 left", 10)).toBe("step 3 o…");
});
