import { expect, test } from "vitest";
import { lightness } from "./colour.js";
import { type DomainName, drawScene, styles } from "./scene.js";

const domains = Object.keys(styles) as DomainName[];

/** 40 scenes of each domain and class. */
function* manyScenes(cue = 0.8) {
  for (const domain of domains)
    for (let label = 0; label < 7; label++)
      for (let index = 0; index < 40; index++) yield { domain, label, scene: drawScene(domain, label, index, 3, cue) };
}

test("a shape lies wholly inside the picture and is turned by at most 30°", () => {
  for (const { scene } of manyScenes()) {
    for (const middle of [scene.x, scene.y]) {
      expect(middle - scene.radius).toBeGreaterThan(0.02);
      expect(middle + scene.radius).toBeLessThan(0.98);
    }
    expect(scene.cos ** 2 + scene.sin ** 2).toBeCloseTo(1, 12);
    expect(scene.cos).toBeGreaterThanOrEqual(Math.sqrt(3) / 2 - 1e-12);
  }
});

test("shapes keep their contrast with the paper in grey: dark on light, and light on dark in the inverted domain", () => {
  for (const { domain, scene } of manyScenes()) {
    const papers = [scene.paper, scene.secondPaper].map(lightness);
    const inks = (domain === "textured" ? [scene.ink, scene.secondInk] : [scene.ink]).map(lightness);
    const gap =
      domain === "inverted" ? Math.min(...inks) - Math.max(...papers) : Math.min(...papers) - Math.max(...inks);
    expect(gap, domain).toBeGreaterThan(0.15);
  }
});

test("another agreement of the cue changes wallpapers and their tint, and nothing else", () => {
  const always = [...manyScenes(1)];
  const never = [...manyScenes(0)];
  always.forEach(({ domain, label, scene }, i) => {
    expect(scene.wallpaper.pattern).toBe((label + styles[domain].shift) % 7);
    const { paper, secondPaper, wallpaper, ...shape } = never[i].scene;
    expect(wallpaper.pattern).not.toBe(scene.wallpaper.pattern);
    expect({ ...shape, paper: scene.paper, secondPaper: scene.secondPaper, wallpaper: scene.wallpaper }).toEqual(scene);
  });
});

test("a wallpaper that disagrees is each of the other six equally often", () => {
  const times = new Array(7).fill(0);
  for (const { domain, label, scene } of manyScenes(0))
    times[(scene.wallpaper.pattern - label - styles[domain].shift + 14) % 7]++;
  expect(times[0]).toBe(0);
  // 1120 draws, 186.7 expected of each with deviation 12.5: within 4 deviations.
  for (const count of times.slice(1)) expect(Math.abs(count - 1120 / 6)).toBeLessThan(50);
});
