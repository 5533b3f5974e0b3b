import { expect, test } from "vitest";
import { cat, zeros } from "./ops.generated.js";
import { type Recording, record } from "./recording.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

const input = (): Tensor => tensor([[1, -2, 3]]);
const recorded = (x: Tensor, body: () => Tensor): Recording =>
  record(
    x,
    () => ({ y: body() }),
    () => "head",
  );
const namesOf = ({ calls }: Recording): string[] => calls.map(({ schema }) => schema.name);

test("only what depends on the input is recorded, with constants where they are used", () => {
  scope(() => {
    const [x, weight] = [input(), tensor([2, 3, 4])];
    using recording = recorded(x, () => x.mul(weight.add(1)).relu_());
    expect(namesOf(recording)).toEqual(["aten::mul.Tensor", "aten::relu_"]);
    const [{ arguments: product, place }, relu] = recording.calls;
    expect(place).toBe("head");
    expect(product.self).toBe(recording.input);
    expect((product.other as { constant: Tensor }).constant.toNumbers()).toEqual([3, 4, 5]);
    expect(recording.outputs.y).toBe(relu.outputs[0]);
    expect(relu.outputs[0].shape).toEqual([1, 3]);
  });
});

test("a tensor that the input is written into becomes part of the recording", () => {
  scope(() => {
    const x = input();
    using recording = recorded(x, () => zeros([1, 3]).add_(x));
    expect(namesOf(recording)).toEqual(["aten::add_.Tensor"]);
    expect((recording.calls[0].arguments.self as { constant: Tensor }).constant.toNumbers()).toEqual([0, 0, 0]);
  });
});

test("numbers of the input cannot be read, and gradients cannot be taken", () => {
  scope(() => {
    const x = input();
    expect(() => recorded(x, () => (x.sum().item() > 0 ? x : x.neg()))).toThrow("depend on the input, in head");
    expect(() => recorded(x, () => tensor(x.toNumbers()))).toThrow("depend on the input, in head");
    const withGradients = (): Tensor => {
      x.sum().backward();
      return x;
    };
    expect(() => recorded(x, withGradients)).toThrow("it takes gradients, in head");
    expect(x.sum().item()).toBe(2); // works as before after a failed recording
  });
});

test("memory that was written through another view is not read as it was before", () => {
  scope(() => {
    const x = input();
    const through = (): Tensor => {
      const y = x.mul(2);
      y.select(1, 0).zero_();
      return y.add(1);
    };
    expect(() => recorded(x, through)).toThrow("aten::add.Tensor reads a tensor whose memory was written in place");
    const intoConstant = (): Tensor => {
      const room = zeros([2, 3]);
      room.narrow(0, 0, 1).copy_(x);
      return cat([room, x]);
    };
    expect(() => recorded(x, intoConstant)).toThrow("written in place");
    const wide = tensor([[1, -2], [3, 4]]); // biome-ignore format: rows
    using copied = recorded(wide, () => {
      const turned = wide.t().contiguous(); // a copy with its own memory
      return cat([wide, turned.relu_()]);
    });
    expect(namesOf(copied)).toContain("aten::relu_");
  });
});
