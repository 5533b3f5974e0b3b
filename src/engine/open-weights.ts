/** Opens a file of weights, whichever of the known formats it has; the contents decide, not the name. */
import { readPth } from "./pth.js";
import { readSafetensors } from "./safetensors.js";
import { openWeightsFile, type WeightsFile } from "./stored-tensor.js";
import { identify } from "./weights-format.js";

/** Opens a safetensors file or a PyTorch state dict (`.pth`, zip or older format). */
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
