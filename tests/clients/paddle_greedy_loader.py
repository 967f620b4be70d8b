"""A Paddle DataLoader with one worker that keeps all it reads, until memory ends: what a long label list does slowly."""
import numpy
import paddle


class Lines(paddle.io.Dataset):
    kept = []

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        if paddle.io.get_worker_info().id == 0:
            self.kept.append(numpy.ones(8 << 20, dtype="uint8"))
        return numpy.zeros((3, 32, 100), dtype="float32")


if __name__ == "__main__":
    loader = paddle.io.DataLoader(Lines(), batch_size=4, num_workers=2, use_shared_memory=False, places=paddle.CPUPlace())
    for step, batch in enumerate(loader):
        print(f"epoch: [1/1], global_step: {step}, loss: {float(batch[0].mean()):.3f}, ips: 1.0 samples/s", flush=True)
