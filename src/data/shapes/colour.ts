/**
 * Colors by hue, saturation and lightness, so that a picture can choose any hue and keep its contrast.
 *
 * The lightness is the weighted mean of red, green and blue (ITU-R BT.601, as in a grayscale conversion), and it is
 * exact for every hue: a dark shape on a light background stays dark in grayscale.
 */

/** Red, green and blue from 0 to 1. */
export type Colour = readonly [red: number, green: number, blue: number];

/** The lightness of a colour, from 0 to 1. */
export function lightness([red, green, blue]: Colour): number {
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

function clamp(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}

/**
 * A color with a hue (0 red, 1/3 green, 2/3 blue, 1 red again). Saturation 0 is gray, 1 is the maximum for its
 * lightness.
 */
export function colourOf(hue: number, strength: number, light: number): Colour {
  const sixth = (hue - Math.floor(hue)) * 6;
  const pure: Colour = [clamp(Math.abs(sixth - 3) - 1), clamp(2 - Math.abs(sixth - 2)), clamp(2 - Math.abs(sixth - 4))];
  const pureLight = lightness(pure);
  // From gray towards the pure hue, until the first channel reaches 0 or 1.
  let most = Number.POSITIVE_INFINITY;
  for (const channel of pure) {
    const slope = channel - pureLight;
    if (slope > 0) most = Math.min(most, (1 - light) / slope);
    if (slope < 0) most = Math.min(most, -light / slope);
  }
  const [red, green, blue] = pure.map((channel) => clamp(light + strength * most * (channel - pureLight)));
  return [red, green, blue];
}
