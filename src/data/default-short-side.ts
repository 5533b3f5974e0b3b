/** The default short side that pictures are scaled down to. */
export const defaultShortSide = 256;
