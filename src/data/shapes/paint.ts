/** Draws a scene: the wallpaper, then the shape, with the coverage of each pixel given by its distance to the edge. */
import type { SignedDistance } from "./distance.js";
import { sharpen, textures, wallpapers, wave } from "./pattern.js";
import type { Scene, Style } from "./scene.js";

/** The width of an outline as a fraction of the picture's side, at least one pixel. */
const lineWidth = 0.055;

/** Writes size × size pixels, rows from the top, red, green and blue for each, to the start of `out`. */
export function paint(scene: Scene, shape: SignedDistance, mark: Style["mark"], size: number, out: Uint8Array): void {
  paintWallpaper(scene, size, out);
  paintShape(scene, shape, mark, size, out);
}

function paintWallpaper({ paper, secondPaper, wallpaper }: Scene, size: number, out: Uint8Array): void {
  const pattern = wallpapers[wallpaper.pattern];
  const period = wallpaper.period * size;
  // Pixel i covers i to i + 1, so its center is at i + ½.
  const across = new Float64Array(size);
  for (let column = 0; column < size; column++) across[column] = wave((column + 0.5) / period + wallpaper.startX);
  // Rounds to the nearest of 256 levels: adds a half, and storing a byte drops the fraction.
  const [red, green, blue] = paper.map((channel) => 255 * channel + 0.5);
  const [toRed, toGreen, toBlue] = secondPaper.map((channel, i) => 255 * (channel - paper[i]));
  let at = 0;
  for (let row = 0; row < size; row++) {
    const position = (row + 0.5) / period + wallpaper.startY;
    const down = wave(position);
    for (let column = 0; column < size; column++) {
      const second = sharpen(pattern(across[column], down, position), period);
      out[at++] = red + second * toRed;
      out[at++] = green + second * toGreen;
      out[at++] = blue + second * toBlue;
    }
  }
}

function paintShape(scene: Scene, shape: SignedDistance, mark: Style["mark"], size: number, out: Uint8Array): void {
  const { ink, secondInk, cos, sin, texture } = scene;
  const radius = scene.radius * size;
  const pattern = textures[texture.pattern];
  const period = texture.period * size;
  const halfLine = Math.max(lineWidth * size, 1) / 2;
  const [red, green, blue] = ink.map((channel) => 255 * channel);
  const [toRed, toGreen, toBlue] = secondInk.map((channel, i) => 255 * (channel - ink[i]));

  // In pixel coordinates: the center of pixel i is at i + ½.
  const middleX = scene.x * size - 0.5;
  const middleY = scene.y * size - 0.5;
  const reach = radius + halfLine + 1;
  const left = Math.max(Math.ceil(middleX - reach), 0);
  const right = Math.min(Math.floor(middleX + reach), size - 1);
  const top = Math.max(Math.ceil(middleY - reach), 0);
  const bottom = Math.min(Math.floor(middleY + reach), size - 1);
  for (let row = top; row <= bottom; row++) {
    const up = middleY - row;
    for (let column = left; column <= right; column++) {
      const aside = column - middleX;
      // The shape is rotated by the angle, so the pixel is rotated back.
      const x = cos * aside + sin * up;
      const y = cos * up - sin * aside;
      const distance = radius * shape(x / radius, y / radius);
      const inside = mark === "outline" ? halfLine - Math.abs(distance) : -distance;
      if (inside <= -0.5) continue;
      const cover = inside < 0.5 ? inside + 0.5 : 1;
      let second = 0;
      if (mark === "texture") {
        const position = y / period + texture.startY;
        second = sharpen(pattern(wave(x / period + texture.startX), wave(position), position), period);
      }
      const at = 3 * (row * size + column);
      out[at] += cover * (red + second * toRed - out[at]) + 0.5;
      out[at + 1] += cover * (green + second * toGreen - out[at + 1]) + 0.5;
      out[at + 2] += cover * (blue + second * toBlue - out[at + 2]) + 0.5;
    }
  }
}
