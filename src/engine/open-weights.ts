/** Opens a weight file of any known format. The contents determine the format, not the file name. */
import { readPth } from "./pth.js";
import { readSafetensors } from "./safetensors.js";
import { openWeightsFile, type WeightsFile } from "./stored-tensor.js";
import { identify } from "./weights-format.js";

/** Opens a safetensors file or a PyTorch state dict (`.pth`, zip or legacy format). */
export function openWeights(path: string): WeightsFile {
  return openWeightsFile(path, (file) => {
    const { format, look } = identify(file);
    if (format === "other") {
      throw file.error(
        `expected weights (safetensors, or a PyTorch state dict as torch.save writes it), found ${look}`,
      );
    }
    return format === "safetensors" ? readSafetensors(file) : readPth(file);
  });
}
