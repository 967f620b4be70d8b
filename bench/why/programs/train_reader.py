"""A recogniser trained by Paddle on rendered lines of text (--style: whose log it writes).

  ppocr: as PaddleOCR, reader and step timed; doctr: as docTR, a bar of steps alone.
--workers of paddle.io.DataLoader; --read-ms: each image comes from a slow store; --decode: times that each is decoded and distorted.
"""
import argparse
import io
import sys
import time

import cv2
import numpy as np
import paddle
from PIL import Image, ImageDraw

parser = argparse.ArgumentParser()
parser.add_argument('--style', choices=['ppocr', 'doctr'], default='ppocr')
parser.add_argument('--workers', type=int, default=0)
parser.add_argument('--batch', type=int, default=16)
parser.add_argument('--read-ms', type=float, default=0)
parser.add_argument('--decode', type=int, default=1)
options = parser.parse_args()


def page(i):
    image = Image.new('RGB', (640, 96), 'white')
    ImageDraw.Draw(image).text((10, 30), f'line {i} of the invoice, total {i * 37 % 911}', fill='black')
    out = io.BytesIO()
    image.save(out, 'JPEG')
    return out.getvalue()


class Lines(paddle.io.Dataset):
    def __init__(self):
        self.files = [page(i) for i in range(64)]

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        time.sleep(options.read_ms / 1000)
        for _ in range(options.decode):
            image = cv2.imdecode(np.frombuffer(self.files[i % 64], np.uint8), cv2.IMREAD_COLOR)
            turn = cv2.getRotationMatrix2D((320, 48), np.random.uniform(-3, 3), 1)
            image = cv2.GaussianBlur(cv2.warpAffine(image, turn, (640, 96)), (5, 5), 0)
        image = cv2.resize(image, (320, 32)).astype('float32').transpose(2, 0, 1) / 255
        return image, np.random.randint(1, 96, 16).astype('int32')


if __name__ == '__main__':
    cv2.setNumThreads(1)
    layers, channels = [], 3
    for width in (8, 16, 32):
        layers += [paddle.nn.Conv2D(channels, width, 3, padding=1), paddle.nn.ReLU(), paddle.nn.MaxPool2D(2)]
        channels = width
    model = paddle.nn.Sequential(*layers, paddle.nn.AdaptiveAvgPool2D((1, 40)), paddle.nn.Conv2D(channels, 96, 1))
    adam = paddle.optimizer.Adam(parameters=model.parameters())
    loader = paddle.io.DataLoader(Lines(), batch_size=options.batch, num_workers=options.workers, return_list=True)
    label_lengths = paddle.full([options.batch], 16, 'int64')
    logit_lengths = paddle.full([options.batch], 40, 'int64')
    reader = step = 0.0
    count, last, begin = 0, time.time(), time.time()
    for number, (images, labels) in enumerate(loader, 1):
        reader += time.time() - begin
        logits = model(images).squeeze(2).transpose([2, 0, 1])
        loss = paddle.nn.functional.ctc_loss(logits, labels, logit_lengths, label_lengths)
        loss.backward()
        adam.step()
        adam.clear_grad()
        value = float(loss)
        now = time.time()
        step, count, begin = step + now - begin, count + 1, now
        if now - last < 0.5:
            continue
        rate = count / (now - last)
        if options.style == 'ppocr':
            print(f'[{time.strftime("%Y/%m/%d %H:%M:%S")}] ppocr INFO: epoch: [1/500], global_step: {number}, lr: 0.001000, loss: {value:.6f}, '
                  f'avg_reader_cost: {reader / count:.5f} s, avg_batch_cost: {step / count:.5f} s, avg_samples: {options.batch}.0, '
                  f'ips: {rate * options.batch:.5f} samples/s, eta: 1 day, 2:11:10', flush=True)
        else:
            sys.stderr.write(f'\rTraining loss: {value:.4f}: {number * 100 // 65536:3d}%|          | {number}/65536 '
                             f'[{int(now - last):02d}:00<11:10, {rate:.2f}it/s]')
            sys.stderr.flush()
        reader = step = 0.0
        count, last = 0, now
