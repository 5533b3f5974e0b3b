import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { tarGzOf, tarOf, zipOf } from "../../tests/support/archives.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import { datasets } from "../data/datasets/index.js";
import { pacs } from "../data/datasets/pacs.js";
import { knownSources } from "../get-data/sources.js";
import { main } from "./main.js";

const printed = catchPrinted();
let served: Record<string, Buffer | string>;
let asked: string[];
let server: Server;
let origin: string;
beforeEach(async () => {
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]) vi.stubEnv(name, "");
  for (const name of ["NUDGE_DOWNLOAD", "NUDGE_NO_DOWNLOAD"]) vi.stubEnv(name, "");
  [served, asked] = [{}, []];
  server = createServer((request: IncomingMessage, response) => {
    asked.push(request.url!);
    const body = served[request.url!];
    if (body === undefined) return void response.writeHead(404).end();
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const bytes = Buffer.from(body).subarray(from);
    const range = from > 0 && { "content-range": `bytes ${from}-${from + bytes.length - 1}/${from + bytes.length}` };
    response.writeHead(from > 0 ? 206 : 200, { "content-length": bytes.length, ...range }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv("HF_ENDPOINT", origin);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** The entries of a small copy of PACS, in the layout of its archives. */
const small = ["art_painting", "cartoon", "photo", "sketch"].flatMap((domain) =>
  (pacs.published.classes as readonly string[]).map((name) => ({
    name: `kfold/${domain}/${name}/pic_1.jpg`,
    content: `${domain} ${name}`,
  })),
);

const get = async (...args: string[]): Promise<number> => {
  const code = await main(["data", "get", ...args]);
  process.exitCode = undefined;
  return code;
};
const visible = (folder: string): string[] => readdirSync(folder).sort();

test("an archive of the published counts is unpacked, arranged and agrees; got again, it is there already", async () => {
  const root = temporaryFolder();
  const classes = pacs.published.classes as readonly string[];
  const entries = pacs.published.domains.flatMap(({ name: domain, perClass }) =>
    classes.flatMap((name, c) =>
      Array.from({ length: perClass![c] }, (_, i) => ({ name: `PACS-main/kfold/${domain}/${name}/${i}.jpg` })),
    ),
  );
  writeFileSync(join(root, "PACS.tar.gz"), tarGzOf(entries));
  expect(await get("pacs", "--from", join(root, "PACS.tar.gz"), "--root", join(root, "data"))).toBe(0);
  expect(printed.stderr).toMatch(/^PACS\n {2}licence {2}none is stated by its authors/); // before anything is done
  expect(printed.stdout).toContain("agrees with what is published");
  expect(visible(join(root, "data"))).toEqual(["PACS"]);
  expect(visible(join(root, "data", "PACS"))).toEqual(["art_painting", "cartoon", "photo", "sketch"]);
  expect(await get("pacs", "--root", join(root, "data"))).toBe(0); // no source is needed for an existing copy
  expect(printed.stdout).toContain(`already there: ${join(root, "data", "PACS")}`);
  expect(await get("--list", "--root", join(root, "data"))).toBe(0);
  expect(printed.stdout).toMatch(
    /pacs: PACS, 9,991 pictures, 191 MB to download\n {2}here {5}9,991 pictures, as published/,
  );
  expect(printed.stdout).toMatch(/vlcs: VLCS.*\n {2}here {5}not here\n {2}get it {3}nudge data get vlcs --from FILE/);
});

test("an archive from an address is downloaded and resumed; other counts end with 1", async () => {
  const root = temporaryFolder();
  served["/PACS.zip"] = zipOf(small);
  expect(await get("pacs", "--from", `${origin}/PACS.zip`, "--root", root)).toBe(1);
  expect(printed.stdout).toContain("differs: 28 pictures in all, published 9,991 (9,963 fewer)");
  expect(readFileSync(join(root, "PACS", "photo", "dog", "pic_1.jpg"), "utf8")).toBe("photo dog");
  expect(visible(root)).toEqual(["PACS"]);
});

test("several archives make one dataset, a missing domain is reported, and no archive is unpacked twice", async () => {
  const root = temporaryFolder();
  const parts = [
    small.filter(({ name }) => !name.includes("sketch")),
    small.filter(({ name }) => name.includes("sketch")),
  ];
  const files = [0, 1].map((i) => join(root, `part-${i}.tar`));
  for (const [i, file] of files.entries()) writeFileSync(file, tarOf(parts[i]));
  expect(await get("pacs", "--from", files[0], "--root", root)).toBe(1);
  expect(printed.stderr).toContain('"sketch" is missing (found "art_painting", "cartoon", "photo")');
  expect(await get("pacs", "--from", ...files, "--root", root)).toBe(1);
  expect(visible(join(root, "PACS"))).toEqual(["art_painting", "cartoon", "photo", "sketch"]);
});

test("a known source is downloaded after its licence was accepted; scripts need an option for that", async () => {
  const root = temporaryFolder();
  expect(await get("pacs", "--root", root)).toBe(2);
  expect(printed.stderr).toMatch(
    /licence +none is stated.*nothing was downloaded\. .*use --yes \(nudge data get pacs --yes\)/s,
  );
  expect(asked).toEqual([]);
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "1");
  expect(await get("pacs", "--yes", "--root", root)).toBe(2);
  expect(printed.stderr).toContain("NUDGE_NO_DOWNLOAD is set, so pacs is not downloaded");
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "");

  const parquet = readFileSync(new URL("../../tests/vectors/parquet/hugging-face.parquet", import.meta.url));
  const oid = createHash("sha256").update(parquet).digest("hex");
  served["/api/datasets/flwrlabs/pacs/tree/main?recursive=true"] = JSON.stringify([
    { type: "directory", path: "data", oid: "1" },
    { type: "file", path: "README.md", size: 10, oid: "2" },
    { type: "file", path: "data/train-0.parquet", size: parquet.length, oid: "3", lfs: { oid, size: parquet.length } },
  ]);
  served["/datasets/flwrlabs/pacs/resolve/main/data/train-0.parquet"] = parquet;
  expect(await get("pacs", "--yes", "--root", root)).toBe(1); // two domains are missing from this tiny copy
  expect(printed.stderr).toContain('columns: pictures in "image", classes in "label", domains in "domain"');
  expect(printed.stderr).toContain("imported 5 pictures");
  expect(printed.stderr).toContain('"cartoon", "sketch" are missing');
  served["/datasets/flwrlabs/pacs/resolve/main/data/train-0.parquet"] = Buffer.alloc(parquet.length);
  expect(await get("pacs", "--yes", "--root", temporaryFolder())).toBe(1);
  expect(printed.stderr).toContain("is not the published one: its SHA-256 is");
});

test("a benchmark that a table lists goes to its folder as its archive has it", async () => {
  const root = temporaryFolder();
  const columns = "patient,node,x_coord,y_coord,tumor,center";
  const rows = [0, 1, 2, 3, 4].map((center) => `00${center},1,3,4,1,${center}`);
  const patches = [0, 1, 2, 3, 4].map((i) => ({
    name: `patches/patient_00${i}_node_1/patch_patient_00${i}_node_1_x_3_y_4.png`,
  }));
  const table = { name: "metadata.csv", content: [columns, ...rows].join("\n") };
  writeFileSync(join(root, "camelyon.tar.gz"), tarGzOf([table, ...patches]));
  expect(await get("camelyon17", "--from", join(root, "camelyon.tar.gz"), "--root", join(root, "data"))).toBe(1);
  expect(visible(join(root, "data", "camelyon17_v1.0"))).toEqual(["metadata.csv", "patches"]);
  expect(printed.stdout).toContain("differs: 5 pictures in all, published 455,954");
});

test("every known source is for an existing dataset, and has an address or instructions", () => {
  for (const { dataset, from, about, page } of knownSources()) {
    expect(datasets[dataset]?.published, dataset).toBeDefined();
    expect(from ?? about.includes("--from"), dataset).toBeTruthy();
    expect(page).toMatch(/^https?:/);
  }
});

test("if a publisher requires a click or a form, the command says what to do", async () => {
  expect(await get("vlcs", "--root", temporaryFolder())).toBe(2);
  expect(printed.stderr).toMatch(
    /vlcs cannot be downloaded by name\. Google Drive asks .*give it with --from VLCS\.tar\.gz/,
  );
});

test("own pictures also come from parquet files and archives, and broken ones are reported", async () => {
  const root = join(temporaryFolder(), "mine");
  const file = new URL("../../tests/vectors/parquet/hugging-face.parquet", import.meta.url).pathname;
  expect(await get("image-folder", "--from", file, "--root", root)).toBe(0);
  expect(printed.stderr).toContain("skipped 3 rows without a readable picture:");
  expect(printed.stderr).toContain("row 4: a PNG that has been cut: its end is missing");
  expect(visible(root)).toEqual(["art_painting", "photo"]);
  expect(await get("image-folder", "--from", file, "--root", root)).toBe(2);
  expect(printed.stderr).toContain('is not empty ("art_painting", "photo"): give an empty or a new folder');
});

test("what cannot be got is refused before anything is done", async () => {
  const root = temporaryFolder();
  expect(await get("--root", root)).toBe(2);
  expect(await get("pacs", "--from", join(root, "none.zip"), "--root", root)).toBe(2);
  expect(printed.stderr).toContain("none.zip: no such file");
  expect(await get("pacs", "--from", root, "--root", root)).toBe(2);
  expect(printed.stderr).toContain("that is a folder, and an archive or a parquet file is expected");
  expect(await get("shapes", "--from", root, "--root", root)).toBe(2);
  expect(printed.stderr).toContain("it is not made from files that can be downloaded");
  writeFileSync(join(root, "evil.zip"), zipOf([...small, { name: "../evil.txt", content: "x" }]));
  expect(await get("pacs", "--from", join(root, "evil.zip"), "--root", root)).toBe(1);
  expect(printed.stderr).toContain('its entry "../evil.txt" would be written outside the folder');
  expect(existsSync(join(root, "PACS"))).toBe(false);
});
