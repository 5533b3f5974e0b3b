import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeOwnRun } from "../../tests/support/own-runs.js";
import { inFolder, somePacsSettings, writeRun } from "../../tests/support/run-folders.js";
import { readResults } from "../report/read-results.js";
import { datasetIn, withoutSlash } from "./own-pictures.js";

test("own pictures go by the name of their folder or list, which is no dataset's id; all else by its id", () => {
  const name = (dataset: string, data?: string): string =>
    datasetIn({ ...somePacsSettings, dataset, ...(data === undefined ? {} : { data }) });
  expect(name("image-folder", "../clinics/")).toBe("clinics/");
  expect(name("image-folder", "C:\\pictures\\pacs")).toBe("pacs/");
  expect(name("manifest", "lists/mine.csv")).toBe("mine.csv");
  expect(name("pacs", "pacs")).toBe("pacs");
  expect(name("image-folder")).toBe("image-folder"); // from before it was kept
  expect(name("image-folder", ".")).toBe("image-folder");
  expect(["clinics/", "clinics/ (a, b)", "pacs"].map(withoutSlash)).toEqual(["clinics", "clinics (a, b)", "pacs"]);
});

test("folders of another name do not compete, though the program takes all of them for one dataset", () => {
  inFolder((folder) => {
    writeOwnRun(folder, "a", { right: 10, heldOut: "day" });
    writeOwnRun(folder, "b", { right: 10, heldOut: "day", settings: { data: "tame" } });
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ dataset }) => dataset)).toEqual(["wild/", "tame/"]);
    expect(notes).toEqual([]);
  });
});

function writePictureFiles(folder: string): void {
  for (const place of ["day/cat", "day/dog", "night/cat"]) {
    mkdirSync(join(folder, place), { recursive: true });
    for (const name of ["a.jpg", "b.PNG"]) writeFileSync(join(folder, place, name), "");
  }
}

test("the folder of pictures in place of the runs is a single, clear error", () => {
  inFolder((folder) => {
    writePictureFiles(folder);
    expect(() => readResults([folder])).toThrow(
      /: this is a folder of pictures, but a report needs run folders.* nudge report runs\. .*nudge train --data /,
    );
  });
});

test("a folder with other files has no runs, and is not described as a folder of pictures", () => {
  inFolder((folder) => {
    for (const name of ["report.md", "report.html", "figure.png"]) writeFileSync(join(folder, name), "");
    expect(readResults([folder]).notes.at(-1)).toBe(`${folder}: no runs in it`);
  });
});

test("pictures beside runs are one line, however many folders they lie in", () => {
  inFolder((folder) => {
    writePictureFiles(join(folder, "pictures"));
    writeRun(join(folder, "runs", "a"));
    const { runs, notes } = readResults([folder]);
    expect(runs).toHaveLength(1);
    expect(notes).toEqual([`${join(folder, "pictures")}: skipped: it contains no runs`]);
  });
});
